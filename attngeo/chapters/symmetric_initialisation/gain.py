"""What the gain is made of: the released start as a tie, a scale of queries and keys, and a scale of values."""

from collections.abc import Sequence

from attngeo.chapters.symmetric_initialisation.control_matrix import BASELINE, ControlMatrix, StartPair
from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive
from attngeo.display.style import ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.runs.estimates import Estimate
from attngeo.runs.numbers_in_words import as_nats, with_interval

PARTS = {"tie": "tie keys to queries", "scale": "scale of queries and keys", "values": "scale of values"}
STARTS = {  # which parts a start changes; the two that change values with queries and keys change biases, too
    "symmetric": "tie",
    "scaled": "scale",
    "scaled-symmetric": "tie scale",
    "scaled-values": "values",
    "default-linear": "scale values",
    "released": "tie scale values",
}

_TOLD = {"tie": "the tie alone", "scale values": "all but the tie", "tie scale values": "all"}


def made_of(found: Sequence[ControlMatrix]) -> Interactive:
    """Final loss less that of the random start, with its interval, for every set of parts that was run."""
    pairs = {parts: StartPair(start, BASELINE, parts) for start, parts in STARTS.items()}
    data = {
        "parts": PARTS,
        "experiments": {
            e.label: {
                parts: _recorded(pair.start, len(contrasts[pair]), contrasts[pair].difference())
                for parts, pair in pairs.items()
                if pair in (contrasts := e.contrasts([pair]))
            }
            for e in found
        },
    }
    return Interactive("gain", data, _still(data["experiments"]))


def _recorded(start: str, seeds: int, estimate: Estimate) -> dict:
    ends = [estimate.low, estimate.high] if estimate.has_interval else None
    words = with_interval(estimate, as_nats)
    return {"start": start, "seeds": seeds, "value": estimate.value, "ends": ends, "words": words}


@house_style()
def _still(found: dict[str, dict[str, dict]]) -> CaptionedFigure:
    shown = list(STARTS.values())
    figure, panels = new_figure(8.2, 3.0, columns=len(found), sharex=True, sharey=True, squeeze=False)
    for panel, (label, of_parts) in zip(panels[0], found.items(), strict=True):
        for y, parts in enumerate(shown):
            if run := of_parts.get(parts):
                panel.hlines(y, *(run["ends"] or [run["value"]] * 2), color=ENCODER, linewidth=2)
                panel.plot(run["value"], y, "o", color=ENCODER, markersize=6)
        panel.axvline(0, color=NEUTRAL, linewidth=1)
        panel.set(title=label, xlabel="final loss less the random start's (nats)")
    panels[0, 0].set_yticks(range(len(shown)), [parts.replace(" ", " + ") for parts in shown])
    panels[0, 0].set_ylim(len(shown) - 0.5, -0.5)
    ends = "; ".join(
        f"{label}: "
        + ", ".join(f"{words} {as_nats(of_parts[p]['value'])}" for p, words in _TOLD.items() if p in of_parts)
        for label, of_parts in found.items()
    )
    return captioned(figure, __package__, "fig-gain-parts", ends=ends)
