"""What a chapter's page shows: tables, checks and glued numbers (`page`), verdicts, and figures in the house style.

Nothing is imported here: a figure needs matplotlib alone, a page the notebook's display too.
"""

METADATA_KEY = "attngeo"  # of the metadata of outputs, from which the book reads back what they are
NARROW_SVG = "application/vnd.attngeo.narrow+xml"  # a type that no front end shows: a figure for narrow screens
