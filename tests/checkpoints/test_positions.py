"""Tables of positions: the rows read are those that the model adds, from the first position on."""

import json

import pytest
import torch
from attention_cases import CASES
from attention_oracle import Watched, load_weights, randomise
from safetensors.torch import load_file, save_file
from small_models import WIDTH, inputs_of, small_model
from transformers.initialization import no_init_weights

from attngeo import open_checkpoint, open_model
from attngeo.bilinear.positions import sinusoids
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import ABSOLUTE, Attention
from attngeo.checkpoints.position_tables import WITHOUT_TABLE
from attngeo.errors import CheckpointError

# they cannot be called as a whole, take no positions in order, resample a table, or fill it from a formula
LEFT_OUT = """cosmos3_edge_vision fsmt git glm_image_vision hunyuan_vl_vision lw_detr_vit m2m_100 seggpt
siglip2_vision_model speech_to_text time_series_transformer vit_mae xclip""".split()
TABLES = {
    name
    for name, entry in ARCHITECTURES.items()
    if isinstance(entry, tuple)
    for stack in entry
    if isinstance(stack, Attention) and stack.positions and stack.positions.table
}
HAVE = [case for case in CASES if case.model_type in TABLES and case.id not in LEFT_OUT]


def test_every_stack_says_how_it_takes_positions():
    for name, entry in ARCHITECTURES.items():
        for stack in entry if isinstance(entry, tuple) else ():
            if isinstance(stack, Attention) and stack.part != "cross":
                assert stack.positions, name
                assert stack.positions.kind in {*ABSOLUTE, *WITHOUT_TABLE}, name


@pytest.mark.parametrize("case", HAVE, ids=lambda case: case.id)
def test_a_row_that_changes_moves_its_position_alone(case, tmp_path):
    """The input of the first layer's queries, with the first row of the table changed, and with the second."""
    torch.manual_seed(0)
    with no_init_weights():
        model = (case.build or small_model(case.model_type))().double().eval()
    randomise(model)
    model.save_pretrained(tmp_path)
    checkpoint, weights = open_checkpoint(tmp_path), load_weights(tmp_path)
    torch.manual_seed(1)
    inputs = {k: v.double() if v.is_floating_point() else v for k, v in inputs_of(model).items()}
    both = zip(checkpoint.plans, open_model(model).plans, strict=True)
    for plan, live in [(plan, live) for plan, live in both if plan.layer == 0 and plan.part != "cross"]:
        rows = checkpoint.position_rows(plan)
        assert rows.shape[1] == 32
        if not plan.positions.table:
            continue
        table = next(
            p for p in model.parameters() if p.shape == weights[plan.positions.table].shape
            and torch.equal(p, weights[plan.positions.table])
        )  # fmt: skip
        flat = table.data.flatten(0, -2)
        moved = []
        for row in (None, plan.positions.first, plan.positions.first + 1):
            before = flat.clone()
            if row is not None:
                flat[row] += torch.randn_like(flat[row])
            watched = Watched(model, live)
            with torch.no_grad():
                model(**inputs)
            read = (watched.read[live.query] or watched.inputs)[0].clone()
            time_first = hasattr(watched.module, "one_sided_attn_window_size")  # as in Longformer's code
            moved.append(read.transpose(0, 1) if time_first else read)
            flat.copy_(before)
        seen = [(x - moved[0]).abs().amax((0, -1)) > 1e-9 for x in moved[1:]]
        places = [place.reshape(-1, place.shape[-1])[0].nonzero().flatten().tolist() for place in seen]
        assert len(places[0]) == len(places[1]) == 1 and places[1][0] == places[0][0] + 1, places


@pytest.mark.parametrize("name, towers", [("blip", {"text_model", "vision_model"}), ("idefics2", {"vision_model"})])
def test_towers_of_a_complete_model_have_tables_of_their_own(name, towers, tmp_path):
    small_model(name)().save_pretrained(tmp_path)
    checkpoint = open_checkpoint(tmp_path)
    added = [plan for plan in checkpoint.plans if plan.positions and plan.positions.kind in ABSOLUTE]
    assert {plan.module.partition(".")[0] for plan in added} == towers
    for plan in added:
        assert plan.positions.table.partition(".")[0] == plan.module.partition(".")[0]
        assert checkpoint.position_rows(plan).shape[1] == WIDTH


def test_narrower_rows_enter_by_their_map(tmp_path):
    torch.manual_seed(0)
    small_model("albert")().save_pretrained(tmp_path)
    checkpoint, weights = open_checkpoint(tmp_path), load_weights(tmp_path)
    table, by = (
        weights[f"{name}.weight"] for name in ("embeddings.position_embeddings", "encoder.embedding_hidden_mapping_in")
    )
    assert table.shape[1] == 8 and torch.allclose(
        checkpoint.position_rows(checkpoint.plans[0]), (table.double() @ by.double().T)
    )
    gained = checkpoint.position_rows(checkpoint.plans[0], torch.arange(8.0))
    assert torch.allclose(gained, (table.double() * torch.arange(8.0)) @ by.double().T)


def test_a_table_that_is_unused_of_another_width_or_not_there(tmp_path, as_user):
    small_model("bert")().save_pretrained(tmp_path)
    name, file = "embeddings.position_embeddings.weight", tmp_path / "model.safetensors"
    tensors, config = load_file(file), json.loads((tmp_path / "config.json").read_text())
    for kind, left, why in (
        ("relative_key", {name: tensors[name]}, "keys for each distance"),
        ("absolute", {name: tensors[name][:, :16].contiguous()}, "width 16"),
        ("absolute", {}, "do not contain the learned"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | {"position_embedding_type": kind}))
        save_file({k: v for k, v in tensors.items() if k != name} | left, file)
        with pytest.raises(CheckpointError, match=why):
            (checkpoint := open_checkpoint(tmp_path)).position_rows(checkpoint.plans[0])
    (tmp_path / "positions").mkdir()
    save_file({name: tensors[name]}, tmp_path / "positions" / "embeddings.safetensors")
    checkpoint = open_checkpoint(tmp_path)
    assert torch.equal(checkpoint.position_rows(checkpoint.plans[0]), tensors[name].double())


def test_patches_alone_and_whispers_formula(tmp_path):
    small_model("vit")().save_pretrained(tmp_path / "vit")
    checkpoint = open_checkpoint(tmp_path / "vit")
    name, tensors = checkpoint.plans[0].positions.table, load_file(tmp_path / "vit" / "model.safetensors")
    assert torch.equal(checkpoint.position_rows(checkpoint.plans[0]), tensors[name][0, 1:].double())
    save_file(tensors | {name: tensors[name][:, 1:].contiguous()}, tmp_path / "vit" / "model.safetensors")
    checkpoint = open_checkpoint(tmp_path / "vit")
    assert len(checkpoint.position_rows(checkpoint.plans[0])) == 4
    small_model("whisper")().save_pretrained(tmp_path / "whisper")
    file = tmp_path / "whisper" / "model.safetensors"
    save_file({k: v for k, v in load_file(file).items() if "embed_positions" not in k}, file)
    checkpoint = open_checkpoint(tmp_path / "whisper")
    plan = checkpoint.plans[0]
    assert plan.positions.computed and torch.equal(checkpoint.position_rows(plan), sinusoids(1500, 32))
