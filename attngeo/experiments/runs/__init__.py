"""Training runs on disk (`record`, `experiments`), arms of them and their contrasts (`arms`, `estimates`), in words."""
