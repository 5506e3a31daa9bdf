"""The results that the paper's authors released about pretrained models, and their known defects.

released_results.csv   each released result: its model, its printed row, its figure, what is wrong with it
defects.csv            each code of what is wrong: its meaning, and whether the result still counts as evidence
"""

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from attngeo.checkpoints.architectures.entry import ABSOLUTE
from attngeo.experiments.survey.models import RESULTS, registry, rows_of
from livingpaper.claims.published import read_published

_DEFECTS = list(rows_of("defects.csv"))
DEFECTS = {row["code"]: row["meaning"] for row in _DEFECTS}
WORDS = {
    row["code"]: row["short"] for row in _DEFECTS if row["short"]
}  # short forms for the defects that Figure 2 shows
_NOT_COUNTED = {row["code"] for row in _DEFECTS if not row["counted"]}


def released_results() -> pd.DataFrame:
    """Every result that the paper's authors released: its model, its known defects and its medians.

    Columns of released_results.csv (model is empty where there is none) and of the paper's released_medians.csv,
    modality, family, attention, objective of the model, and ``counted``: whether it is a distinct, rightly extracted
    and trained model.

    Raises:
        CheckoutError: a table cannot be read.
    """
    results = pd.DataFrame(rows_of(RESULTS))
    kinds = pd.DataFrame(registry()).rename(columns={"name": "model"})
    kinds = kinds[["model", "part", "modality", "family", "attention", "objective", "positions"]]
    medians = read_published("released_medians", dtype={"parameters": "Int64"})
    joined = results.merge(medians, on=["file", "key"], validate="1:1")
    joined = joined.merge(kinds, on=["model", "part"], how="left", validate="m:1")
    return joined.assign(counted=[not _NOT_COUNTED & set(d.split()) for d in joined["defects"]])


def families_by_positions(results: pd.DataFrame) -> pd.DataFrame:
    """A row per family, attention and kind of positions of `released_results`, of text.

    Returns:
        ``family, attention, positions, absolute, s`` (median of its models), ``n_models``, and ``counted``: families
        without a result that counts, as ModernBERT, have their median of all results and no part in the test.
    """
    text = results[(results["modality"] == "text") & results["attention"].isin(["bidirectional", "causal"])]
    keys = ["family", "attention", "positions"]
    chosen = text[text["counted"] | ~text.groupby(keys)["counted"].transform("any")].groupby(keys)
    found = chosen.agg(s=("s", "median"), n_models=("s", "size"), counted=("counted", "any")).reset_index()
    return found.assign(absolute=found["positions"].isin(ABSOLUTE)).sort_values(["attention", "absolute", "s"])


def absolute_against_others(families: pd.DataFrame, attention: str) -> tuple[float, float, int]:
    """The difference between families with absolute positions and other families, with an exact two-sided test.

    We wrote the test down before we ran it. It uses language models whose released result counts (without a known
    defect of extraction, and not a copy). The value of a family is the median of s over its models. The statistic is
    the median of the families with absolute positions (rows added to the embedding) minus the median of the others.
    Under the null hypothesis every assignment of the families to groups of these sizes is equally likely. Encoders and
    decoders are tested separately.

    Returns:
        The statistic, its p-value, and the number of assignments.
    """
    own = families[families["counted"] & (families["attention"] == attention)]
    groups = [own.loc[own["absolute"] == kind, "s"].to_numpy() for kind in (True, False)]

    def apart(a: np.ndarray, b: np.ndarray) -> float:
        return abs(np.median(a) - np.median(b))

    dealt = permutation_test(groups, apart, alternative="greater", n_resamples=np.inf, vectorized=False)
    return float(np.median(groups[0]) - np.median(groups[1])), float(dealt.pvalue), len(dealt.null_distribution)
