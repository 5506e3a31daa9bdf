"""What the page counts: medians outside their band of random weights, layers and heads, heads that share keys."""

import pandas as pd

from attngeo.forms.null_laws import LEVEL
from attngeo.forms.scores import SUM


def outside(banded: pd.DataFrame) -> pd.DataFrame:
    """Stacks `with_kinds`, beside their `null_bands`, and whether their median d lies outside the band.

    Columns ``definition`` (Def. 3.2), ``tables`` (as in Table S3) and ``columns``: both, and columns dominate by both.
    """
    found = banded.assign(
        definition=banded["directionality"].abs() > banded["d_median"],
        tables=banded["directionality_tables"].abs() > banded["d_tables_median"],
    )
    below = (banded[["directionality", "directionality_tables"]] < 0).all(axis=1)
    return found.assign(columns=found["definition"] & found["tables"] & below)


def encoders_with_bands_of_decoders(found: pd.DataFrame) -> pd.DataFrame:
    """Encoders of `outside` whose bands are no wider than the widest of a decoder in which columns dominate."""
    bands = ["d_median", "d_tables_median"]
    widest = found[(found["attention"] == "causal") & found["columns"]][bands].max()
    return found[(found["attention"] == "bidirectional") & (found[bands] <= widest).all(axis=1)]


def expected_outside(n: int) -> float:
    """How many of ``n`` stacks of random weights lie outside their band, on average."""
    return LEVEL * n


def by_kind(found: pd.DataFrame) -> str:
    """``encoders 2 (3) of 11, ...``: `outside` by Def. 3.2 and, in brackets, as in Table S3."""
    kinds = {"bidirectional": "encoders", "causal": "decoders", "cross": "cross-attention"}
    own = {words: found[found["attention"] == kind] for kind, words in kinds.items()}
    return ", ".join(
        f"{words} {rows['definition'].sum()} ({rows['tables'].sum()}) of {len(rows)}" for words, rows in own.items()
    )


def grouped_keys(scores: pd.DataFrame) -> dict[str, str]:
    """Models of a score table in which query heads share key heads: model -> ``9 query heads on 3 key heads``."""
    layers, heads = scores[scores["head"] == SUM], scores[scores["head"] != SUM]
    queries = heads.groupby(["model", "part"])["head"].nunique()
    keys = layers.assign(keys=layers["rank"] // layers["d_head"]).groupby(["model", "part"])["keys"].first()
    return {
        model: f"{n} query heads on {keys[model, part]} key heads"
        for (model, part), n in queries.items()
        if n > keys[model, part]
    }


def sizes(stacks: pd.DataFrame, scores: pd.DataFrame) -> list[str]:
    """``NAME (layers: 1, heads: 1)`` of stacks, heads by the rows of a score table."""
    heads = scores[scores["head"] != SUM].groupby(["model", "part"])["head"].nunique()
    return [
        f"{row.model} (layers: {row.n_layers}, heads: {heads.get((row.model, row.part), 'unknown')})"
        for row in stacks.itertuples()
    ]
