"""The chapter *The printed scores* (``notebooks/printed_scores.py``)."""
