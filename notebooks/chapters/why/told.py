"""What learned and rotary positions do to encoders and decoders, in sentences that follow from the recorded runs."""

from attngeo.experiments.runs.arms import Contrast
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.numbers_in_words import as_score, number, with_interval
from chapters.positions import AGAIN, FIRST, Judged, Outcome, S

# what the models of an experiment read, in a sentence and above a panel
READ = {
    FIRST: ("single characters", "characters"),
    AGAIN[0]: ("single characters (new seeds)", "characters, new seeds"),
    AGAIN[1]: ("single characters (third set of seeds)", "characters, third time"),
    "positions_mini": ("single characters and have the paper's four-layer shape", "the paper's 4-layer shape"),
    "positions_pieces": ("word pieces and are trained briefly", "word pieces, short"),
    "positions_pieces_longer": ("word pieces", "word pieces"),
}
SHOWN = (FIRST, "positions_mini", "positions_pieces_longer")  # in the first figure, besides the chosen one
OF_CHARACTERS = (FIRST, *AGAIN, "positions_mini")
MOVED = 0.005  # by which a score changes before we say so


def encoder_minus_decoder(judgement: Judged, positions: str) -> Estimate:
    """s of the encoder minus s of the decoder after training, at equal seeds and types of positional encoding."""
    return Contrast(judgement.arms[f"mlm-{positions}"], judgement.arms[f"clm-{positions}"]).difference(S)


def change(before: float, after: float) -> str:
    """``drops from 0.58 to 0.04``."""
    ends = f"from {number(before, 2)} to {number(after, 2)}"
    if abs(after - before) < MOVED:
        return f"hardly changes ({ends})"
    return f"{'rises' if after > before else 'drops'} {ends}"


def crossing(judgement: Judged) -> str:
    """What replacing learned position embeddings by rotary positions does to both objectives, and which is ahead."""
    name = judgement.plan.name
    if judgement.outcome is Outcome.UNDECIDED:
        return (
            f"In the experiment with models that read {READ[name][0]}, the encoders with learned position embeddings"
            " did not learn, so this experiment cannot say what rotary positions change."
        )
    s = {arm: found.mean(S) for arm, found in judgement.arms.items()}
    replaced = (
        f"In small models that read {READ[name][0]}, we replaced learned position embeddings by rotary positions. The"
        f" symmetry score $s$ of encoders {change(s['mlm-learned'], s['mlm-rotary'])}, and the score of decoders"
        f" {change(s['clm-learned'], s['clm-rotary'])}."
    )
    return (
        f"{replaced} {ahead(encoder_minus_decoder(judgement, 'learned'), encoder_minus_decoder(judgement, 'rotary'))}"
    )


def leader(difference: Estimate) -> str:
    """Which models are the more symmetric ones, by the interval of encoder minus decoder; empty if it contains 0."""
    if difference.low > 0:
        return "encoders"
    return "decoders" if difference.high < 0 else ""


def ahead(learned: Estimate, rotary: Estimate) -> str:
    """Which models are the more symmetric ones with either type of positional encoding."""
    first, second = leader(learned), leader(rotary)
    if first and second and first != second:
        return (
            f"So with learned position embeddings {first} are the more symmetric models, and with rotary positions"
            f" {second} are."
        )
    if first and first == second:
        return f"So {first} are the more symmetric models with both types of positional encoding."
    if first:
        return (
            f"So {first} are the more symmetric models with learned position embeddings. With rotary positions, encoders"
            " and decoders differ by less than the variation between seeds."
        )
    if second:
        return (
            f"So {second} are the more symmetric models with rotary positions. With learned position embeddings, encoders"
            " and decoders differ by less than the variation between seeds."
        )
    return "With either type of positional encoding, encoders and decoders differ by less than the variation between seeds."


def crossing_row(judgement: Judged) -> dict[str, str | int]:
    """Encoder minus decoder with both types of positional encoding, and the outcome of the plan."""
    learned, rotary = (encoder_minus_decoder(judgement, kind) for kind in ("learned", "rotary"))
    undecided = judgement.outcome is Outcome.UNDECIDED
    return {
        "models read": READ[judgement.plan.name][1],
        "seeds": len(judgement.arms["mlm-learned"]),
        "learned position embeddings": "the encoders did not learn" if undecided else with_interval(learned, as_score),
        "rotary positions": with_interval(rotary, as_score),
        "outcome of the plan": judgement.outcome.value,
    }
