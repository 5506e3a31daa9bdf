"""The chapter *Errata* (``notebooks/errata.py``)."""
