import json

import numpy as np
import pytest
import torch
from small_runs import assert_same_curve, small_config
from transformers import BertForMaskedLM

from attngeo import open_checkpoint, score, score_heads
from attngeo.errors import ParameterError
from attngeo.experiments.runs.record import RunError, read_run
from attngeo.experiments.training.batches import Batches, Blocks
from attngeo.experiments.training.config import TrainingConfig
from attngeo.experiments.training.run_folder import CONTENT
from attngeo.experiments.training.train import prepare_text, train

HISTORY = ["step", "tokens", "seconds", "loss", "held_out_loss", "learning_rate"]
WAYS = ["symmetry", "directionality", "directionality_released", "directionality_tables"]
COHERENCE = ["symmetry_of_heads", "coherence_symmetric", "coherence_skew", "coin_rank"]
OCTAVES = [f"position_{name}_{period}" for period in (2, 4, 8, 16) for name in ("symmetry", "share")]
POSITIONS = ["position_symmetry", *OCTAVES]


@pytest.fixture(scope="module")
def run(unbroken):
    """The folder of a finished run, and the run."""
    return unbroken, read_run(unbroken)


def test_a_run_records_loss_and_scores_of_every_layer_and_head(run):
    folder, found = run
    assert list(found.history["step"]) == [0, 3, 6, 9, 12]
    assert list(found.history.columns) == HISTORY
    columns = ["step", "layer", "head", *WAYS, "n_rows_over", "n_cols_over", *COHERENCE, *POSITIONS]
    assert list(found.scores.columns) == columns
    assert set(found.scores.columns[found.scores.isna().any()]) == {*COHERENCE}, "single heads have no coherence"
    assert list(found.history["tokens"]) == [128 * step for step in found.history["step"]]
    assert list(found.history["held_out_loss"].notna()) == [True, False, True, False, True]
    assert found.history["loss"].isna().tolist() == [True, False, False, False, False]
    assert len(found.scores) == 5 * 2 * 3 and set(found.scores["head"]) == {-1, 0, 1}
    assert found.scores["symmetry"].between(-1, 1).all()
    assert len(found.layer_scores()) == 10
    assert {p.name for p in folder.iterdir()} == {*CONTENT} - {"checkpoints"}
    assert not list(folder.rglob("*.bin")) and not list(folder.rglob("*.pt*"))  # no pickles


def test_the_record_says_what_was_run_and_nothing_of_this_machines_folders(run, text):
    about = run[1].about
    assert about["status"] == "finished" and about["steps_done"] == 12 and about["tokens"] == 12 * 128
    assert about["corpus"]["sources"][0]["file"].endswith("text.txt") and sum(about["corpus"]["documents"]) == 60
    assert {"cpu", "cores", "threads", "device"} <= set(about["hardware"])
    assert {"attngeo", "torch", "transformers", "commit"} <= set(about["versions"])
    assert about["tokens_per_second"] > 0 and about["flops_per_step"] > 0
    elsewhere = {key: value for key, value in about.items() if key != "config"}
    assert str(text.parent.parent) not in json.dumps(elsewhere)


def test_the_last_scores_and_pictures_are_those_of_the_saved_model(run):
    folder, found = run
    last = found.scores[found.scores["step"] == 12]
    assert set(found.pictures) == {(0, 0), (0, 12), (1, 0), (1, 12)}
    for layer in open_checkpoint(folder / "model"):
        rows = last[last["layer"] == layer.layer]
        whole, heads = score(layer.form), score_heads(layer.form)
        for name in WAYS:
            measured = [float(getattr(whole, name)), *getattr(heads, name).tolist()]
            np.testing.assert_array_equal(rows[name], measured)
        np.testing.assert_array_equal(rows["n_cols_over"], [int(whole.n_columns_over), *heads.n_columns_over.tolist()])
        m, shown = layer.form.dense(), found.pictures[layer.layer, 12]
        assert shown.shape == (16, 16) and abs(shown).max() <= 1
        inside = (abs(shown) < 0.99) & (abs(shown) > 0.1)
        scale = m.numpy()[inside] / shown[inside]
        assert scale.std() < 0.05 * scale.mean()


def test_the_held_out_loss_is_that_of_the_saved_model_on_text_it_has_not_seen(run, text):
    folder, found = run
    _, vocabulary, tokens = prepare_text(small_config(text))
    model = BertForMaskedLM.from_pretrained(folder / "model").eval()
    targets = Batches(Blocks(tokens.held_out, 16, None), "mlm", vocabulary)
    batch = targets.at(range(20))
    with torch.no_grad():
        logits = model(batch["input_ids"]).logits
    chosen = logits.gather(1, batch["positions"][..., None].expand(-1, -1, logits.shape[-1]))
    expected = torch.nn.functional.cross_entropy(chosen.flatten(0, 1), batch["labels"].flatten())
    assert found.history["held_out_loss"].iloc[-1] == pytest.approx(float(expected), rel=1e-5)
    assert found.history["held_out_loss"].iloc[-1] < found.history["held_out_loss"].iloc[0] - 0.2


@pytest.mark.parametrize("objective", ["clm", "released-decoder"])
def test_decoders_train(text, tmp_path, objective):
    found = train(small_config(text, objective=objective, picture_every=6), tmp_path / "a")
    assert set(found.pictures) == {(layer, step) for layer in (0, 1) for step in (0, 6, 12)}
    assert found.history["held_out_loss"].iloc[-1] < found.history["held_out_loss"].iloc[0] - 0.2
    assert {layer.part for layer in open_checkpoint(tmp_path / "a" / "model")} == {"decoder"}


def test_equal_configurations_give_equal_curves_and_other_seeds_do_not(run, text, tmp_path, monkeypatch):
    heard, taken, real = [], [], Batches.at

    def at(batches, places, *device):
        if batches.blocks.seed is not None:  # not the held-out ones
            taken.extend(places)
        return real(batches, places, *device)

    monkeypatch.setattr(Batches, "at", at)
    assert_same_curve(run[1], train(small_config(text), tmp_path / "again", listen=heard.append))
    assert taken == [*range(12 * 8)]  # a step knows its data from its number alone
    assert [row["step"] for row in heard] == list(range(13))
    assert {"loss", "symmetry", "directionality", "tokens", "seconds"} <= set(heard[3])
    other = train(small_config(text, seed=1), tmp_path / "other")
    assert (other.history["loss"] != run[1].history["loss"])[1:].all()


def test_records_of_every_step_give_the_curve_of_the_others(text, tmp_path):
    whole, often = (train(small_config(text, steps=4, record_every=n), tmp_path / f"{n}") for n in (4, 1))
    last = [r.scores[r.scores["step"] == 4]["symmetry"].to_numpy() for r in (often, whole)]
    np.testing.assert_array_equal(*last)
    assert float(often.history["loss"][1:].mean()) == pytest.approx(float(whole.history["loss"][1]), rel=1e-5)


def test_an_initialisation_and_a_constraint_reach_the_model(run, text, tmp_path):
    start = {"init": "symmetric", "constraint": "symmetric", "gamma": 1.0, "steps": 1}
    found = train(small_config(text, **start), tmp_path / "symmetric")
    assert found.first("symmetry") == pytest.approx(1, abs=1e-6)
    skew = train(small_config(text, constraint="skew", gamma=1.0), tmp_path / "skew")
    assert skew.last("symmetry") < run[1].last("symmetry") - 1
    # the recorded loss is that of prediction alone: the constraint would add 2 at the start
    assert skew.history["loss"].iloc[1] == pytest.approx(run[1].history["loss"].iloc[1], abs=0.05)


def test_a_folder_with_a_run_is_not_overwritten_and_a_finished_run_resumes_to_itself(run, text, tmp_path):
    with pytest.raises(RunError, match="--resume"):
        train(small_config(text), run[0])
    assert_same_curve(run[1], train(small_config(text), run[0], resume=True))
    with pytest.raises(RunError, match="--resume"):
        train(small_config(text), tmp_path, resume=True)
    (tmp_path / "killed" / "checkpoints").mkdir(parents=True)  # before its first record
    train(small_config(text, steps=1), tmp_path / "killed")
    for name in ("model/weights", "checkpoints/mine", "history.parquet"):
        mine = tmp_path / name.replace("/", "-") / name
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        with pytest.raises(RunError, match=rf"\b{name.split('/')[0]}\b"):
            train(small_config(text), tmp_path / name.replace("/", "-"))
        assert mine.read_text() == "mine"


@pytest.mark.parametrize("change", [{"dropout": 7.0}, {"heads": 0}, {"lr": float("nan")}])
def test_a_configuration_made_in_python_is_checked_too(change):
    """Wrong types as well; in tests beartype refuses these before."""
    with pytest.raises(ParameterError, match=f"{next(iter(change))} is .*it must be"):
        TrainingConfig(**change)


def test_batches_that_no_device_can_share_are_refused(text, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(ParameterError, match=r"batch_size 8\b.*\b3\b"):
        train(small_config(text), tmp_path / "a")
    monkeypatch.setenv("WORLD_SIZE", "1")
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="cuda"):
            train(small_config(text, device="cuda"), tmp_path / "a")
    assert not (tmp_path / "a" / "run.json").exists()


def test_a_model_trained_with_scaled_logits_is_saved_as_one_without(run, text, tmp_path):
    """A factor gives another curve, and the saved model has it in its queries."""
    folder, plain = run
    warm = train(small_config(text, logit_scale=50.0), tmp_path / "run")
    assert not plain.history["loss"].dropna().equals(warm.history["loss"].dropna())
    assert warm.scores[warm.scores["step"] == 0].equals(plain.scores[plain.scores["step"] == 0])
    read = [BertForMaskedLM.from_pretrained(path / "model") for path in (folder, tmp_path / "run")]
    norms = [model.bert.encoder.layer[0].attention.self.query.weight.norm().item() for model in read]
    assert norms[1] > 20 * norms[0]
