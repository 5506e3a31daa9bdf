"""How outputs of a chapter carry what the book reads back: the key of their metadata, and a type of our own."""

NARROW_SVG = "application/vnd.attngeo.narrow+xml"  # a type no front end shows: a figure for narrow screens
METADATA_KEY = "attngeo"
