"""Scores of many released models: the registry of models, the scoring, its record, printed rows beside ours."""

from attngeo.survey.models import groups, registry

__all__ = ["groups", "registry"]
