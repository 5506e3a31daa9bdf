import re

import pytest
import torch
from small_models import small_model
from transformers import LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

from attngeo import ScoreCallback, open_model, symmetry_score
from attngeo.errors import CheckpointError, ParameterError


def trainer_of(model, folder, callbacks=(), **options) -> Trainer:
    """Three kinds of logging at once would be noise: what is logged is what `Heard` hears."""
    settings = {"max_steps": 5, "logging_steps": 2, "report_to": "none", "save_strategy": "no", "disable_tqdm": True}
    arguments = TrainingArguments(str(folder), use_cpu=True, dataloader_pin_memory=False, **settings | options)
    blocks = [{"input_ids": ids, "labels": ids} for ids in torch.randint(40, (40, 6))]
    return Trainer(model, arguments, train_dataset=blocks, callbacks=list(callbacks))


class Heard(TrainerCallback):
    """Stands where TensorBoard's and W&B's callbacks stand."""

    def __init__(self):
        self.logs = {}

    def on_log(self, args, state, control, logs, **others):
        self.logs.setdefault(state.global_step, []).append(dict(logs))


@pytest.fixture
def llama():
    torch.manual_seed(0)
    return small_model("llama", LlamaForCausalLM)()


@pytest.mark.parametrize("added", [True, False])
def test_scores_go_where_the_loss_goes_and_the_loss_still_goes_there(added, llama, tmp_path):
    heard = Heard()
    trainer = trainer_of(llama, tmp_path, [heard] if added else [heard, ScoreCallback(every=2)])
    first = [symmetry_score(layer.form) for layer in open_model(llama)]
    if added:
        trainer.add_callback(ScoreCallback(trainer, every=2))
    trainer.train()
    scored = {step: log for step, logs in heard.logs.items() for log in logs if "symmetry/decoder/median" in log}
    assert list(scored) == [0, 2, 4, 5]  # the last step too
    assert [step for step, logs in heard.logs.items() if any("loss" in log for log in logs)] == [2, 4]
    assert {name for name in scored[0] if "/" in name} == {
        f"{score}/decoder/{of}" for score in ("symmetry", "directionality") for of in ("median", "layer_0", "layer_1")
    }
    assert [scored[0][f"symmetry/decoder/layer_{n}"] for n in (0, 1)] == first
    last = [symmetry_score(layer.form) for layer in open_model(llama)]
    assert [scored[5][f"symmetry/decoder/layer_{n}"] for n in (0, 1)] == last != first
    assert scored[5]["symmetry/decoder/median"] == pytest.approx(sum(last) / 2)
    trainer.callback_handler.on_train_begin(
        trainer.args, trainer.state, trainer.control
    )  # of one that goes on from here
    history = [row for row in trainer.state.log_history if "symmetry/decoder/median" in row]
    assert [row["step"] for row in history] == [0, 2, 4, 5]


def test_a_layer_of_zero_queries_is_not_logged(llama, tmp_path):
    torch.nn.init.zeros_(llama.model.layers[1].self_attn.q_proj.weight)
    trainer = trainer_of(llama, tmp_path, [ScoreCallback()], max_steps=1)
    trainer.train()
    first = trainer.state.log_history[0]
    assert "symmetry/decoder/layer_1" not in first
    assert first["symmetry/decoder/median"] == first["symmetry/decoder/layer_0"]


def test_training_is_the_same_with_and_without(llama, tmp_path):
    weights = {name: weight.clone() for name, weight in llama.state_dict().items()}
    results = []
    for scored in (False, True):
        llama.load_state_dict(weights)
        torch.manual_seed(1)
        trainer = trainer_of(llama, tmp_path, seed=3)
        if scored:
            trainer.add_callback(ScoreCallback(trainer, every=1, per_layer=False))
        trainer.train()
        results.append(torch.cat([p.detach().flatten().clone() for p in llama.parameters()]))
    assert torch.equal(*results)
    names = {name for row in trainer.state.log_history for name in row if "/" in name}
    assert names == {"symmetry/decoder/median", "directionality/decoder/median"}


def test_bad_arguments_are_refused(llama, tmp_path, as_user):
    for every in (0, 2.5, "10", True):
        with pytest.raises(ParameterError, match=re.escape(repr(every))):
            ScoreCallback(trainer_of(llama, tmp_path), every=every)
    with pytest.raises(ParameterError, match="callbacks="):
        ScoreCallback(100)
    with pytest.raises(ParameterError, match="not called by a Trainer"):
        ScoreCallback(every=100).on_train_begin(None, None, None)


def test_a_model_that_cannot_be_scored_stops_before_the_first_step(llama, tmp_path):
    llama.config.num_attention_heads = 5
    heard = Heard()
    trainer = trainer_of(llama, tmp_path, [heard])
    trainer.add_callback(ScoreCallback(trainer))
    with pytest.raises(CheckpointError, match="num_attention_heads"):
        trainer.train()
    assert not heard.logs and trainer.state.global_step == 0
