"""The numbers in the prose of *Scores in training*, by the names that its page shows them under.

The assertions are what the sentences around these numbers take for granted.
"""

from attngeo.experiments.runs.numbers_in_words import joined_by_and, number, share_of, spelled
from chapters.training_scores.measures import case, climb_of, recorded, spoken_of
from chapters.training_scores.planned import ENCODER, OF_CHARACTERS, difference_table, planned_of, planned_pairs
from chapters.training_scores.released import SCATTER, random_gap_sd, released_course, released_gaps, released_pairs
from chapters.training_scores.tables import LARGER, gap_outcome, growth_of_ours
from livingpaper.claims.seed_intervals import Case, Training


def ends_of_released_models() -> dict[str, str]:
    """How the two models of the authors' pairs differ at the end of training."""
    pairs = released_pairs()
    more_symmetric = pairs["s, encoder"] > pairs["s, decoder"]
    more_directional = pairs["d, decoder"] < pairs["d, encoder"]
    assert more_symmetric.all() and more_directional.sum() <= len(pairs) / 2  # title and lead
    assert set(pairs.loc[more_directional, "layers"]) == {12}  # "namely in the 12-layer models"
    apart = [gap.label for gap in released_gaps(12) if gap_outcome(gap) == LARGER]
    assert len(apart) == 1 and not any(gap_outcome(gap) == LARGER for gap in released_gaps(4))
    assert set(apart) <= set(pairs.loc[more_directional, "text"])  # "one of these differences", on page 7
    s_of_small_decoders = pairs.loc[pairs["layers"] == 4, "s, decoder"]
    assert s_of_small_decoders.max() < 0
    return {
        "n-released": str(len(pairs)),
        "n-models": str(2 * len(pairs)),
        "s-holds": share_of(int(more_symmetric.sum()), len(pairs)),
        "d-holds": share_of(int(more_directional.sum()), len(pairs)),
        "d-which": joined_by_and(pairs.loc[more_directional, "text"]),
        "n-apart": spelled(len(apart)),
        "which-apart": apart[0],
        "scatter": spelled(SCATTER),
        "gap-sd-12": number(random_gap_sd(12), 2),
        "gap-sd-4": number(random_gap_sd(4), 2),
        "skew-least": number(s_of_small_decoders.min(), 2),
        "skew-most": number(s_of_small_decoders.max(), 2),
    }


def course_of_released_models() -> dict[str, str]:
    """How the directionality of the authors' models changes during training."""
    course = released_course()
    encoders, decoders = (course[course["part"] == part] for part in ("encoder", "decoder"))
    small, deep = (decoders[decoders["layers"] == layers] for layers in (4, 12))
    # columns dominate at the end of training, in the 12-layer decoders from the first recorded step on
    assert (course["end"] < 0).all() and (deep["first"] < 0).all()
    assert deep["first step"].nunique() == 1 and (small["end"] < small["first"]).all()
    moves = course[course["layers"] == 12].assign(move=lambda rows: rows["end"] - rows["first"])
    moves = moves.pivot(index="text", columns="part", values="move")
    assert (moves["encoder"] < 0).all() and (moves["encoder"] < moves["decoder"]).all()
    assert (encoders["last step above 0"] > 0).mean() > 0.5  # "in most of the authors' encoders"
    return {
        "first-step": f"{deep['first step'].iloc[0]:,}",
        "last-step": f"{deep['steps'].iloc[0]:,}",
        "d-first-low": number(deep["first"].min(), 2),
        "d-first-high": number(deep["first"].max(), 2),
        "d-end-low": number(deep["end"].min(), 2),
        "d-end-high": number(deep["end"].max(), 2),
    }


def planned_cases(score: str, positions: str) -> dict[str, Case]:
    """Encoder minus decoder in a final score, by planned experiment with this type of positional encoding."""
    return {
        experiment: case(pair, "", pair.difference(score))
        for experiment, kind, pair in planned_pairs()
        if kind == positions
    }


def planned_experiments() -> dict[str, str]:
    """How encoders and decoders differ in the planned experiments on positional encoding."""
    learned, rotary = (list(planned_cases("symmetry", kind).values()) for kind in ("learned", "rotary"))
    assert all(found.met for found in learned) and not any(found.met for found in rotary)
    directionality = [planned_cases("directionality", kind) for kind in ("learned", "rotary")]
    d_learned, d_rotary = ([cases[name] for name in OF_CHARACTERS] for cases in directionality)
    on_subwords = [found for cases in directionality for name, found in cases.items() if name not in OF_CHARACTERS]
    assert not any(found.met or found.reversed for found in on_subwords)
    assert all(found.met for found in d_learned) and not any(found.met for found in d_rotary)
    return {
        "n-experiments": spelled(len(difference_table("symmetry"))),
        "n-learned": spelled(len(learned)),
        "n-rotary": spelled(len(rotary)),
        "n-rotary-decoders": spelled(sum(found.reversed for found in rotary)),
        "d-learned-met": spelled(len(d_learned)),
        "d-rotary-characters": spelled(len(d_rotary)),
        "d-rotary-negative": share_of(sum(found.estimate.value < 0 for found in d_rotary), len(d_rotary)),
        "d-rotary-reversed": spelled(sum(found.reversed for found in d_rotary)),
    }


def growth_of_symmetry() -> dict[str, str]:
    """How the symmetry of our encoders grows."""
    grown = growth_of_ours()
    assert all(climb.growth.value > 0 for climb in grown)
    first_rotary = climb_of(planned_of(ENCODER, "rotary")["positions_characters"])
    assert first_rotary.fall.low > 0 and first_rotary.mean.iloc[-1] < 0.1  # "hardly grows"
    return {
        "n-grown-settings": spelled(len(grown)),
        "n-grown-beyond": spelled(sum(climb.growth.low > 0 for climb in grown)),
        "rotary-peak": number(first_rotary.mean.max(), 2),
        "rotary-end": number(first_rotary.mean.iloc[-1], 2),
    }


def sizes_of_models() -> dict[str, str]:
    """The size of our models, and how many tokens they read, beside the smallest models that the paper considers."""
    runs, paper = recorded(), spoken_of()
    trained = [Training.of(run.config) for run in runs]
    trained += [Training.of(pair.first.config) for _, _, pair in planned_pairs()]
    layers, widths, tokens = (sorted({getattr(one, of) for one in trained}) for of in ("layers", "width", "tokens"))
    return {
        "n-runs": str(len(runs)),
        "our-layers": joined_by_and(map(str, layers)),
        "our-widths": " or ".join(map(str, widths)),
        "least-tokens": f"{tokens[0] / 1e6:.1f}",
        "most-tokens": f"{tokens[-1] / 1e6:.1f}",
        "paper-width": str(paper.width),
        "paper-tokens": f"{paper.tokens / 1e9:.1f}",
    }
