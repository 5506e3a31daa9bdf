"""Released scores by how models take positions: rows added to the embedding (absolute), or any other way.

The test, written down before it was run. Language models whose released result counts (no known defect of extraction,
no copy); a family's value is the median of its models' s; the statistic is the median of the families with absolute
positions less that of the others; families are exchangeable between the kinds, so every way to deal them to groups of
these sizes is equally likely; two-sided, encoders and decoders each by themselves.
"""

import numpy as np
import pandas as pd
from scipy.stats import permutation_test

from attngeo.checkpoints.architectures.entry import ABSOLUTE


def families_by_positions(results: pd.DataFrame) -> pd.DataFrame:
    """A row per family, attention and kind of positions of `attngeo.survey.released_results.released_results`, of text.

    Returns:
        ``family, attention, positions, absolute, s`` (median of its models), ``n_models``, and ``counted``: families
        without a result that counts, as ModernBERT, have their median of all results and no part in the test.
    """
    text = results[(results["modality"] == "text") & results["attention"].isin(["bidirectional", "causal"])]
    keys = ["family", "attention", "positions"]
    counts = text[text["counted"]].groupby(keys)["s"].agg(["median", "size"]).assign(counted=True)
    every = text.groupby(keys)["s"].agg(["median", "size"]).assign(counted=False)
    found = pd.concat([counts, every[~every.index.isin(counts.index)]]).reset_index()
    found = found.rename(columns={"median": "s", "size": "n_models"})
    return found.assign(absolute=found["positions"].isin(ABSOLUTE)).sort_values(["attention", "absolute", "s"])


def absolute_against_others(families: pd.DataFrame, attention: str) -> tuple[float, float, int]:
    """Median of families with absolute positions less that of others, its exact two-sided p, and how many dealings."""
    own = families[families["counted"] & (families["attention"] == attention)]
    groups = [own.loc[own["absolute"] == kind, "s"].to_numpy() for kind in (True, False)]

    def apart(a: np.ndarray, b: np.ndarray) -> float:
        return abs(np.median(a) - np.median(b))

    dealt = permutation_test(groups, apart, alternative="greater", n_resamples=np.inf, vectorized=False)
    return float(np.median(groups[0]) - np.median(groups[1])), float(dealt.pvalue), len(dealt.null_distribution)
