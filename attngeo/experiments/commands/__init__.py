"""``attngeo survey | train | experiment``."""
