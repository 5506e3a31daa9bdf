"""The chapter *Heads or their sum* (``notebooks/heads_or_sum.py``)."""
