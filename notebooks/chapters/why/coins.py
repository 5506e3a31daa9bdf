"""Do the heads of decoders agree on a direction, and those of encoders not? A test over families of released models.

If each head of a layer were transposed by the toss of a coin, the rank of the layer's s among all tosses
(`attngeo.bilinear.coherence`) would be uniform, because every toss would be as likely as the observed one. The rank is
lowest where all heads point the same way. We place each rank in the middle of its toss, so that its mean by coins is
exactly 1/2 for any number of heads, and take the median rank over the layers of a model, the mean over the models
of a family, and the mean over families.

The reading to be tested says that the heads of a decoder agree on who asks and who answers, and that the heads of an
encoder point left or right as if by coins. Three findings would count against it, in the order of their weight:

1. The mean rank of the families of decoders is not lower than coins give (p of 0.01 or more): then their heads do not
   agree.
2. The ranks of encoders and decoders cannot be told apart (`attngeo.experiments.survey.families.exchange_test`, p of
   0.05 or more): then the objective makes no difference to the agreement.
3. The mean rank of the families of encoders is lower than coins give (p below 0.05): then the heads of encoders agree
   as well, and "as if by coins" is refuted for these models. What is left is that they agree less.

Layers with fewer than `FEWEST_HEADS` heads are left out, since their ranks have too few values. This rule and the three
findings were written down before the test was computed, but not before the ranks of single models were known, so the
test has the same weights as the observation that led to it and is not a prediction.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from attngeo.bilinear.coherence import EXACT_HEADS, TOSSES
from attngeo.experiments.survey.families import GROUPS, Compared, compared, distinct, with_kinds

FEWEST_HEADS = 3  # with three heads the rank has four values
DRAWS = 20_000  # draws of the ranks that coins give


@dataclass(frozen=True)
class AmongCoins:
    """The mean rank of the families of one group beside what coins give."""

    rank: float  # mean over families
    families: dict[str, float]  # the mean rank of each family
    coins: float  # mean over the draws, about 1/2
    p: float  # share of draws, the observed one among them, with a mean rank that is not above the observed one


@dataclass(frozen=True)
class Directions:
    """Whether heads agree on a direction: encoders and decoders against coins, and against each other."""

    encoders: AmongCoins
    decoders: AmongCoins
    compared: Compared  # the ranks of encoders against those of decoders


def directions(layers: pd.DataFrame, fewest_heads: int = FEWEST_HEADS, draws: int = DRAWS) -> Directions:
    """The test of the module's head, over the layers of `chapters.why.coherence`.

    Weights that occur twice count once, and cross-attention does not count.

    Args:
        layers: model, part, n_heads and coin_rank of each layer.
        fewest_heads: of a layer that counts.
        draws: of ranks by coins.
    """
    counted = with_kinds(distinct(layers[layers["n_heads"] >= fewest_heads]).reset_index(drop=True))
    n_tosses = counted["n_heads"].map(tosses).to_numpy()
    observed = counted["coin_rank"].to_numpy() - 0.5 / n_tosses
    places = np.random.default_rng(0).integers(0, n_tosses, (draws, len(counted)))
    by_coins = (places + 0.5) / n_tosses
    encoders, decoders = (
        _among_coins(family_ranks(counted, observed[None], kind), family_ranks(counted, by_coins, kind))
        for kind in GROUPS.values()
    )
    return Directions(encoders, decoders, compared(_table(encoders, decoders), "rank"))


def names_of_families(layers: pd.DataFrame) -> dict[tuple[str, str], str]:
    """What to call a family in a figure, by part and family: its model if there is one, else ``BERT (3 models)``."""
    kinds = with_kinds(distinct(layers[layers["n_heads"] >= FEWEST_HEADS]).reset_index(drop=True))
    models = kinds.groupby(["part", "family"])["model"].unique()
    return {key: own[0] if len(own) == 1 else f"{key[1]} ({len(own)} models)" for key, own in models.items()}


def tosses(n_heads: int) -> int:
    """The number of coin tosses among which `head_coherence` ranks a layer: ``2^(H - 1)``, or `TOSSES` drawn ones."""
    return 2 ** (n_heads - 1) if n_heads <= EXACT_HEADS else TOSSES


def family_ranks(
    layers: pd.DataFrame, ranks: Float[np.ndarray, "draws layers"], attention: str
) -> dict[str, Float[np.ndarray, " draws"]]:
    """For each family with that kind of attention, the mean over its models of their median ranks over layers.

    Args:
        layers: model, part, family and attention of each layer.
        ranks: of the layers, in each draw.
        attention: bidirectional or causal.
    """
    by_family: dict[str, list[np.ndarray]] = {}
    chosen = layers[layers["attention"] == attention]
    for (family, _, _), rows in chosen.groupby(["family", "model", "part"], sort=False).groups.items():
        by_family.setdefault(family, []).append(np.median(ranks[:, rows], axis=1))
    return {family: np.mean(medians, axis=0) for family, medians in by_family.items()}


def _among_coins(observed: dict[str, np.ndarray], by_coins: dict[str, np.ndarray]) -> AmongCoins:
    families = {family: float(rank[0]) for family, rank in observed.items()}
    rank = float(np.mean([*families.values()]))
    drawn = np.mean([*by_coins.values()], axis=0)
    p = (1 + int((drawn <= rank + 1e-12).sum())) / (1 + len(drawn))
    return AmongCoins(rank, families, float(drawn.mean()), p)


def _table(encoders: AmongCoins, decoders: AmongCoins) -> pd.DataFrame:
    """A row for each family and kind of attention, as `compared` takes them."""
    rows = [
        {"family": family, "attention": kind, "rank": rank}
        for kind, side in zip(GROUPS.values(), (encoders, decoders), strict=True)
        for family, rank in side.families.items()
    ]
    return pd.DataFrame(rows)
