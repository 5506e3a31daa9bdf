"""How outputs of a chapter carry their names: the key of their metadata, and the form of a label."""

import re

from attngeo.errors import ParameterError

NARROW_SVG = "application/vnd.attngeo.narrow+xml"  # a type no front end shows: a figure for narrow screens
METADATA_KEY = "attngeo"


def check_label(name: str, kind: str) -> None:
    """Refuse a label that is not ``kind-...`` in lower case, which Sphinx would silently change.

    Raises:
        ParameterError: the label is malformed.
    """
    if not re.fullmatch(rf"{kind}-[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ParameterError(f"The label {name!r} must look like '{kind}-two-words', in lower-case letters and digits.")
