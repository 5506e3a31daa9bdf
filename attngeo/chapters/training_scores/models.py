"""Table S1: the models that were trained; Section 4.1: which of them see which side."""

import pandas as pd
import torch

from attngeo.paper import published
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact

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
    from attngeo.training.bert import PRESETS, bert_config  # loads transformers

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


def trained_widths() -> dict[int, int]:
    """Width of the trained models by their number of layers (Table S1)."""
    printed = published.table("S1").set_index("setting")
    return {int(printed.loc["hidden_layers", c]): int(printed.loc["hidden_size", c]) for c in COLUMNS}


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


@claim
def no_encoder_is_trained_unidirectionally(encoder_looks_left_only: bool = False) -> Result:
    """Section 4.1 has encoders "training unidirectionally"; an encoder gives attention to later tokens, a decoder none.

    Args:
        encoder_looks_left_only: whether the model in the place of the encoder is given a decoder's mask.
    """
    words = "attention to later tokens, share of all, mean over the heads of"
    return Result(
        "Section 4.1",
        "(training unidirectionally)",
        "encoders are among the models trained unidirectionally",
        Verdict.CORRECTED,
        (
            Comparison(f"{words} an encoder", _share_on_later_tokens(encoder_looks_left_only), ">", 0.0, 0.1),
            Comparison(f"{words} a decoder", _share_on_later_tokens(causal=True), "=", 0.0, 0.0),
        ),
        printed="When training unidirectionally, both encoder and decoder models show a higher degree of directionality"
        " for late layers.",
        corrected="Encoders are trained bidirectionally (Definition S1.3; Appendix S2.3: they predict masked tokens):"
        " the models of Figure 3 (d) are encoders and decoders, each trained with its own objective.",
        flaw=Flaw.MISPRINT,
        chapter="training_scores",
    )


def _share_on_later_tokens(causal: bool, seed: int = 0) -> float:
    """Of the attention of a small model with random weights."""
    from attngeo.training.bert import Decoder, Encoder, Shape, bert_config  # loads transformers

    shape = Shape(layers=2, d_model=32, heads=2, d_ff=64, positions=16, vocab_size=50)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        model = (Decoder if causal else Encoder)(bert_config(shape, causal, attention="eager")).eval()
        tokens = torch.randint(5, shape.vocab_size, (4, shape.positions))
        weights = torch.stack(model.bert(tokens, output_attentions=True).attentions)  # rows sum to 1
    return float(weights.triu(diagonal=1).sum(dim=-1).mean())


def _equal(printed: str, ours: str) -> bool:
    try:
        return float(printed) == float(ours)
    except ValueError:
        return printed == ours
