"""The sweep of configuration keys: is a checkpoint whose configuration changes in one key still read rightly?

    python tests/checkpoints/sweep_keys.py -o sweep.jsonl [MODEL_TYPE ...] [--key KEY ...]

For each model type that we read, the small model of the oracle is built as it is, and again with another value of each
configuration key that its code may read. Every weight is random, biases and position tables too. The model is saved
and read by `open_checkpoint` and `open_model`. Then the sweep takes out of the model what the notes name ("left out of
W_qk"), and nothing else, runs the model, and compares the logits inside its attention with ``x_i^T W_qk,h x_j`` times a
number fitted per layer. A remaining difference is something that the notes should have named. The sweep also compares
which tokens the model hides with the labels of the layers, and the notes and labels of the file with those in memory.

A disagreement is confirmed by a second check. For a label, the last input token changes, and the first token's output
must or must not change. For a note, one missing note at a time is added, until the logits agree; if no note makes them
agree, the finding is called "unexplained". One line of JSON is written for each model, and a summary at the end.
"""

import argparse
import ast
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

import torch
from attention_cases import PARTICULAR, READ, TOWERS, without_alibi, without_scale_by_place, without_table
from attention_oracle import (
    QK_NORMS,
    Case,
    Watched,
    recorded_softmax,
    run_alone,
    without_rotation,
)
from make_keys import is_of_attention, read_by_getattr, source
from safetensors.torch import load_file, save_file
from small_models import inputs_of, model_class, small_config
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, PreTrainedModel
from transformers.initialization import no_init_weights

from attngeo import open_checkpoint, open_model
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.errors import CheckpointError

TOLERANCE = 1e-6
SIZE = 0.3  # factor of queries and keys, so that no probability is rounded to 0; and where that is not small enough:
SMALLER = 1e-3
HIDDEN = 1e-30  # a probability below which a token is hidden: Swin adds -100 to a logit in place of minus infinity
TOO_LARGE = 30.0  # difference between two logits at which the smaller probability says little about them
# keys that transformers reads of any configuration, whether its class has them or not
ANY = {"is_causal": [False], "use_bidirectional_attention": [True], "is_decoder": [True]}
SLOW = 3.0  # seconds; of a model that takes longer, only the keys above are changed
# other values of single keys; of other kinds of values see `others`
VALUES: dict[str, list] = {
    "attention_chunk_size": [2],
    "attention_multiplier": [0.37],
    "attention_window_size": [2],
    "attn_logit_softcapping": [1.0],
    "clip_qkv": [0.05],
    "d_kv": [4],
    "dim_head": [4],
    "head_dim": [4, 16],
    "local_attention": [2],
    "logit_scale": [0.3],
    "max_position_embeddings": [],
    "max_source_positions": [],
    "multi_query": [False, True],
    "n_head": [2],
    "n_heads": [2],
    "n_positions": [],
    "num_attention_heads": [2, 8],
    "num_heads": [2],
    "num_key_value_heads": [1, 2, 4],
    "num_kv_heads": [1, 2, 4],
    "pos_att_type": [["c2p"], ["p2c"], ["c2p", "p2c"], []],
    "position_embedding_type": ["absolute", "relative_key", "relative_key_query", "rotary"],
    "position_embeddings_type": ["relative", "rotary", "relative_key", None],
    "pretraining_tp": [],
    "query_pre_attn_scalar": [100],
    "scaling": [0.3],
    "sliding_window": [2],
    "use_bidirectional_attention": [True, "all"],
    "window_size": [2],
}
INGREDIENTS = {  # what can be taken out of a model's logits: how a note names it
    "positions": "positions",
    "biases": "biases",
    "norms": "norms of queries and keys",
    "cap": "soft cap",
    "clip": "clipping",
    "scales": "factors",
}
OF_POSITIONS = re.compile(
    r"relative|rel_|emb_rel|position|distance|pe_[kv]|rpb|linear_pos|pos_proj|pos_key|pos_query|pos_q|pos_k|lambda"
)


@dataclass
class Finding:
    """What came of one model: its type, the changed key and value, and what is wrong with the reading of it."""

    model_type: str
    key: str = ""
    value: Any = None
    outcome: str = "agrees"  # or: not built, refused, not run, differs, named (the changed key is in the notes)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    detail: str = ""
    seconds: float = 0.0
    size: float = SIZE


def others(model_type: str, key: str, value: Any) -> list:
    """Other values that a key may have."""
    if key in VALUES:
        return [each for each in VALUES[key] if each != value]
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int):
        return [1 if value > 2 else value + 1]
    if isinstance(value, float):
        return [value / 2 + 0.25]
    if isinstance(value, str):
        return [each for each in sorted(compared_strings(model_type).get(key, ())) if each != value]
    if key == "layer_types" and isinstance(value, list):
        kinds = ("full_attention", "sliding_attention", "chunked_attention")
        return [[kind] * len(value) for kind in kinds if [kind] * len(value) != value]
    if isinstance(value, list) and value and all(isinstance(each, int) for each in value):
        return [[1 - each if each in (0, 1) else each + 1 for each in value]]
    return []


@cache
def compared_strings(model_type: str) -> dict[str, set[str]]:
    """The strings that the code of a model type compares each configuration key with."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source(model_type))):
        if isinstance(node, ast.Compare):
            name = getattr(node.left, "attr", getattr(node.left, "id", ""))
            constants = [each for side in node.comparators for each in ast.walk(side) if isinstance(each, ast.Constant)]
            found.setdefault(name, set()).update(each.value for each in constants if isinstance(each.value, str))
    return found


def changes(model_type: str) -> Iterator[tuple[str, Any]]:
    """Every key of a model type's configuration with each other value that it may have, after no change at all."""
    yield "", None
    config = json.loads(small_config(model_type).to_json_string(use_diff=False))
    class_keys = {key: value for key, value in config.items() if is_of_attention(key)}
    given_up = {key: None for key in read_by_getattr(model_type) if key not in config and is_of_attention(key)}
    for key, values in ANY.items():
        class_keys.pop(key, None)
        given_up.pop(key, None)
        if key != "is_causal" and key not in source(model_type):
            continue
        yield from ((key, value) for value in values if config.get(key) != value)
        for inner, values_inside in config.items():
            if isinstance(values_inside, dict) and "model_type" in values_inside and key == "is_causal":
                yield from ((f"{inner}.{key}", value) for value in values if values_inside.get(key) != value)
    for key, value in (class_keys | given_up).items():
        yield from ((key, other) for other in others(model_type, key, value))


def built(case: Case, key: str, value: Any, kernel: str | None = "eager") -> PreTrainedModel:
    """The small model of a case with one key changed; without a kernel, with that of transformers' choice."""
    *inside, name = key.split(".")
    if case.build is not None and not key:
        config = case.build().config
    else:
        config = small_config(case.model_type, **({} if inside or not key else {name: value}))
    place = config
    for inner in inside:
        place = getattr(place, inner)
    if inside:
        setattr(place, name, value)
    with no_init_weights():
        model = model_class(config)._from_config(config, attn_implementation=kernel).eval()
    for each in model.modules():
        if isinstance(each, PreTrainedModel):
            if kernel:  # some do not say it to the models inside
                each.config._attn_implementation = kernel
            each.config._experts_implementation = "eager"
    return model


def randomise_all(model: nn.Module) -> None:
    """Every parameter random, those included that add to the logits."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.fill_(-1e4)
            elif parameter.ndim > 1 and not name.endswith("alpha"):
                parameter.normal_(0, parameter[0].numel() ** -0.5 if "embed" not in name else 1)
            elif name.endswith("bias"):
                parameter.uniform_(-0.5, 0.5)
            else:
                parameter.uniform_(0.5, 1.5)


def named(notes: list[str]) -> set[str]:
    """The ingredients that notes name."""
    return {name for name, words in INGREDIENTS.items() if any(words in note for note in notes)}


def take_out(case: Case, model: PreTrainedModel, ingredients: set[str]) -> None:
    """Take ingredients out of a model's logits."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            positional = OF_POSITIONS.search(name) is not None
            if name.endswith("logit_scale") and "norms" in ingredients:  # of a cosine: its logarithm
                parameter.zero_()
            is_bias = name.endswith("bias") or re.search(r"bias_[uv]$|[qkv]_bias$", name)
            if positional and "positions" in ingredients:
                parameter.zero_()
            if is_bias and not positional and "biases" in ingredients:
                parameter.zero_()
    if "positions" in ingredients:
        if case.model_type == "falcon":  # with ALiBi, which it adds to its logits, it rotates nothing
            model.use_alibi = False
        for name in ("build_alibi_tensor", "build_mpt_alibi_tensor"):
            if hasattr(model, name):
                without_alibi(name)(model)
        for module in model.modules():
            if any(word in type(module).__name__ for word in ("RotaryEmbedding", "RopePositionEmbedding")):
                module.register_forward_hook(unrotated_angles)
    if "scales" in ingredients and case.model_type == "beam":
        without_scale_by_place(model)
    for name, module in model.named_modules():
        if "norms" in ingredients and name.rpartition(".")[2] in QK_NORMS:
            module.register_forward_hook(lambda module, args, output: args[0])
        for attribute, ingredient, out_of_reach in (("attn_logit_softcapping", "cap", 1e6), ("clip_qkv", "clip", 1e9)):
            places = (module, getattr(module, "config", None)) if ingredient in ingredients else ()
            for place in places:
                if isinstance(getattr(place, attribute, None), float | int):
                    setattr(place, attribute, out_of_reach)


def unrotated_angles(module: nn.Module, args: tuple, output: Any) -> Any:
    """Cosines of 1 and sines of 0."""
    return (torch.ones_like(output[0]), torch.zeros_like(output[1])) if isinstance(output, tuple) else output


def run(case: Case, model: PreTrainedModel, opened: Any, unrotated: bool) -> dict[int, list[tuple]]:
    """Inputs and probabilities of every layer that is read, by its number among the plans."""
    watched = [Watched(model, plan) for plan in opened.plans]
    Watched.running, Watched.unread = [], []
    with torch.no_grad(), recorded_softmax(), without_rotation(model) if unrotated else nullcontext():
        case.run(model) if case.run else run_alone(model, [each.module for each in watched])
    return {number: each.calls(case.time_first) for number, each in enumerate(watched)}


def misfit(case: Case, form: Any, queries: Tensor, keys: Tensor, probabilities: Tensor, cosine: bool) -> float:
    """Largest deviation of probabilities rebuilt from a form, with the positive factor of the logits that fits best."""
    q, k = form.per_head()
    q, k = q.double(), k.double()
    logits = torch.einsum("bid,hdr,her,bje->bhij", queries, q, k, keys)
    if cosine:
        lengths = torch.einsum("bid,hdr->bhir", queries, q).norm(dim=-1)[..., None]
        logits = logits / lengths / torch.einsum("bjd,hdr->bhjr", keys, k).norm(dim=-1)[..., None, :]
    seen = probabilities.reshape(logits.shape)
    seen = seen / seen.sum(-1, keepdim=True)
    visible = seen > HIDDEN
    counts = visible.sum(-1, keepdim=True).clamp(min=1)

    def centred(values: Tensor) -> Tensor:
        values = torch.where(visible, values, 0)
        return torch.where(visible, values - values.sum(-1, keepdim=True) / counts, 0)

    own, model = centred(logits), centred(seen.clamp(min=1e-300).log())
    if max(own.abs().max(), model.abs().max()) < TOLERANCE:  # each query attends to all of its keys alike
        return 0.0
    factor = (own * model).sum() / own.square().sum().clamp(min=1e-300)
    if factor <= 0:
        return 1.0
    rebuilt = (logits * factor).masked_fill(~visible, -torch.inf).softmax(-1)
    return float(torch.where(visible, rebuilt - seen, 0).abs().max())


def logit_range(form: Any, queries: Tensor, keys: Tensor) -> float:
    """Largest difference between two logits of a head, divided by the root of its width."""
    q, k = form.per_head()
    logits = torch.einsum("bid,hdr,her,bje->bhij", queries, q.double(), k.double(), keys) * q.shape[-1] ** -0.5
    return float((logits.amax(-1) - logits.amin(-1)).max())


def examine(model_type: str, key: str = "", value: Any = None) -> Finding:
    """Build, save, read and run one model."""
    started = time.time()
    finding = Finding(model_type, key, value)
    torch.set_default_dtype(torch.float64)
    try:
        _examine(finding)
        if any("too large" in each for each in finding.wrong):
            finding = Finding(model_type, key, value, size=SMALLER)
            _examine(finding)
    finally:
        torch.set_default_dtype(torch.float32)
    finding.seconds = round(time.time() - started, 2)
    return finding


CASES = {case.id: case for case in PARTICULAR if "+" not in case.id}


def _made(finding: Finding, kernel: str | None = "eager") -> tuple[Case, PreTrainedModel]:
    case = CASES.get(finding.model_type) or Case(finding.model_type)
    torch.manual_seed(0)
    model = built(case, finding.key, finding.value, kernel)
    randomise_all(model)
    if case.id not in CASES:
        without_table(model)
    with suppress(CheckpointError), torch.no_grad():
        plans = open_model(model).plans
        for name in {weight for plan in plans for weight in (plan.query, plan.key)}:
            model.get_parameter(name).mul_(finding.size)
    return case, model


def _examine(finding: Finding) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        _compare_with_files(finding, Path(folder))


def _compare_with_files(finding: Finding, folder: Path) -> None:
    try:
        case, model = _made(finding)
        model.save_pretrained(folder)
    except Exception as error:  # whatever a value that is not legal raises
        finding.outcome, finding.detail = "not built", f"{type(error).__name__}: {error}"[:200]
        return
    try:
        checkpoint, live = open_checkpoint(folder), open_model(model)
        forms = list(checkpoint)
    except CheckpointError as error:
        finding.outcome, finding.detail = "refused", str(error)[:300]
        return
    finding.notes = notes_of(checkpoint)
    if notes_of(live) != finding.notes:
        finding.wrong.append(f"notes in memory differ: {notes_of(live)}")
    if finding.notes and (partial := left_out_of_part(folder, checkpoint.plans)) != checkpoint.left_out:
        finding.wrong.append(f"notes of a file of queries and keys alone differ: {partial}")
    labels = [[(p.part, p.layer, p.causal) for p in opened.plans] for opened in (checkpoint, live)]
    if labels[0] != labels[1]:
        finding.wrong.append("labels in memory differ")
    ingredients = named(finding.notes)
    take_out(case, model, ingredients)
    try:
        torch.manual_seed(1)
        calls = run(case, model, live, "positions" in ingredients)
    except Exception as error:  # whatever a value that is not legal raises
        finding.outcome, finding.detail = "not run", f"{type(error).__name__}: {error}"[:200]
        return
    try:
        compare(finding, case, checkpoint.plans, forms, calls, "norms" in ingredients)
    except RuntimeError as error:  # the inputs do not fit the form, or the probabilities do not
        finding.wrong.append(f"logits are of other shapes: {error}"[:200])
    if finding.wrong:
        finding.outcome = "differs"
    if any(each.startswith("logits of") for each in finding.wrong):
        explain(finding, ingredients, live, forms)
    if finding.key.rpartition(".")[2] in {"", *ANY, "causal"} or any("label" in each for each in finding.wrong):
        check_label(finding, checkpoint.plans)
    name = finding.key.rpartition(".")[2]
    if finding.outcome == "differs" and name and any(f"{name} = " in note for note in finding.notes):
        finding.outcome = "named"


def notes_of(opened: Any) -> list[str]:
    """All that is said below the table of scores."""
    return [*opened.left_out, *getattr(opened, "remarks", [])]


def left_out_of_part(folder: Path, plans: list[LayerPlan]) -> list[str]:
    """What is left out of ``W_qk`` by the notes on a file that holds the weights of queries and keys alone."""
    part = folder / "part"
    part.mkdir()
    (part / "config.json").write_bytes((folder / "config.json").read_bytes())
    names = {name for plan in plans for name in (plan.query, plan.key)}
    tensors = {name: tensor for file in folder.glob("*.safetensors") for name, tensor in load_file(file).items()}
    save_file({name: tensors[name] for name in names}, part / "model.safetensors")
    return open_checkpoint(part).left_out


def compare(finding: Finding, case: Case, plans: list[LayerPlan], forms: list, calls: dict, cosine: bool) -> None:
    """Note wrong labels, logits that are not explained, and tokens that are hidden without a note."""
    wrong: Counter[str] = Counter()
    for number, plan in enumerate(plans):
        if not calls[number]:
            wrong["not run"] += 1
        for queries, keys, _, _, probabilities in calls[number]:
            if probabilities is None or bool(probabilities.isnan().any()):  # of a value that is not legal
                wrong["not run"] += 1
                continue
            seen = probabilities.reshape(len(queries), plan.heads, *probabilities.shape[-2:])
            later = bool((seen > HIDDEN).triu(1).any())
            if plan.part != "cross" and seen.shape[-1] > 1 and seen.shape[-2] > 1 and plan.causal == later:
                wrong[f"label: {plan.part} {plan.module.split('.')[0]} causal {plan.causal}"] += 1
            is_padding = (seen <= HIDDEN).all(-2, keepdim=True)  # keys that no query sees
            hidden = ((seen <= HIDDEN) & ~is_padding).any((0, 1))
            if plan.causal:
                hidden = hidden.tril()
            if bool(hidden.any()) and not any(re.search("window|mask|hid", note) for note in finding.notes):
                wrong["hides tokens without a note"] += 1
            form = forms[number].form
            errors = [misfit(case, form, queries, keys, probabilities, each) for each in {False, cosine}]
            if min(errors) > TOLERANCE:
                is_large = finding.size == SIZE and logit_range(form, queries, keys) > TOO_LARGE
                wrong[f"logits{' too large' if is_large else ''} of {plan.part}"] += 1
    finding.wrong += [f"{what} ({count})" for what, count in sorted(wrong.items()) if what != "not run"]
    if wrong["not run"]:
        finding.detail = f"{wrong['not run']} layers not run;"


def explain(finding: Finding, ingredients: set[str], live: Any, forms: list) -> None:
    """Name the ingredient that the notes lack: without it the logits agree."""
    missing = sorted(set(INGREDIENTS) - ingredients)
    for added in [{each} for each in missing] + [set(missing)]:
        again = Finding(finding.model_type, finding.key, finding.value, notes=["window"])
        try:
            case, model = _made(again)
            take_out(case, model, ingredients | added)
            torch.manual_seed(1)
            calls = run(case, model, live, "positions" in ingredients | added)
            compare(again, case, live.plans, forms, calls, "norms" in ingredients | added)
        except Exception as error:
            finding.detail += f" {type(error).__name__} while explaining;"
            continue
        if not any("logits" in each for each in again.wrong):
            finding.detail += f" unnamed: {', '.join(sorted(added))};"
            return
    finding.detail += " unexplained;"


def check_label(finding: Finding, plans: list[LayerPlan]) -> None:
    """The second check of a label: whether a model's first output changes with its last input token.

    The model runs whole, and its attention in the kernel that transformers chooses, which may hide other tokens than
    the kernel in which the sweep sees the probabilities.
    """
    try:
        _, model = _made(finding, None)
        inputs = inputs_of(model)
        if "attention_mask" in signature(model.forward).parameters and "input_ids" in inputs:  # as tokenizers give it
            inputs.setdefault("attention_mask", torch.ones_like(inputs["input_ids"]))
        if "use_cache" in signature(model.forward).parameters:  # with a cache FSMT hides no tokens of its inputs
            inputs["use_cache"] = False
        name = next(name for name in ("decoder_input_ids", "input_ids", "inputs_embeds") if name in inputs)
        other = inputs[name].clone()
        other[:, -1] = 3 if not other.is_floating_point() else 0.1
        with torch.no_grad():
            outputs = [model(**inputs | {name: given})[0] for given in (inputs[name], other)]
        depends = bool((outputs[0][:, 0] - outputs[1][:, 0]).abs().max() > 1e-12)
    except Exception as error:  # a model without tokens, or one that does not run whole
        finding.detail += f" whole model: {type(error).__name__};"
        return
    finding.detail += f" first output depends on the last input: {depends};"
    part = "decoder" if name == "decoder_input_ids" else ""
    labels = {plan.causal for plan in plans if plan.part != "cross" and part in ("", plan.part)}
    by_kernel = any("kernels" in note for note in finding.notes)
    hidden = not depends and any("a mask that hides some tokens" in note for note in finding.notes)
    if len(labels) == 1 and depends == labels.pop() and not by_kernel and not hidden:
        finding.wrong.append("label: the whole model says otherwise")
        finding.outcome = "differs"


def sweep(model_types: list[str], keys: list[str], output: Path) -> None:
    """Examine all, and append a line for each to a file; those that the file has already are left out."""
    done = set()
    if output.exists():
        done = {(f["model_type"], f["key"], json.dumps(f["value"])) for f in map(json.loads, output.open())}
    with output.open("a") as lines:
        for model_type in model_types:
            try:
                planned = list(changes(model_type))
            except Exception as error:
                print(model_type, type(error).__name__, str(error)[:100], flush=True)
                continue
            slow = False
            for key, value in planned:
                if slow and key.rpartition(".")[2] not in ANY:
                    continue
                not_asked = bool(keys) and key.rpartition(".")[2] not in keys
                if not_asked or (model_type, key, json.dumps(value)) in done:
                    continue
                finding = examine(model_type, key, value)
                lines.write(json.dumps(asdict(finding)) + "\n")
                lines.flush()
                slow = slow or (not key and finding.seconds > SLOW)
            print(model_type, len(planned), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model_types", nargs="*")
    parser.add_argument("--key", nargs="*", default=[])
    parser.add_argument("-o", "--output", type=Path, default=Path("sweep.jsonl"))
    asked = parser.parse_args()
    read = sorted(name for name in READ - set(TOWERS) if name in CONFIG_MAPPING)
    sweep(asked.model_types or read, asked.key, asked.output)


if __name__ == "__main__":
    main()
