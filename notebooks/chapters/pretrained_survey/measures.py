"""Section 3 in numbers: how released scores and weights read here set encoders apart, rounding, random bands."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from attngeo.bilinear.null_laws import Z95, directionality_null, symmetry_null
from attngeo.bilinear.random_matrices import directionality_sd
from attngeo.bilinear.rows import SCORES
from attngeo.bilinear.scores import GAMMA, SUM, Convention
from livingpaper.claims.results import Claim, Comparison, Relation, compare, exact
from attngeo.files.checkout import data
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.survey.families import Compared, Separation, compared, distinct, separation, with_kinds
from chapters.pretrained_survey.choices import TOLD_BY
from attngeo.experiments.survey.measured import layer_medians, named, read_quantised, read_records
from livingpaper.released_results import released_results

LETTERS = {"s": "symmetry", "d": "directionality"}
MODALITIES = {"language": "text", "vision": "vision", "audio": "audio"}
# of the released d; of Figures S1 (audio) and S2 no checkpoint was read that could tell
FORMULAS = {"2": "directionality_tables", "S1 vision": "directionality_released"}


# Released scores


def of_figure(figure: str, score: str, results: pd.DataFrame) -> Separation:
    """AUC of a score, s or d, in a figure ("2", "S1 vision", "S1 audio", "S2") as drawn: encoders against decoders."""
    drawn = results[(results["figure"] == figure) & results[score].between(-1, 1)]
    return _separation(drawn, "drawn_as", ("encoder", "decoder"), score)


def of_modality(modality: str, score: str, results: pd.DataFrame) -> Separation:
    """AUC of a score, s or d, among models that count: bidirectional against causal self-attention.

    Of text, models that have an encoder and a decoder are left to Figure S2.
    """
    return _separation(counted(modality, results), "attention", ("bidirectional", "causal"), score)


def families_of_modality(modality: str, score: str, results: pd.DataFrame) -> Compared:
    """The same, where a family counts once in either group, with the mean of its models."""
    means = counted(modality, results).groupby(["family", "attention"])[score].mean()
    return compared(means.reset_index(), score)


def halves(score: str, results: pd.DataFrame) -> pd.DataFrame:
    """The encoder-decoder models of Figure S2: columns family, encoder, decoder, difference; one row per model."""
    drawn = results[results["figure"] == "S2"].pivot(index=["model", "family"], columns="part", values=score)
    drawn = drawn[["encoder", "decoder"]].reset_index("family")
    return drawn.assign(difference=drawn["encoder"] - drawn["decoder"])


def all_separations(results: pd.DataFrame) -> pd.DataFrame:
    """Every AUC among models that count: columns models, score, and those of `Separation`."""
    return pd.DataFrame(
        {"models": words, "score": score} | vars(of_modality(modality, score, results))
        for words, modality in MODALITIES.items()
        for score in LETTERS
    )


def counted(modality: str, results: pd.DataFrame) -> pd.DataFrame:
    """The released models of a modality that count, without the halves of encoder-decoder models."""
    return results[results["counted"] & (results["modality"] == modality) & (results["figure"] != "S2")]


def _separation(rows: pd.DataFrame, column: str, groups: tuple[str, str], score: str) -> Separation:
    first, second = (rows[rows[column] == g] for g in groups)
    families = [g["family"].fillna("none").tolist() for g in (first, second)]
    return separation(first[score].to_numpy(), second[score].to_numpy(), *families)


def end_against_half(
    found: Separation, end: str, relation: Relation, score: str, models: str, more: str = ""
) -> Comparison:
    """``low``, ``high``, ``family_low`` or ``family_high`` of an AUC against 1/2, above which it is said to lie."""
    decoders = "1 decoder" if found.n_second == 1 else f"{found.n_second} decoders"
    words = f"AUC {found.auc:.3f} of {score}, {models} ({found.n_first} encoders, {decoders}){more}"
    low, high = (found.family_low, found.family_high) if end.startswith("family") else (found.low, found.high)
    compared = compare(words, getattr(found, end), relation, 0.5)
    return replace(compared, interval=Estimate(found.auc, low, high), claim=Claim(">", 0.5))


def both_ends(found: Separation, score: str, models: str) -> tuple[Comparison, Comparison]:
    """Of an interval that holds 1/2."""
    return end_against_half(found, "low", "<", score, models), end_against_half(found, "high", ">", score, models)


def sign_test(gaps: pd.Series) -> float:
    """Two-sided p of as many positive gaps."""
    return float(binomtest(int((gaps > 0).sum()), len(gaps)).pvalue)


# Weights that were read


@dataclass(frozen=True)
class OnWeights:
    """What the records hold of distinct weights: a row per model and part, and per layer whose weights were rounded."""

    stacks: pd.DataFrame  # `with_kinds` of medians over layers
    losses: pd.DataFrame  # `rounding_losses`


@cache
def recorded_weights() -> OnWeights:
    """The recorded survey."""
    layers = distinct(named(read_records(data("survey"))))[lambda t: t["head"] == -1]
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
    return losses[(losses["model"] == "BERT base radiology") & losses["scheme"].isin(["q4_0", "q4_1"])]


def losses_by_scheme(losses: pd.DataFrame, least: float) -> pd.DataFrame:
    """A row per scheme: of layers with ``|s| > least`` how many, median, least and most of what they lose."""
    by_scheme = losses[losses["symmetry"].abs() > least].groupby("scheme", sort=False)["lost"]
    return by_scheme.agg(layers="size", median="median", least="min", most="max")


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


def same_models(stacks: pd.DataFrame) -> pd.DataFrame:
    """Every stack (`with_kinds`) that was read here and stands, or whose base stands, among the released results.

    Returns:
        Columns model, part, precision, released (the result's model), same (whether it is this model and not its base),
        s, s_released, d, d_released; d by the formula of the released number, NaN where that is not known.
    """
    results = released_results()[lambda rows: rows["counted"] | (rows["defects"] == "fine-tuned")]
    results = results.drop_duplicates(["model", "part"])[["model", "part", "figure", "s", "d"]]
    rows = stacks.assign(released=stacks["base"].where(stacks["base"] != "", stacks["model"]), s=stacks["symmetry"])
    rows = rows.merge(
        results.rename(columns={"model": "released"}), on=["released", "part"], suffixes=("", "_released")
    )
    d = [row.get(FORMULAS.get(row["figure"]), math.nan) for row in rows.to_dict("records")]
    rows = rows.rename(columns={"d": "d_released"}).assign(same=rows["released"] == rows["model"], d=d)
    return rows[["model", "part", "precision", "released", "same", "s", "s_released", "d", "d_released"]]


def formula_of_language() -> Iterator[Comparison]:
    """The released d of language models whose very weights were read, by either formula."""
    read = recorded_weights().stacks
    models = same_models(read).query("same").merge(read[read["modality"] == "text"], on=["model", "part"])
    models = models[models["d"].notna()]
    gaps = (models["directionality_tables"] - models["d_released"]).abs()
    words = f"largest difference between our median d and the released one, among {len(models)} language models"
    yield exact(f"the formula behind Table S3: {words}", gaps.max(), 0, 1e-6)
    gaps = (models["directionality"] - models["d_released"]).abs()
    words = f"Def. 3.2 of the paper: smallest difference between our median d and the released one, among these {len(models)}"
    yield compare(words, gaps.min(), ">", 1e-3, paper="= 0")


# Random weights


def null_bands(scores: pd.DataFrame, gamma: float = GAMMA) -> pd.DataFrame:
    """Bands of 95 % for random weights of the shapes in a score table: for layers, and for the median of a model's.

    Returns:
        One row per model and part: s_mean, s_layer, s_median, d_layer, d_median, d_tables_median (as in Table S3); a
        band is the mean (0 for d) plus and minus its half-width.
    """
    rows = []
    for (model, part), own in scores.groupby(["model", "part"], sort=False):
        layers = own[own["head"] == SUM]
        d, (rank, n) = int(layers["d_model"].iloc[0]), (int(layers["rank"].iloc[0]), len(layers))
        symmetry, directionality = symmetry_null(d, rank), directionality_null(d, rank, gamma)
        s, tables = Z95 * symmetry.sd, Z95 * directionality_sd(d, gamma, Convention.TABLES)
        t = float(np.quantile(directionality.distances, 0.95))  # not normal where the width is small
        # a median of n normal values spreads sqrt(pi / 2) times as wide as their mean; one layer is its own median
        shrink = math.sqrt(math.pi / 2 / n) if n > 1 else 1.0
        t_median = min(t, Z95 * directionality.sd * shrink) if n > 1 else t
        rows.append((model, part, symmetry.mean, s, s * shrink, t, t_median, tables * shrink))
    names = "model part s_mean s_layer s_median d_layer d_median d_tables_median"
    return pd.DataFrame(rows, columns=names.split())


def outside(banded: pd.DataFrame) -> pd.DataFrame:
    """Stacks `with_kinds`, beside their `null_bands`, and whether their median d lies outside the band.

    Columns ``definition`` (Def. 3.2), ``tables`` (as in Table S3) and ``columns``: both, and columns dominate by both.
    """
    by = {"definition": ("directionality", "d_median"), "tables": ("directionality_tables", "d_tables_median")}
    told = banded.assign(**{name: banded[score].abs() > banded[band] for name, (score, band) in by.items()})
    below = (banded[["directionality", "directionality_tables"]] < 0).all(axis=1)
    return told.assign(columns=told["definition"] & told["tables"] & below)
