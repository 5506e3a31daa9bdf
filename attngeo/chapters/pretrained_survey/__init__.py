"""The chapter *Pretrained models* (``notebooks/pretrained_survey.py``)."""
