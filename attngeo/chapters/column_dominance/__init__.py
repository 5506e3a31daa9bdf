"""The chapter *Why columns would dominate* (``notebooks/column_dominance.py``)."""
