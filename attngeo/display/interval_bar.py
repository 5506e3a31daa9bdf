"""An interval drawn as a small bar, with the paper's number beside it (SVG inside text, described in words)."""

import html
import math

from attngeo.display.check_rows import Row
from attngeo.display.typeset import typeset

WIDTH, HEIGHT, MARGIN = 96, 14, 5  # of the picture, in pixels


def bar(row: Row) -> str:
    """The bar of a row, or nothing where its number has no error."""
    c = row.comparison
    if c.interval:
        value, low, high = c.interval
    elif c.standard_error:
        value, low, high = c.measured, c.measured - 2 * c.standard_error, c.measured + 2 * c.standard_error
    else:
        return ""
    marks = [c.claim.number] if c.claim else [c.expected]
    if not all(map(math.isfinite, (value, low, high, *marks))):
        return ""
    least, most = min(low, *marks), max(high, *marks)
    scale = (WIDTH - 2 * MARGIN) / ((most - least) or 1)

    def x(number: float) -> str:
        return format(MARGIN + (number - least) * scale, ".1f")

    middle = HEIGHT / 2
    whose = "the paper's" if c.claim else "our"
    words = html.escape(f"interval {low:.3g} to {high:.3g}, {whose} number {marks[0]:.3g}", quote=True)
    return (
        f'<svg class="bar" role="img" aria-label="{typeset(words)}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<line class="bar-claim" x1="{x(marks[0])}" x2="{x(marks[0])}" y1="0" y2="{HEIGHT}"/>'
        f'<line class="bar-interval" x1="{x(low)}" x2="{x(high)}" y1="{middle}" y2="{middle}"/>'
        f'<circle cx="{x(value)}" cy="{middle}" r="3"/></svg>'
    )
