"""The chapter *What is proven, what is measured, what is open* (``notebooks/statement_map.py``)."""
