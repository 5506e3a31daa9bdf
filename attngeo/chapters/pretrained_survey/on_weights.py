"""Section 3 judged on weights that were read here, family by family, apart from the released scores."""

from dataclasses import dataclass

import pandas as pd

from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact
from attngeo.records.checkout import data
from attngeo.survey.against_half import against_half
from attngeo.survey.families import FEW_BITS, compared, of_families, with_kinds
from attngeo.survey.measured import named, read_quantised, read_records
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import SCORES, layer_medians

SIX_DIGITS = 1e-6  # single precision
HERE = "families read here"


@dataclass(frozen=True)
class OnWeights:
    """What the records hold: a row per model and part, and per layer whose weights were rounded."""

    stacks: pd.DataFrame  # `with_kinds` of medians over layers
    losses: pd.DataFrame  # `rounding_losses`


def recorded_weights() -> OnWeights:
    """The recorded survey."""
    table, _ = read_records(data("survey"))
    layers = named(table)[lambda t: t["head"] == -1]
    return OnWeights(with_kinds(layer_medians(layers)), rounding_losses(layers, read_quantised(data("survey"))))


def rounding_losses(layers: pd.DataFrame, rounded: pd.DataFrame) -> pd.DataFrame:
    """Scores of rounded weights beside those of the weights as they were, a row per layer and scheme.

    Returns:
        Columns model, part, layer, scheme, the scores as they were and, with the suffix ``_rounded``, once rounded, and
        ``lost``: the share ``1 - s_rounded / s`` of symmetry.
    """
    keys = ["model", "part", "layer"]
    joined = layers[[*keys, *SCORES]].merge(rounded[[*keys, "scheme", *SCORES]], on=keys, suffixes=("", "_rounded"))
    return joined.assign(lost=1 - joined["symmetry_rounded"] / joined["symmetry"])


def bert_in_four_bits(losses: pd.DataFrame) -> pd.DataFrame:
    """The rows of BERT base in either of the 4-bit schemes."""
    return losses[(losses["model"] == "BERT base CTPE") & losses["scheme"].isin(["q4_0", "q4_1"])]


def losses_by_scheme(losses: pd.DataFrame, least: float) -> pd.DataFrame:
    """A row per scheme: layers with ``|s| > least``, median, least and most of what they lose, largest change of d."""
    told = losses[losses["symmetry"].abs() > least]
    told = told.assign(moved=(told["directionality_rounded"] - told["directionality"]).abs())
    columns = {
        "layers": ("lost", "size"),
        "median": ("lost", "median"),
        "least": ("lost", "min"),
        "most": ("lost", "max"),
        "largest change of d": ("moved", "max"),
    }
    return told.groupby("scheme", sort=False).agg(**columns)


@check(recorded_weights)
def section_3_symmetry_on_weights(found: OnWeights) -> Judgement:
    """AUC of symmetry over families whose weights were read lies above 1/2, by interval, bootstrap and exact test."""
    families = of_families(found.stacks)
    result = compared(families, "symmetry")
    wide = families.pivot(index="family", columns="attention", values="symmetry").dropna(
        subset=["bidirectional", "causal"]
    )
    against = list(wide.index[wide["bidirectional"] <= wide["causal"]])
    base = bert_in_four_bits(found.losses)
    return Judgement(
        *(against_half(result.separation, end, ">", score="symmetry", models=HERE) for end in ("low", "family_low")),
        compare("p", result.p, "<", 0.05, n=result.n_exchanges),
        compare("four bits", base["lost"].median(), "<", 0.01),
        compare("four bits at most", base["lost"].max(), "<", 0.02),
        compare("four bits at least", base["lost"].min(), ">"),
        halves=len(wide),
        against=", ".join(against) or "none",
        coarse=found.stacks[found.stacks["precision"].isin(FEW_BITS)]["model"].nunique(),
    )


@check(recorded_weights)
def section_3_directionality_on_weights(found: OnWeights) -> Judgement:
    """AUC of directionality over families whose weights were read: by either formula its interval holds 1/2."""
    families = of_families(found.stacks)
    results = {score: compared(families, score) for score in ("directionality", "directionality_tables")}
    ends = (
        against_half(result.separation, end, relation, score=f"directionality by {formula}", models=HERE)
        for formula, result in zip(("Definition 3.2", "Table S3's formula"), results.values(), strict=True)
        for end, relation in (("low", "<"), ("high", ">"))
    )
    return Judgement(*ends, least=results["directionality"].least)


@check(recorded_weights)
def figure_s1_formula(found: OnWeights) -> Comparisons:
    """Figure S1: DeiT-tiny's released medians are s, and d of the released code, not of Definition 3.2 nor Table S3."""
    name = "deit-tiny-patch16-224"
    ours = found.stacks.set_index("model").loc[name]
    theirs = released_results().query("model == @name").iloc[0]
    yield exact("s", ours["symmetry"], theirs["s"], SIX_DIGITS)
    yield exact("d", ours["directionality_released"], theirs["d"], SIX_DIGITS)
    yield compare("by the definition", ours["directionality"], "≠", theirs["d"], 1e-3)
    yield compare("as in Table S3", ours["directionality_tables"], "≠", theirs["d"], 1e-3)
