"""The chapter *Details: heads or their sum* (``notebooks/heads_or_sum.py``): a layer's score by its heads."""
