"""The chapter *Status* (``notebooks/status.py``)."""
