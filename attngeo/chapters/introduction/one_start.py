"""One start, two objectives: an encoder and a decoder from equal weights, W_qk pictured as they train."""

import numpy as np

from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive, packed
from attngeo.display.mirror_clouds import mirror_clouds
from attngeo.display.style import CaptionedFigure
from attngeo.runs.numbers_in_words import number
from attngeo.runs.record import Run, RunError

LAYER = 0
SIDE = 64  # rows and columns shown: all of them would not fit on the page


def one_start(encoder: Run, decoder: Run) -> Interactive:
    """Pictures of W_qk over training steps, m_ij against m_ji, and both scores, of two runs that start equal.

    Raises:
        RunError: their first pictures differ, or they were not pictured at the same steps.
    """
    steps = sorted(step for layer, step in encoder.pictures if layer == LAYER)
    if set(encoder.pictures) != set(decoder.pictures):
        raise RunError(f"The runs {encoder.name} and {decoder.name} were pictured at different steps.")
    if not np.array_equal(encoder.pictures[LAYER, 0], decoder.pictures[LAYER, 0]):
        raise RunError(f"The runs {encoder.name} and {decoder.name} do not start from the same weights.")
    data = {
        "steps": steps,
        "side": SIDE,
        "encoder": _recorded(encoder, steps),
        "decoder": _recorded(decoder, steps),
    }
    return Interactive("one_start", data, _still(encoder, decoder, steps[-1]))


def _recorded(run: Run, steps: list[int]) -> dict:
    pictures = np.stack([run.pictures[LAYER, step][:SIDE, :SIDE] for step in steps])
    scores = {
        score: run.by_layer(name)[LAYER].loc[steps] for score, name in (("s", "symmetry"), ("d", "directionality"))
    }
    return {
        "levels": packed(np.rint(pictures * 127).astype(np.int8)),
        **{score: [round(value, 4) for value in values] for score, values in scores.items()},
    }


def _still(encoder: Run, decoder: Run, last: int) -> CaptionedFigure:
    shown = {
        "both, step 0": encoder.pictures[LAYER, 0],
        f"encoder, step {last:,}": encoder.pictures[LAYER, last],
        f"decoder, step {last:,}": decoder.pictures[LAYER, last],
    }
    figure = mirror_clouds({title: picture[:SIDE, :SIDE] for title, picture in shown.items()})
    scores = ("symmetry", "directionality")
    (s0, s_encoder), (d0, d_encoder) = (_ends(encoder, score) for score in scores)
    (_, s_decoder), (_, d_decoder) = (_ends(decoder, score) for score in scores)
    width = encoder.config["d_model"]
    return captioned(
        figure,
        __package__,
        "fig-one-start",
        width=width,
        side=SIDE,
        last=last,
        s0=s0,
        s_encoder=s_encoder,
        s_decoder=s_decoder,
        d0=d0,
        d_encoder=d_encoder,
        d_decoder=d_decoder,
    )


def _ends(run: Run, score: str) -> tuple[str, str]:
    values = run.by_layer(score)[LAYER]
    return number(values.iloc[0], 2), number(values.iloc[-1], 2)
