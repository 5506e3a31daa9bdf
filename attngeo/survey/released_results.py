"""What the paper's authors released about pretrained models, and what is known against it.

released_results.csv   each released result: its model, its printed row, its figure, what is wrong with it
defects.csv            each code of what is wrong: its meaning, and whether the result still counts as evidence
"""

import pandas as pd

from attngeo.claims.published import released_medians
from attngeo.survey.models import RESULTS, registry, rows_of

_DEFECTS = list(rows_of("defects.csv"))
DEFECTS = {row["code"]: row["meaning"] for row in _DEFECTS}
WORDS = {row["code"]: row["short"] for row in _DEFECTS if row["short"]}  # of those that Figure 2 shows
_NOT_COUNTED = {row["code"] for row in _DEFECTS if not row["counted"]}


def released_results() -> pd.DataFrame:
    """Every result that the paper's authors released: what it is about, what is known against it, its medians.

    Columns of released_results.csv (model is empty where there is none) and of `paper.published.released_medians`,
    modality, family, attention, objective of the model, and ``counted``: whether it is a distinct, rightly extracted
    and trained model.

    Raises:
        CheckoutError: a table cannot be read.
    """
    results = pd.DataFrame(rows_of(RESULTS))
    kinds = pd.DataFrame(registry()).rename(columns={"name": "model"})
    kinds = kinds[["model", "part", "modality", "family", "attention", "objective", "positions"]]
    joined = results.merge(released_medians(), on=["file", "key"], validate="1:1")
    joined = joined.merge(kinds, on=["model", "part"], how="left", validate="m:1")
    return joined.assign(counted=[not _NOT_COUNTED & set(d.split()) for d in joined["defects"]])
