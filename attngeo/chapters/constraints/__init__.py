"""The chapter *Constraints* (``notebooks/constraints.py``)."""
