"""An interactive figure: a static figure, and the data from which a script draws the interactive one."""

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
    """A static figure that becomes interactive in a browser with scripts, and stays static in print and elsewhere.

    As the last expression of a cell it displays the static figure. The book adds the data to the page and loads
    ``book/_static/interactives/<name>.js``, which draws the interactive figure (see ``interactive.js`` there).
    """

    name: str  # name of the script, in lower case: one_start
    data: Mapping[str, Any]  # JSON with finite numbers; `packed` encodes long arrays
    still: CaptionedFigure  # the static figure, whose caption and alternative text serve both

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict[str, str], dict]:
        json.dumps(self.data, allow_nan=False)  # fails here instead of in the browser
        data, metadata = self.still._repr_mimebundle_()
        metadata[METADATA_KEY]["interactive"] = {"name": self.name, "data": self.data}
        return data, metadata


def container(name: str, data: Mapping[str, Any], figure: str) -> str:
    """HTML with the data of an interactive figure and the name of the static figure that it replaces."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return (
        f'<div hidden data-interactive="{html.escape(name)}" data-figure="{html.escape(figure)}">'
        f'<script type="application/json">{text}</script></div>'
    )


def packed(levels: np.ndarray) -> str:
    """An array of signed 8-bit integers as base64 text, row by row; ``attngeo.levels`` decodes it in the browser.

    Raises:
        TypeError: the array has another type of numbers.
    """
    return base64.b64encode(levels.astype(np.int8, "C", casting="no").tobytes()).decode("ascii")
