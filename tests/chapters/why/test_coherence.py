"""The record of how heads add up, and the test over families with coins as its null model."""

import numpy as np
import pandas as pd
import pytest
import torch
from chapters.why.coherence import recorded
from chapters.why.coins import directions, family_ranks, tosses

from attngeo import BilinearForm
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.experiments.survey.record import coherence_row


def test_the_recorded_coherences_give_the_recorded_symmetry():
    table = recorded()
    up = table["coherence_symmetric"] * (1 + table["symmetry_of_heads"])
    down = table["coherence_skew"] * (1 - table["symmetry_of_heads"])
    assert ((up - down) / (up + down) - table["symmetry"]).abs().max() < 1e-4
    assert table["coin_rank"].between(0, 1).all() and len(set(table["model"])) >= 17


def test_the_record_is_that_of_the_weights(weights):
    again = [coherence_row(layer) for layer in open_checkpoint(weights / "sapiens-vh")]
    kept = recorded().query("model == 'Sapiens VH'")
    for name in again[0].keys() - {"part"}:
        assert [row[name] for row in again] == pytest.approx(list(kept[name]), abs=1e-5)


def test_heads_that_share_a_key_are_transposed_one_by_one():
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(n, 9, 3, generator=draw, dtype=torch.float64) for n in (4, 2))
    grouped, repeated = (
        coherence_row(AttentionLayer("decoder", 0, BilinearForm(q, keys)))
        for keys in (k, k.repeat_interleave(2, dim=0))
    )
    assert grouped["n_kv_heads"] == 2 and grouped["coin_rank"] * tosses(4) == pytest.approx(
        round(grouped["coin_rank"] * tosses(4))
    )
    assert grouped | {"n_kv_heads": 4} == pytest.approx(repeated)


def layers_of(ranks):
    """Eight layers of eight heads for each model; its ranks are drawn from the lowest share of all tosses."""
    generator = np.random.default_rng(1)
    rows = []
    for (model, part), share in ranks.items():
        places = generator.integers(0, max(1, round(share * tosses(8))), 8)
        rows += [
            {"model": model, "part": part, "layer": layer, "n_heads": 8, "coin_rank": (place + 1) / tosses(8)}
            for layer, place in enumerate(places)
        ]
    return pd.DataFrame(rows)


def test_heads_that_agree_in_decoders_alone_are_found():
    ranks = {(f"e{i}", "encoder"): 1.0 for i in range(6)} | {(f"d{i}", "decoder"): 0.02 for i in range(6)}
    found = directions(layers_of(ranks), draws=2000)
    assert found.decoders.p < 0.001 and found.decoders.rank < 0.05
    assert 0.05 < found.encoders.p < 0.95 and found.encoders.coins == pytest.approx(0.5, abs=0.01)
    assert found.compared.p < 0.01 and found.compared.side == 1


def test_heads_that_agree_nowhere_or_everywhere_are_no_difference():
    everywhere = {(f"e{i}", "encoder"): 0.1 for i in range(6)} | {(f"d{i}", "decoder"): 0.1 for i in range(6)}
    found = directions(layers_of(everywhere), draws=2000)
    assert max(found.encoders.p, found.decoders.p) < 0.001 and found.compared.p > 0.05
    found = directions(layers_of(dict.fromkeys(everywhere, 1.0)), draws=2000)
    assert min(found.encoders.p, found.decoders.p) > 0.02 and found.compared.p > 0.05


def test_families_count_once_and_layers_of_few_heads_not_at_all():
    layers = layers_of(
        {("GPT-2", "decoder"): 0.02, ("Whisper base", "decoder"): 0.02, ("Whisper base", "encoder"): 1.0}
    )
    few = pd.DataFrame([{"model": "BERT-tiny", "part": "encoder", "layer": 0, "n_heads": 2, "coin_rank": 1.0}])
    cross = layers_of({("Whisper base", "cross"): 0.5})
    copy = layers_of({("Whisper base encoder", "encoder"): 0.5})
    found = directions(pd.concat([layers, few, cross, copy]), draws=100)
    assert set(found.encoders.families) == {"Whisper"}
    assert set(found.decoders.families) == {"GPT", "Whisper"}
    medians = layers.groupby(["model", "part"])["coin_rank"].median() - 0.5 / tosses(8)
    assert found.encoders.rank == pytest.approx(medians["Whisper base", "encoder"])


def test_models_of_a_family_are_averaged_after_their_layers():
    layers = pd.DataFrame(
        [("a", "F", 0.1), ("a", "F", 0.2), ("a", "F", 0.9), ("b", "F", 0.6), ("c", "G", 0.3)],
        columns=["model", "family", "rank"],
    ).assign(part="encoder", attention="bidirectional")
    ranks = np.stack([layers["rank"], 1 - layers["rank"]])
    found = family_ranks(layers, ranks, "bidirectional")
    np.testing.assert_allclose(found["F"], [0.4, 0.6])
    np.testing.assert_allclose(found["G"], [0.3, 0.7])
