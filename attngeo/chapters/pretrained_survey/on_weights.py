"""Section 3 judged on weights that were read here, family by family, apart from the released scores."""

from dataclasses import dataclass

import pandas as pd

from attngeo.chapters.pretrained_survey.same_models import same_models
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact
from attngeo.records.checkout import data
from attngeo.survey.against_half import against_half
from attngeo.survey.families import (
    FEW_BITS,
    TEXT_ALONE,
    TOLD_BY,
    WITHOUT_FEW_BITS,
    beaten,
    choices,
    compared,
    distinct,
    of_families,
    with_kinds,
)
from attngeo.survey.measured import named, read_quantised, read_records
from attngeo.survey.released_results import released_results
from attngeo.survey.score_table import SCORES, layer_medians

SIX_DIGITS = 1e-6  # single precision
HERE = "families read here"


@dataclass(frozen=True)
class OnWeights:
    """What the records hold of distinct weights: a row per model and part, and per layer whose weights were rounded."""

    stacks: pd.DataFrame  # `with_kinds` of medians over layers
    losses: pd.DataFrame  # `rounding_losses`


def recorded_weights() -> OnWeights:
    """The recorded survey."""
    table, _ = read_records(data("survey"))
    layers = distinct(named(table))[lambda t: t["head"] == -1]
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
    """A row per scheme: of layers with ``|s| > least`` how many, median, least and most of what they lose."""
    told = losses[losses["symmetry"].abs() > least]
    columns = {
        "layers": ("lost", "size"),
        "median": ("lost", "median"),
        "least": ("lost", "min"),
        "most": ("lost", "max"),
    }
    return told.groupby("scheme", sort=False).agg(**columns)


def moved_by_scheme(losses: pd.DataFrame) -> pd.DataFrame:
    """A row per scheme: how far d moves at most, by either formula, in a layer and in a model's median over layers."""
    medians = losses.groupby(["scheme", "model", "part"], sort=False).median(numeric_only=True)
    return pd.DataFrame(
        {
            f"{formula}, {of}": (rows[f"{score}_rounded"] - rows[score]).abs().groupby("scheme", sort=False).max()
            for formula, score in TOLD_BY.items()
            if formula != "s"
            for of, rows in (("a layer", losses.set_index("scheme")), ("a median", medians))
        }
    )


@check(recorded_weights)
def section_3_symmetry_on_weights(found: OnWeights) -> Judgement:
    """AUC of symmetry over families whose weights were read lies above 1/2, by interval, bootstrap and exact test."""
    families = of_families(found.stacks)
    result = compared(families, "symmetry")
    text = compared(of_families(choices(found.stacks)[TEXT_ALONE]), "symmetry").separation
    base = bert_in_four_bits(found.losses)
    return Judgement(
        *(against_half(result.separation, end, ">", score="symmetry", models=HERE) for end in ("low", "family_low")),
        compare("p", result.p, "<", 0.05, n=result.n_exchanges),
        against_half(text, "low", "<", "text", score="symmetry", models="families of text"),
        compare("four bits", base["lost"].median(), "<", 0.01),
        compare("four bits at most", base["lost"].max(), "<", 0.02),
        compare("four bits at least", base["lost"].min(), ">"),
        lost=", ".join(beaten(families, "symmetry")) or "none",
        others=f"{result.separation.n_first - text.n_first} of {result.separation.n_first}",
        texts=f"{text.n_second} of {result.separation.n_second}",
        coarse=found.stacks[found.stacks["precision"].isin(FEW_BITS)]["model"].nunique(),
    )


@check(recorded_weights)
def section_3_directionality_on_weights(found: OnWeights) -> Judgement:
    """AUC of directionality over families read here: by either formula its interval holds 1/2, in all, not in some."""
    families = of_families(found.stacks)
    fine = of_families(choices(found.stacks)[WITHOUT_FEW_BITS])
    chosen = compared(fine, "directionality_tables")
    results = {score: compared(families, score) for score in ("directionality", "directionality_tables")}
    ends = (
        against_half(result.separation, end, relation, score=f"directionality by {formula}", models=HERE)
        for formula, result in zip(("Definition 3.2", "Table S3's formula"), results.values(), strict=True)
        for end, relation in (("low", "<"), ("high", ">"))
    )
    least = results["directionality"].least
    words = {"score": "directionality by Table S3's formula", "models": f"{HERE}, {WITHOUT_FEW_BITS}"}
    few_bits = against_half(chosen.separation, "low", ">", "few bits", **words)
    return Judgement(*ends, few_bits, least=least, most=1 - least, p_few=chosen.p)


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
    same = same_models(found.stacks)[lambda rows: rows["same"]]
    for score in "sd":
        gaps = (same[score] - same[f"{score}_released"]).abs()
        yield exact(f"every {score}", gaps.max(), 0, SIX_DIGITS, n=gaps.count())
