"""What reading q and k costs beside loading the model (``make benchmarks``)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

# the shape of a Llama with 1.2 billion parameters: 2.4 GB in bfloat16, 0.16 GB of them queries and keys
D, LAYERS, HEADS, KEY_HEADS, INNER, VOCABULARY = 2048, 16, 32, 8, 8192, 32000
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": D, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "intermediate_size": INNER,
    "vocab_size": VOCABULARY, "max_position_embeddings": 4096, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip

MEASURE = """
{imports}
start = time.process_time()
{work}
print(time.process_time() - start)
"""
LOAD = MEASURE.format(
    imports="import sys, time, torch\nfrom transformers import LlamaForCausalLM",
    # transformers maps the files and reads a weight when it is used; the copy uses them all
    work="model = LlamaForCausalLM.from_pretrained(sys.argv[1], dtype=torch.bfloat16)\n"
    "for weight in model.parameters(): weight.data = weight.data.clone()",
)
READ = MEASURE.format(
    imports="import sys, time, attngeo.checkpoints.opening",
    work="for layer in attngeo.checkpoints.opening.open_checkpoint(sys.argv[1]): layer.form.wq.shape",
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """A sharded checkpoint, one shard for every four layers."""
    folder = tmp_path_factory.mktemp("llama")
    shapes = {"self_attn.q_proj": (D, D), "self_attn.k_proj": (D * KEY_HEADS // HEADS, D),
              "self_attn.v_proj": (D * KEY_HEADS // HEADS, D), "self_attn.o_proj": (D, D), "mlp.gate_proj": (INNER, D),
              "mlp.up_proj": (INNER, D), "mlp.down_proj": (D, INNER)}  # fmt: skip
    tensors = {"model.embed_tokens": (VOCABULARY, D), "lm_head": (VOCABULARY, D), "model.norm": (D,)}
    for layer in range(LAYERS):
        tensors |= {f"model.layers.{layer}.{name}": shape for name, shape in shapes.items()}
        tensors |= {f"model.layers.{layer}.{norm}_layernorm": (D,) for norm in ("input", "post_attention")}
    names, weight_map = list(tensors), {}
    for number in range(4):
        file = f"model-{number + 1:05}-of-00004.safetensors"
        part = {f"{name}.weight": torch.randn(tensors[name], dtype=torch.bfloat16) for name in names[number::4]}
        save_file(part, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


def seconds(script: str, folder: Path) -> float:
    """Processor time of a fresh process beyond its imports; the best of two, so that the disk is warm."""
    command = [sys.executable, "-c", script, str(folder)]
    return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(2))


def test_reading_beside_loading(record, checkpoint):
    """Every layer's q and k in turn, against the whole model in memory in its own type."""
    loading, reading = seconds(LOAD, checkpoint), seconds(READ, checkpoint)
    record.append({"loading": {"seconds": loading}, "reading": {"seconds": reading}})
    assert loading > 10 * reading
