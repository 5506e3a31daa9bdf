"""Chapters become pages: found, given parameters, executed by papermill, kept while nothing changed, read by Sphinx.

`notebooks` finds them, `parameters` reads and checks what they can be given, `execution` runs one, `cache` knows
whether its last run still counts, `build` brings all of them up to date, `presentation` prepares a run for the book,
`extension` hands it to Sphinx. Nothing in a chapter depends on any of this: each also runs alone under papermill or
Jupyter.
"""


def reported_checks() -> list[dict]:
    """What the chapters' checks found under the current profile: every `Result` they showed, in the order of the book.

    Each is ``Result.to_dict()`` with ``chapter`` set to the notebook that showed it. A chapter that calls this declares
    ``attngeo: {after: all}`` in its header. Outside a build, chapters whose last run no longer counts are run first.

    Raises:
        ChapterFailed: one of them failed.
        AttngeoError: called in the middle of a build by a chapter that has not declared so.
    """
    from attngeo.book.build import reported_checks

    return reported_checks()
