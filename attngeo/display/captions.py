"""The words of a room's figures, from its ``figures.yml``: caption (MyST) and alternative text of each, by label.

.. code-block:: yaml

    fig-tails:
      caption: At z = <<at:g>> one law has <<a:.2g>> and the other <<b:.2g>>. <<note>>
      alt: Two plots of tail probabilities.
      note: A sentence that is not always there, if the figure gives note="<<note>>".

``<<name>>`` and ``<<name:.2f>>`` stand for what the figure gives, or for a further sentence beside the two.
"""

from functools import cache
from typing import Any

from matplotlib.figure import Figure

from attngeo.display.style import CaptionedFigure
from attngeo.paper.wording import filled, read_words


def captioned(figure: Figure, room: str, key: str, name: str = "", /, **numbers: Any) -> CaptionedFigure:
    """A figure with the words that a room has under a key, numbers filled in; labelled ``name``, or as the key.

    Raises:
        WordingError: there are no such words, or they name what is not given.
    """
    words = _words(room).get(key, {})
    caption, alt = (filled(words.get(kind, ""), words | numbers, key) for kind in ("caption", "alt"))
    return CaptionedFigure(figure, name or key, caption, alt)


@cache
def _words(room: str) -> dict[str, dict[str, str]]:
    return read_words(room, "figures.yml", dict[str, dict[str, str]])
