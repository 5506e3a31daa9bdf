"""The chapter *Scores during training* (``notebooks/training_scores.py``): its numbers, tables and figures."""
