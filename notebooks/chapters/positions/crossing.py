"""Encoders and decoders with learned and with rotary positions: a figure, and sentences that follow from the runs."""

from collections.abc import Mapping

import numpy as np

from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.experiments.runs.arms import Contrast
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and, number, with_interval
from chapters.positions import AGAIN, FIRST, Judged, Outcome, S

# the models of an experiment, in a sentence and above a panel
READ = {
    FIRST: ("small character-level models", "characters"),
    AGAIN[0]: ("small character-level models (new seeds)", "characters, new seeds"),
    AGAIN[1]: ("small character-level models (third set of seeds)", "characters, third set of seeds"),
    "positions_mini": (
        "character-level models with the dimensions of the paper's four-layer model",
        "the paper's 4-layer dimensions",
    ),
    "positions_pieces": ("small models that were trained briefly on subword tokens", "subword tokens, short"),
    "positions_pieces_longer": ("small models that were trained on subword tokens", "subword tokens"),
}
SHOWN = (FIRST, "positions_mini", "positions_pieces_longer")  # in the first figure, besides the chosen one
OF_CHARACTERS = (FIRST, *AGAIN, "positions_mini")
MOVED = 0.005  # by which a score at least drops or rises

PARTS = {"encoder": "mlm", "decoder": "clm"}
ENDS = {"learned": "learned", "rotary": "rotary"}  # of the lines, and their labels
APART = 0.07  # of the labels of two lines, in s


@house_style()
def lines(experiments: Mapping[str, Judged]) -> CaptionedFigure:
    """s with learned position embeddings and with rotary positions: a line for each seed, bold lines for means.

    Args:
        experiments: by the title of their panel.
    """
    figure, panels = new_figure(7.2, 3.0, 1, len(experiments), sharey=True, squeeze=False)
    brief = []
    changes: dict[str, list[str]] = {part: [] for part in PARTS}
    for panel, (title, judgement) in zip(panels[0], experiments.items(), strict=True):
        ends: dict[str, list[float]] = {}
        for part, objective in PARTS.items():
            colour = PART_COLOURS[part]
            by_seed = np.array([judgement.arms[f"{objective}-{kind}"].values(S) for kind in ENDS])
            panel.plot([0, 1], by_seed, color=colour, linewidth=0.8, alpha=0.35)
            ends[part] = list(by_seed.mean(1))
            panel.plot([0, 1], ends[part], color=colour, linewidth=2.5, marker="o", markersize=5)
        for place, (side, x) in enumerate((("right", -0.08), ("left", 1.08))):
            higher, lower = sorted(PARTS, key=lambda part, place=place: -ends[part][place])
            gap = ends[higher][place] - ends[lower][place]
            shift = max(0.0, APART - gap) / 2
            for part, y in ((higher, ends[higher][place] + shift), (lower, ends[lower][place] - shift)):
                words = number(ends[part][place], 2)
                panel.text(x, y, words, ha=side, va="center", color=PART_COLOURS[part], fontweight="bold")
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.set(title=title, xlim=(-0.55, 1.55))
        panel.set_xticks([0, 1], ENDS.values())
        panel.grid(False, axis="x")
        words = (f"{part}s {number(first, 2)} and {number(second, 2)}" for part, (first, second) in ends.items())
        brief.append(f"{title}: {', '.join(words)}")
        for part, (first, second) in ends.items():
            changes[part].append(f"from {number(first, 2)} to {number(second, 2)}")
    panels[0, 0].set_ylabel("symmetry $s$ of $W_{qk}$")
    handles = [
        panels[0, 0].plot([], [], color=PART_COLOURS[part], linewidth=2.5, label=f"{part}s")[0] for part in PARTS
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    seeds = [str(len(judgement.arms["mlm-learned"])) for judgement in experiments.values()]
    caption = (
        "Symmetry of $W_{qk}$ after training (median over layers) with learned position embeddings and with rotary"
        f" position embeddings. Each thin line shows a seed ({joined_by_and(seeds)} seeds from left to right), and the"
        " bold lines show the means. From left to right, the mean score of encoders changes"
        f" {joined_by_and(changes['encoder'])} if rotary position embeddings replace learned ones, and the mean score"
        f" of decoders changes {joined_by_and(changes['decoder'])}."
    )
    alt = f"Lines from learned to rotary position embeddings, for encoders and decoders. Means: {'; '.join(brief)}."
    return CaptionedFigure(figure, "fig-why-crossing", caption, alt)


def encoder_minus_decoder(judgement: Judged, positions: str) -> Estimate:
    """s of the encoder minus s of the decoder after training, at equal seeds and types of positional encoding."""
    return Contrast(judgement.arms[f"mlm-{positions}"], judgement.arms[f"clm-{positions}"]).difference(S)


def sentences(judgement: Judged) -> str:
    """What replacing learned by rotary position embeddings does to both objectives, and which is ahead.

    The assertions are met for the first n seeds of every experiment, whatever n.
    """
    models = READ[judgement.plan.name][0]
    if judgement.outcome is Outcome.UNDECIDED:
        return (
            f"In the experiment with {models}, the encoders with learned position embeddings did not learn, so we"
            " cannot tell from this experiment what rotary position embeddings change."
        )
    learned, rotary = (encoder_minus_decoder(judgement, kind) for kind in ENDS)
    encoders, decoders = ([judgement.arms[f"{part}-{kind}"].mean(S) for kind in ENDS] for part in PARTS.values())
    assert encoders[1] + MOVED < encoders[0] and decoders[0] + MOVED < decoders[1]  # "drops", "rises"
    assert rotary.low < 0 < learned.low
    replaced = (
        f"In {models}, we replaced learned position embeddings by rotary position embeddings. The symmetry score $s$ of"
        f" encoders drops from {number(encoders[0], 2)} to {number(encoders[1], 2)}, whereas the score of decoders"
        f" rises from {number(decoders[0], 2)} to {number(decoders[1], 2)}. So encoders are more symmetric than decoders"
        " if both have learned position embeddings"
    )
    if rotary.high < 0:
        return f"{replaced}, but less symmetric if both have rotary position embeddings."
    return (
        f"{replaced}. With rotary position embeddings, the difference between encoders and decoders does not exceed the"
        " variation between seeds."
    )


def unplanned(judgement: Judged) -> str:
    """That no plan asked whether decoders overtake encoders; empty where they do not."""
    if encoder_minus_decoder(judgement, "rotary").high >= 0:
        return ""
    return (
        " We had planned to test whether the score of encoders drops and whether the difference between encoders and"
        " decoders becomes smaller. We noticed only afterwards that the order is reversed."
    )


def row(judgement: Judged) -> dict[str, str | int]:
    """Encoder minus decoder with both types of positional encoding, and the outcome of the plan."""
    learned, rotary = (encoder_minus_decoder(judgement, kind) for kind in ("learned", "rotary"))
    undecided = judgement.outcome is Outcome.UNDECIDED
    return {
        "models": READ[judgement.plan.name][1],
        "seeds": len(judgement.arms["mlm-learned"]),
        "learned position embeddings": "the encoders did not learn" if undecided else with_interval(learned, as_score),
        "rotary position embeddings": with_interval(rotary, as_score),
        "outcome of the plan": judgement.outcome.value,
    }
