"""The chapter *Why updates would be symmetric* (``notebooks/symmetric_updates.py``)."""
