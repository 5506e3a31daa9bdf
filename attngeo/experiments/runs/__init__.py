"""Recorded training runs (`record`, `experiments`), and comparisons of their arms (`arms`, `estimates`)."""
