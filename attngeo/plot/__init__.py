"""Figures in the house style, the report of scores, and formatted numbers. Matplotlib is not imported here."""

METADATA_KEY = "attngeo"  # of the metadata of outputs, from which the book reads back what they are
NARROW_SVG = "application/vnd.attngeo.narrow+xml"  # a type that no front end shows: a figure for narrow screens
