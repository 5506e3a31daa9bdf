"""The front page (``notebooks/introduction.py``)."""
