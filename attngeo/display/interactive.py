"""A figure that a reader can move: its still, and the data that its script draws from."""

import base64
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attngeo.display.labels import METADATA_KEY
from attngeo.display.style import CaptionedFigure
from attngeo.errors import ParameterError


@dataclass(frozen=True)
class Interactive:
    """A still that becomes interactive in a browser with scripts; in print and elsewhere it stays what it is.

    As the last expression of a cell it displays its still; the book puts the data beside it and loads
    ``book/_static/interactives/<name>.js``, which draws from them (see ``interactive.js`` there).

    Raises:
        ParameterError: the name is malformed, or the data are not JSON.
    """

    name: str  # of the script, in lower case: one_start
    data: Mapping[str, Any]  # JSON: numbers that are finite, text, lists, objects; long arrays by `packed`
    still: CaptionedFigure  # makes the point without being moved; its caption and alternative text serve both

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]+(_[a-z]+)*", self.name):
            raise ParameterError(f"The name {self.name!r} of an interactive must look like 'two_words'.")
        try:
            json.dumps(self.data, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"The data of the interactive {self.name} cannot be written as JSON: {error}."
            ) from error

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict[str, str], dict]:
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
        ParameterError: the array holds other numbers.
    """
    if levels.dtype != np.int8:
        raise ParameterError(f"The array to be packed holds {levels.dtype}; it must hold int8.")
    return base64.b64encode(np.ascontiguousarray(levels).tobytes()).decode("ascii")
