"""Scores of many released models: the registry of models, the scoring, its record, printed rows beside ours."""
