"""The chapter *Trust* (``notebooks/trust.py``)."""
