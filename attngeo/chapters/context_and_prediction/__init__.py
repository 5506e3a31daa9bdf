"""The chapter *Context and prediction* (``notebooks/context_and_prediction.py``)."""
