"""Scores of many released models: the models, their scoring and records, and comparisons with printed scores."""
