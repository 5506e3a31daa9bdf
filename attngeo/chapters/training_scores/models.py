"""Table S1: the models that were trained; Section 4.1: which of them see which side."""

from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from attngeo.paper import published
from attngeo.paper.checks import Judgement, check, compare, exact

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
    from attngeo.training.bert import bert_config  # loads transformers
    from attngeo.training.choices import PRESETS

    printed = published.printed_table("S1").set_index("setting")
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


@check(table_s1_beside_presets)
def table_s1_is_what_the_presets_build(rows: pd.DataFrame) -> Judgement:
    """Every setting of Table S1 is that of the models built here."""
    equal = {c: sum(map(_equal, rows[f"{c}, printed"], rows[f"{c}, ours"])) for c in COLUMNS}
    return Judgement(*(exact("equal", n, len(rows), 0, preset=COLUMNS[c]) for c, n in equal.items()))


class AttentionOfBoth(NamedTuple):
    """Attention weights of an encoder and of a decoder with the same random weights, (layers, batch, heads, N, N)."""

    encoder: Tensor
    decoder: Tensor


def attention_of_both(seed: int = 0) -> AttentionOfBoth:
    """Of small models on random tokens."""
    from attngeo.training.bert import Decoder, Encoder, bert_config  # loads transformers
    from attngeo.training.choices import Shape

    shape = Shape(layers=2, d_model=32, heads=2, d_ff=64, positions=16, vocab_size=50)
    found = []
    for model_type, causal in ((Encoder, False), (Decoder, True)):
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            model = model_type(bert_config(shape, causal, attention="eager")).eval()
            tokens = torch.randint(5, shape.vocab_size, (4, shape.positions))
            found.append(torch.stack(model.bert(tokens, output_attentions=True).attentions))
    return AttentionOfBoth(*found)


@check(attention_of_both)
def no_encoder_is_trained_unidirectionally(attention: AttentionOfBoth) -> Judgement:
    """Section 4.1 has encoders "training unidirectionally"; they give attention to later tokens, decoders none."""
    later = [float(weights.triu(diagonal=1).sum(dim=-1).mean()) for weights in attention]  # rows sum to 1
    return Judgement(compare("encoder", later[0], ">", 0, 0.1), exact("decoder", later[1], 0, 0))


def _equal(printed: str, ours: str) -> bool:
    try:
        return float(printed) == float(ours)
    except ValueError:
        return printed == ours
