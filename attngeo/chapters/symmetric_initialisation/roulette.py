"""Speed-up roulette: two random starts that differ in their seed alone, and what Table 1's measure makes of them."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.symmetric_initialisation.control_matrix import BASELINE, ControlMatrix, between_random_starts
from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive
from attngeo.display.style import CROSS, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.runs.estimates import NEVER
from attngeo.runs.numbers_in_words import as_percent

AT_NEVER = -0.12  # where "never" stands on an axis of speed-ups


def roulette(found: Sequence[ControlMatrix], printed: pd.DataFrame) -> Interactive:
    """Training losses of the random starts of some experiments, seed against seed; ``printed`` is Table 1."""
    data = {"never": AT_NEVER, "experiments": {e.label: _recorded(e) for e in found}}
    return Interactive("roulette", data, _still(found, printed["speed_up_percent"].dropna() / 100))


def _recorded(experiment: ControlMatrix) -> dict:
    losses = experiment.arms[BASELINE].curves("loss")
    return {
        "steps": losses.index.tolist(),
        "losses": {str(seed): of_seed.tolist() for seed, of_seed in losses.items()},
    }


@house_style()
def _still(found: Sequence[ControlMatrix], printed: pd.Series) -> CaptionedFigure:
    figure, panel = new_figure(7.4, 0.45 * (len(found) + 1) + 0.9)
    shares = {e.label: between_random_starts(e)[1] for e in found}
    for y, of_pairs in enumerate(shares.values()):
        panel.plot([AT_NEVER if x == NEVER else x for x in of_pairs], [y] * len(of_pairs), "o", color=CROSS, alpha=0.45)
    panel.plot(printed, [len(shares)] * len(printed), "D", color=NEUTRAL)
    panel.set_yticks(range(len(shares) + 1), [*shares, "symmetric start, Table 1"])
    panel.set(ylim=(len(shares) + 0.5, -0.5), xlim=(AT_NEVER - 0.05, 1), xlabel="speed-up by Table 1's measure")
    panel.set_xticks([AT_NEVER, 0, 0.25, 0.5, 0.75, 1], ["never", *(as_percent(x / 4) for x in range(5))])
    pairs = [x for of_pairs in shares.values() for x in of_pairs]
    faster, most = sum(x > 0 for x in pairs), as_percent(max(pairs))
    return captioned(
        figure,
        __package__,
        "fig-roulette",
        faster=faster,
        pairs=len(pairs),
        most=most,
        least=as_percent(printed.min()),
        largest=as_percent(printed.max()),
    )
