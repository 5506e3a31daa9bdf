"""The chapter *Two scores* (``notebooks/two_scores.py``)."""
