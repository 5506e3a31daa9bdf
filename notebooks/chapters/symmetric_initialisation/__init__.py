"""The chapter *Symmetric initialisation* (``notebooks/symmetric_initialisation.py``)."""
