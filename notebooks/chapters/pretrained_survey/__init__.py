"""The chapter *Pretrained models* (``notebooks/pretrained_survey.py``): its numbers, its figures and interactives."""
