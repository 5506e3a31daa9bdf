"""Atomic writing of files, their location in a checkout, and their provenance."""
