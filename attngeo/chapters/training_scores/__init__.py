"""The chapter *Scores during training* (``notebooks/training_scores.py``)."""
