"""The readers of checkpoints, given files that are damaged or made by somebody else."""

import json

import pytest
import torch
from damaged_files import BYTES, KEPT, changed, damage, few, value_or_sentence
from gguf_writer import write_gguf
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from attngeo import open_checkpoint
from attngeo.checkpoints.tensorfiles import open_tensors

LAYER = "bert.encoder.layer.0.attention.self."
HEADER = {
    f"{LAYER}{name}.weight": {"dtype": "F32", "shape": [4, 4], "data_offsets": [64 * i, 64 * i + 64]}
    for i, name in enumerate(("query", "key", "value"))
}
CONFIGS = [
    {"model_type": "bert", "num_attention_heads": 2, "num_hidden_layers": 2, "quantization_config": None},
    {"model_type": "llava", "text_config": {"model_type": "bert", "num_attention_heads": 2}, "vision_config": {}},
    {"model_type": "swin", "num_heads": [2], "depths": [2], "quantization_config": {"weight_block_size": [4, 4]}},
]


def tensors():
    names = ("bert.encoder.layer.{}.attention.self.{}.weight", "encoder.layers.0.blocks.{}.attention.self.{}.weight")
    return {name.format(i, part): torch.randn(8, 8) for name in names for i in range(2) for part in ("query", "key")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@few
@given(header=changed(HEADER))
def test_a_header_of_safetensors_is_read_as_the_library_of_safetensors_reads_it(folder, header):
    text = json.dumps(header).encode()
    file = folder / "header.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + bytes(192))
    opened = value_or_sentence(lambda: open_tensors(file))
    try:
        with safe_open(file, "pt") as whole:
            assert set(opened.shapes) == set(whole.keys())
    except SafetensorError:
        assert opened is None


@few
@given(config=st.sampled_from(CONFIGS).flatmap(changed))
def test_configurations(folder, config):
    if not (folder / "model.safetensors").exists():
        save_file(tensors(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    value_or_sentence(lambda: list(open_checkpoint(folder)))


@pytest.mark.parametrize("zipped", [True, False], ids=["torch", "torch before 1.6"])
@few
@given(replaced=BYTES, kept=KEPT)
def test_files_of_torch(folder, zipped, replaced, kept):
    file = folder / "whole.bin"
    torch.save(tensors(), file, _use_new_zipfile_serialization=zipped)
    damage(file, replaced, kept)
    opened = value_or_sentence(lambda: open_tensors(file))
    for name in opened.shapes if opened else ():
        value_or_sentence(lambda name=name: opened.read(name))


@few
@given(replaced=BYTES, kept=KEPT)
def test_files_of_gguf(folder, replaced, kept):
    file = folder / "model.gguf"
    weights = {f"blk.0.attn_{part}.weight": torch.randn(32, 32).numpy() for part in "qk"}
    write_gguf(file, "llama", {"attention.head_count": 2}, weights)
    damage(file, replaced, kept)
    value_or_sentence(lambda: list(open_checkpoint(file)))
