"""Training with an initialisation. Nothing is imported here: no --help waits for torch."""
