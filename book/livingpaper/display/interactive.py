"""A figure that a reader can move: its still, and the data that its script draws from."""

import base64
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attngeo.plot import METADATA_KEY
from attngeo.plot.style import CaptionedFigure


@dataclass(frozen=True)
class Interactive:
    """A still that becomes interactive in a browser with scripts; in print and elsewhere it stays what it is.

    As the last expression of a cell it displays its still; the book puts the data beside it and loads
    ``book/_static/interactives/<name>.js``, which draws from them (see ``interactive.js`` there).
    """

    name: str  # of the script, in lower case: one_start
    data: Mapping[str, Any]  # JSON: numbers that are finite, text, lists, objects; long arrays by `packed`
    still: CaptionedFigure  # makes the point without being moved; its caption and alternative text serve both

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict[str, str], dict]:
        json.dumps(self.data, allow_nan=False)  # else it would fail in the browser
        data, metadata = self.still._repr_mimebundle_()
        metadata[METADATA_KEY]["interactive"] = {"name": self.name, "data": self.data}
        return data, metadata


def container(name: str, data: Mapping[str, Any], figure: str) -> str:
    """HTML that holds the data of an interactive and names the figure that it takes the place of."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div hidden data-interactive="{html.escape(name)}" data-figure="{html.escape(figure)}">'
        f'<script type="application/json">{text}</script></div>'
    )


def packed(levels: np.ndarray) -> str:
    """An array of signed 8-bit levels as text, row by row (base64); ``attngeo.levels`` reads it back in the browser.

    Raises:
        TypeError: the array holds other numbers.
    """
    return base64.b64encode(levels.astype(np.int8, "C", casting="no").tobytes()).decode("ascii")
