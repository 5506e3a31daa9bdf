"""Scores of made models, for tests that compare families."""

import pandas as pd

from attngeo.bilinear.rows import SCORES


def made_families() -> pd.DataFrame:
    """Two families of encoders, two of decoders, one of both, one of cross-attention."""
    rows = [
        ("a1", "encoder", "A", "bidirectional", 0.5),
        ("a2", "encoder", "A", "bidirectional", 0.7),
        ("b", "encoder", "B", "bidirectional", 0.3),
        ("c", "encoder", "C", "bidirectional", 0.2),
        ("c", "decoder", "C", "causal", 0.4),
        ("d", "decoder", "D", "causal", 0.1),
        ("e", "decoder", "E", "causal", 0.0),
        ("c", "cross", "C", "cross", 0.9),
    ]
    table = pd.DataFrame(rows, columns=["model", "part", "family", "attention", "symmetry"])
    rest = {score: table["symmetry"] for score in SCORES if score != "symmetry"}
    kinds = {"modality": "text", "precision": ["", "", "4-bit", "", "", "", "", ""], "base": "", "objective": ""}
    return table.assign(n_layers=[2, 2, 1, 2, 2, 2, 2, 2], **rest, **kinds)
