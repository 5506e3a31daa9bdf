"""Both scores: ``notebooks/directionality.py`` and ``notebooks/two_scores_details.py``."""
