"""The page *Cost* (``notebooks/cost.py``)."""
