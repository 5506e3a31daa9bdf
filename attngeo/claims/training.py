"""Table S1: the models that were trained."""

import pandas as pd

from attngeo import published
from attngeo.claims.result import Result, Verdict, claim, exact

SETTINGS = {  # row of Table S1: the setting of a transformers BertConfig
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "attention_heads": "num_attention_heads",
    "hidden_layers": "num_hidden_layers",
    "attention_dropout": "attention_probs_dropout_prob",
    "hidden_activation": "hidden_act",
    "hidden_dropout": "hidden_dropout_prob",
    "layer_norm_epsilon": "layer_norm_eps",
    "max_position_embeddings": "max_position_embeddings",
    "position_embedding_type": "position_embedding_type",
    "vocabulary_size": "vocab_size",
}
COLUMNS = {"bert": "base", "bert_mini": "mini"}  # column of Table S1: our preset


def table_s1_beside_presets() -> pd.DataFrame:
    """Each row of Table S1 with what our presets build: columns printed and ours, for both models, as text."""
    from attngeo.models import PRESETS, bert_config  # loads transformers

    printed = published.table("S1").set_index("setting")
    configs = {column: bert_config(PRESETS[preset], causal=False) for column, preset in COLUMNS.items()}
    rows = []
    for setting, name in SETTINGS.items():
        row = {"setting": setting.replace("_", " ")}
        for column, config in configs.items():
            # transformers 5 knows absolute positions only, and dropped the setting
            row[f"{column}, printed"] = printed.loc[setting, column]
            row[f"{column}, ours"] = f"{getattr(config, name, 'absolute')}"
        rows.append(row)
    return pd.DataFrame(rows)


@claim
def table_s1_is_what_the_presets_build(changed: dict[str, str] | None = None) -> Result:
    """Every setting of Table S1 is that of the models built here.

    Args:
        changed: printed values to put in the place of those of column ``bert``, by setting.
    """
    rows = table_s1_beside_presets().set_index("setting")
    rows["bert, printed"] = rows["bert, printed"].where(~rows.index.isin(changed or {}), rows.index.map(changed or {}))
    comparisons = [
        exact(
            f"settings of {preset} equal to those printed",
            sum(map(_equal, rows[f"{column}, printed"], rows[f"{column}, ours"])),
            len(rows),
            0.0,
        )
        for column, preset in COLUMNS.items()
    ]
    return Result(
        "Table S1",
        "",
        "configurations of the trained models",
        Verdict.HOLDS,
        tuple(comparisons),
        chapter="training_scores",
    )


def _equal(printed: str, ours: str) -> bool:
    try:
        return float(printed) == float(ours)
    except ValueError:
        return printed == ours
