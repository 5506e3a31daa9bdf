"""The theorem on positions: what is measured for it."""
