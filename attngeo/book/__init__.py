"""Chapters become pages: found, given parameters, executed by papermill, kept while nothing changed, read by Sphinx.

`notebooks` finds them, `parameters` reads and checks what they can be given, `execution` runs one, `cache` knows
whether its last run still counts, `build` brings all of them up to date, `presentation` prepares a run for the book,
`extension` hands it to Sphinx. Nothing in a chapter depends on any of this: each also runs alone under papermill or
Jupyter.
"""

from attngeo.book.build import reported_checks

__all__ = ["reported_checks"]
