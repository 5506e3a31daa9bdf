"""The chapter *Self-attention as a bilinear form* (``notebooks/bilinear_form.py``)."""
