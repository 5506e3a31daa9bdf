"""How well a score separates two groups of models: area under the ROC curve, with intervals and an exact test.

    AUC = Pr[x > y] + Pr[x = y] / 2,    x a model of the first group, y of the second,

the Mann-Whitney statistic per pair: 1 where every x exceeds every y, 1/2 where the groups do not differ. Models of one
family share authors, data or recipe, so we also count each family once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.stats import mannwhitneyu, rankdata

from attngeo.bilinear.null_laws import Z95
from attngeo.bilinear.rows import SCORES
from attngeo.experiments.survey.models import registry

Values = Sequence[float] | Float[np.ndarray, "_"]
GROUPS = {"encoder": "bidirectional", "decoder": "causal"}
KINDS = ["family", "attention", "modality", "precision", "base", "objective"]


@dataclass(frozen=True)
class Separation:
    """An AUC with two intervals of 95 %."""

    auc: float
    n_first: int
    n_second: int
    low: float  # interval if models are independent (Newcombe)
    high: float
    family_low: float  # interval if only families are (bootstrap); NaN if a group has fewer than 2 families
    family_high: float


def auc(first: Values, second: Values) -> float:
    """``Pr[x > y] + Pr[x = y] / 2`` over all pairs of x in ``first`` and y in ``second``."""
    return float(mannwhitneyu(first, second, method="asymptotic").statistic / (len(first) * len(second)))


def score_interval(area: float, n_first: int, n_second: int) -> tuple[float, float]:
    """Values of AUC that lie within 1.96 standard errors of the observed one, by their own standard error.

    ``V(A) = A (1 - A) (1 + N ((1 - A) / (2 - A) + A / (1 + A))) / (m n)`` with ``N = (m + n) / 2 - 1``; the ends solve
    ``|A - area| = z sqrt(V(A))``. Unlike an interval of the form AUC +- z sd it stays within [0, 1] and does not
    shrink to a point at complete separation. Models count as independent.

    Source: Newcombe, Statistics in Medicine 25 (2006) 559-573, method 5, after Hanley and McNeil's variance.
    """
    half = (n_first + n_second) / 2 - 1

    def distance(a: float) -> float:
        variance = a * (1 - a) * (1 + half * ((1 - a) / (2 - a) + a / (1 + a))) / (n_first * n_second)
        return (a - area) ** 2 - Z95**2 * variance

    inside = min(max(area, 1e-12), 1 - 1e-12)  # at 0 and 1 themselves the distance is 0
    return brentq(distance, 0, inside), brentq(distance, inside, 1)


def family_interval(
    first: Values, second: Values, first_families: Sequence[str], second_families: Sequence[str], draws: int = 4000
) -> tuple[float, float]:
    """Percentile bootstrap over families: models of one family share data and recipe, and so do their scores.

    In each draw, families are drawn with replacement, as many as there are, separately for families with models only in
    the first group, only in the second group, and in both groups. A family that is drawn enters with all of its models.
    """
    rng = np.random.default_rng(0)
    wins = (np.sign(np.subtract.outer(first, second)) + 1) / 2  # (models, models)
    names = np.unique([*first_families, *second_families])
    rows = np.equal.outer(names, np.array(first_families)).astype(float)  # (families, models): 1 for the own family
    columns = np.equal.outer(names, np.array(second_families)).astype(float)
    sums = rows @ wins @ columns.T  # (families, families): pairs won between two families
    sizes = np.outer(rows.sum(1), columns.sum(1))
    times = np.zeros((draws, len(names)), dtype=np.int64)  # how often each family is drawn
    in_first = rows.any(1)
    in_second = columns.any(1)
    for alike in (in_first & ~in_second, in_second & ~in_first, in_first & in_second):
        n = int(alike.sum())
        if n:
            times[:, alike] = rng.multinomial(n, np.full(n, 1 / n), draws)
    areas = np.einsum("df,fg,dg->d", times, sums, times) / np.einsum("df,fg,dg->d", times, sizes, times)
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def exchange_test(first: Mapping[str, float], second: Mapping[str, float], most: int = 20_000) -> tuple[float, int]:
    """Exact two-sided test that the groups do not differ: ``Pr[|A - 1/2| >= |observed A - 1/2|]`` over all exchanges.

    If a family has a value in both groups, the two values may be exchanged. The other families are assigned anew to
    groups of the same sizes. If the groups do not differ, every exchange is as likely as the observed assignment. If
    there are more than ``most`` exchanges, a random sample of ``most`` exchanges is used.

    Returns:
        p, and the number of exchanges behind it, the observed one among them.
    """
    both = sorted(first.keys() & second.keys())
    first_alone = [first[name] for name in sorted(first) if name not in both]
    second_alone = [second[name] for name in sorted(second) if name not in both]
    ranks = rankdata([*(first[name] for name in both), *(second[name] for name in both), *first_alone, *second_alone])
    places = np.arange(len(first_alone) + len(second_alone))  # the values without a pair
    swapped, dealt = map(np.array, zip(*_exchanges(len(both), places, len(first_alone), most), strict=True))
    alone = np.zeros((len(dealt), len(places)), dtype=bool)
    np.put_along_axis(alone, dealt.astype(int), True, axis=1)
    # for each exchange, which values are in the first group: those of pairs, the others of their pairs, those without
    chosen = np.concatenate([swapped == 0, swapped == 1, alone], axis=1)
    n = len(first)
    areas = (chosen @ ranks - n * (n + 1) / 2) / (n * len(second))
    p = (abs(areas - 0.5) >= abs(areas[0] - 0.5) - 1e-12).mean()
    return float(p), len(chosen)


def _exchanges(n_pairs: int, places: np.ndarray, n_first: int, most: int) -> Iterator[tuple[Any, Any]]:
    """The swapped pairs and the places that are assigned to the first group, with the observed exchange first."""
    if 2**n_pairs * math.comb(len(places), n_first) <= most:
        yield from product(product((0, 1), repeat=n_pairs), combinations(places, n_first))
        return
    rng = np.random.default_rng(0)
    yield np.zeros(n_pairs), places[:n_first]
    for _ in range(most - 1):
        yield rng.integers(0, 2, n_pairs), rng.permutation(places)[:n_first]


@cache
def least_told(n_first: int, n_second: int) -> float:
    """The smallest AUC of groups of these sizes whose interval (`score_interval`) excludes 1/2."""
    if score_interval(1.0, n_first, n_second)[0] <= 0.5:
        return 1.0
    return float(brentq(lambda area: score_interval(area, n_first, n_second)[0] - 0.5, 0.5 + 1e-9, 1))


def separation(
    first: Values, second: Values, first_families: Sequence[str], second_families: Sequence[str]
) -> Separation:
    """AUC of two groups with both intervals."""
    area = auc(first, second)
    low, high = score_interval(area, len(first), len(second))
    family_low = family_high = math.nan
    if min(len(set(first_families)), len(set(second_families))) > 1:
        family_low, family_high = family_interval(first, second, first_families, second_families)
    return Separation(area, len(first), len(second), low, high, family_low, family_high)


# Families as units


def with_kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that have model and part, with the columns KINDS of the registry added.

    A model that the registry does not know is a family of its own, and bidirectional if it is an encoder.
    """
    known = pd.DataFrame(registry()).rename(columns={"name": "model"})[["model", "part", *KINDS]]
    joined = rows.merge(known, how="left", on=["model", "part"], validate="m:1")
    by_part = joined["part"].map({**GROUPS, "cross": "cross"})
    return joined.fillna(dict.fromkeys(KINDS, "") | {"family": joined["model"], "attention": by_part})


def distinct(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that have model and part, without models whose weights are a copy of those of their base."""
    parts = list(zip(rows["model"], rows["part"], strict=True))
    here = set(parts)
    known = {(m.name, m.part): m for m in registry()}
    copies = set()
    for part, model in known.items():
        base = (model.base, model.part)
        if base in here and model.objective == known[base].objective:
            copies.add(part)
    return rows[[part not in copies for part in parts]]


def of_families(stacks: pd.DataFrame, scores: Sequence[str] = SCORES) -> pd.DataFrame:
    """A row per family and type of attention, with the means over its models of their medians over layers."""
    return stacks.groupby(["family", "attention"], sort=False)[list(scores)].mean().reset_index()


@dataclass(frozen=True)
class Compared:
    """Encoders compared with decoders, where a family counts once in either group."""

    separation: Separation
    p: float  # the p-value of `exchange_test`
    n_exchanges: int
    least: float  # `least_told` for groups of this size

    @property
    def side(self) -> int:
        """1 if the interval of the AUC lies above 1/2, -1 if it lies below, and 0 if it contains 1/2."""
        return int(self.separation.low > 0.5) - int(self.separation.high < 0.5)

    def __str__(self) -> str:
        of = self.separation
        return f"{of.auc:.2f} [{of.low:.2f}, {of.high:.2f}], p {self.p:.3f}"


def compared(families: pd.DataFrame, score: str) -> Compared:
    """AUC of ``score``, bidirectional against causal self-attention, over `of_families`."""
    encoders, decoders = sides(families, score)
    separated = separation([*encoders.values()], [*decoders.values()], list(encoders), list(decoders))
    return Compared(separated, *exchange_test(encoders, decoders), least_told(len(encoders), len(decoders)))


def sides(families: pd.DataFrame, score: str) -> Iterator[dict[str, float]]:
    """Encoders and decoders: family -> score."""
    kinds = (families[families["attention"] == kind] for kind in GROUPS.values())
    return (side.set_index("family")[score].to_dict() for side in kinds)
