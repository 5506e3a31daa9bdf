"""The chapter *The implicit gradient* (``notebooks/implicit_gradient.py``)."""
