"""Nine numbers between three words, which the reader of the front page changes, and their symmetry score."""

import numpy as np
import torch

from attngeo.bilinear.scores import symmetry_score
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.plot.style import CaptionedFigure, new_figure, plain_panel
from livingpaper.display.interactive import Interactive

WORDS = ("dog", "met", "cat")
NUMBERS = ((1, 1, 2), (0, 1, 1), (2, -1, 1))  # made up
MOST = 3  # the largest number, and with a minus the least


def three_words() -> Interactive:
    """The numbers above, whose symmetry the script computes anew after every change."""
    numbers = np.array(NUMBERS)
    s = number(symmetry_score(torch.from_numpy(numbers.astype(float))), 2)
    figure, panel = new_figure(3.2, 2.8)
    plain_panel(panel)
    panel.imshow(numbers, cmap="Blues", vmin=-MOST, vmax=2 * MOST)
    for (i, j), value in np.ndenumerate(numbers):
        panel.text(j, i, number(float(value), 0), ha="center", va="center")
    panel.set_xticks(range(len(WORDS)), WORDS)
    panel.set_yticks(range(len(WORDS)), WORDS)
    panel.xaxis.tick_top()
    caption = f"An invented example of attention scores. Each entry shows how much the word in that row attends to the word in that column. The symmetry score of this matrix is $s$ = {s}."
    alt = f"A table of three words by three words with nine invented numbers. The symmetry score of this table is {s}."
    shown = {"words": WORDS, "numbers": NUMBERS, "most": MOST}
    return Interactive("three_words", shown, CaptionedFigure(figure, "fig-three-words", caption, alt))
