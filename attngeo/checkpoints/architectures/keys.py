"""What we know about configuration keys, and which components of the logits of a layer are not part of ``W_qk``.

``keys.json`` is written by tests/checkpoints/make_keys.py from the pinned version of transformers. It contains the keys
that may concern attention, with the model types that have each of them and its default there, and the names of all
other keys by model types. attngeo takes the keys of attention into account in the model types that have them:
tests/checkpoints/sweep_keys.py changes each of them and compares the layers that are read with the model itself. If a
configuration sets a key that its model type does not have, the key is reported as unknown.

``beside.json`` is written in the same way. It contains the components in the attention modules of each model type, for
files that contain only queries and keys, and the keys that determine whether queries have biases.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attngeo.checkpoints.architectures.entry import Attention, Tower
from attngeo.checkpoints.architectures.stacks import Config

# components of the logits that are not part of W_qk, by the keys of Attention.beside
BESIDE = {
    "distances": "positions encoded by a bias of the logits for each distance",
    "relative": "positions encoded by keys for each distance",
    "untold": "positions encoded by rotations or biases, if the code of the model has any (the files do not tell)",
    "gains": "gains of the layer normalisation before queries and keys",
    "norms": "norms of queries and keys",
    "biases": "biases",
    "cap": "a soft cap of the logits",
    "clip": "clipping of queries and keys",
    "hidden": "a mask that hides some tokens, as outside a window",
    "kernels": "a mask of later tokens that some kernels of transformers leave out where no token is padding",
    "factors": "factors between queries and keys that differ by token, head or coordinate",
    "global": "attention to and from global tokens, which have queries, keys and values of their own",
    "entities": "attention between tokens and entities, which has queries of its own",
    "sinks": "attention sinks, which are further logits that belong to no token",
}
# patterns of tensor names in an attention module that only these components have
NORMS = re.compile(r"(.*[._])?((q|k|qk|query|key)_?(layer_?)?norms?|(layer_?norm|norm|ln)_?(q|k|qk))(\..*)?")
BIASES = re.compile(r"(.*[._])?((q|query|qkv|in_proj|pos)_bias(_[uv])?|bias_[uv])")
RELATIVE = "rel_pos_h"  # in attention over images
NORMALISATIONS = re.compile(r"(norm|(^|[._])ln(_|\d)?)[^.]*\.\w+$", re.IGNORECASE)  # in the names of tensors in a layer
SINKS = re.compile(r"(.*[._])?(sinks|softmax_offset|attention_sink_bias|bias_k)")
# keys that add the same component to the logits of every model type that has them
KEYS = {
    "attn_logit_softcapping": "cap",
    "clip_qkv": "clip",
    "use_qk_norm": "norms",
    "qk_layernorm": "norms",
    "qk_layer_norms": "norms",
    "sliding_window": "hidden",
    "attention_window_size": "hidden",
    "attention_chunk_size": "hidden",
    "local_attention": "hidden",
    "local_attention_window_len": "hidden",
    "sliding_windows": "hidden",
    "window_size": "hidden",
}
# values that older versions of transformers wrote into configurations and that do not change the attention
FORMER_DEFAULTS = {"position_embedding_type": "absolute"}
# keys that contain the maximum length of a text
LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")


@cache
def _known() -> tuple[dict[str, dict[str, Any]], dict[str, frozenset[str]]]:
    """The defaults of each attention key by model type, and the model types of each other key (none if all have it)."""
    content = json.loads(Path(__file__).with_name("keys.json").read_text(encoding="utf-8"))
    defaults = {
        key: {model_type: value for value, types in groups for model_type in types.split()}
        for key, groups in content["attention"].items()
    }
    other = {key: frozenset(types.split()) for types, keys in content["other"].items() for key in keys.split()}
    return defaults, other


@cache
def _of_types() -> dict[str, dict[str, frozenset[str]]]:
    """For each key of `BESIDE`, the model types that have it, by part; for "keys", those by the key about biases."""
    content = json.loads(Path(__file__).with_name("beside.json").read_text(encoding="utf-8"))
    return {
        word: {part: frozenset(types.split()) for part, types in by_part.items()} for word, by_part in content.items()
    }


def default(model_type: str, key: str) -> Any:
    """The default of a key of attention, or None if the model type does not have this key."""
    return _known()[0].get(key, {}).get(model_type)


def unknown_keys(values: Mapping[str, Any], model_types: Collection[str]) -> list[str]:
    """The keys in a configuration that none of its model types is known to have, as ``key = value``."""
    defaults, other = _known()
    unknown: list[str] = []
    if not _model_types() & set(model_types):
        return unknown
    for key, value in values.items():
        is_set = not (value is None or value is False or value in ("", [], {}))
        is_config = isinstance(value, Mapping) and ("model_type" in value or key.endswith("_config"))
        if not is_set or is_config or value == FORMER_DEFAULTS.get(key) or key in LONGEST:
            continue
        if key in other and (not other[key] or other[key] & set(model_types)):
            continue
        of_types = defaults.get(key, {})
        is_default = bool(of_types) and all(value == each for each in of_types.values())
        if not is_default and not any(model_type in of_types for model_type in model_types):
            unknown.append(f"{key} = {value!r}"[:80])
    return unknown


def unfollowed_keys(entry: Attention | Tower, values: Mapping[str, Any], model_type: str) -> list[str]:
    """The keys that change the attention of a stack in a way that we do not take into account, as ``key = value``."""
    return [
        f"{key} = {values[key]!r}"[:80]
        for key in entry.unfollowed
        if key in values and values[key] != (True if key == "is_causal" else default(model_type, key))
    ]


def beside(entry: Attention, config: Config, tensors: Collection[str], causal: bool) -> list[str]:
    """The components of the logits of a layer that are not part of ``W_qk``, as keys of `BESIDE`.

    Args:
        entry: of its stack.
        config: the configuration that speaks of it.
        tensors: names of the tensors in its attention module, without the module's name.
        causal: whether its tokens see only those before them.
    """
    found = {word for word, key in entry.beside.items() if not key or _setting(config, key)}
    for key, word in KEYS.items():
        value = _setting(config, key)
        if value and (word != "hidden" or _hides_tokens(value, config, causal)):
            found.add(word)
    apart = config.values.get("attn_config")  # MPT and DBRX store the settings of their attention here
    if isinstance(apart, Mapping) and apart.get("clip_qkv"):
        found.add("clip")
    if any(NORMS.fullmatch(name) for name in tensors):
        found.add("norms")
    if f"{entry.query}.bias" in tensors or any(BIASES.fullmatch(name) for name in tensors):
        found.add("biases")
    if RELATIVE in tensors:
        found.add("relative")
    if any(SINKS.fullmatch(name) for name in tensors):
        found.add("sinks")
    return [word for word in BESIDE if word in found]


def beside_by_type(entry: Attention, config: Config, part: str, names: Collection[str]) -> list[str]:
    """The components of a layer that are not part of ``W_qk`` according to its model type, if the files cannot show
    them.

    Args:
        entry: of its stack.
        config: the configuration that speaks of the layer.
        part: of the layer.
        names: of all tensors in the layer.
    """
    untold = set() if any(map(NORMALISATIONS.search, names)) else {"gains", "norms", "relative", "sinks"}
    untold |= set() if any(name.endswith("bias") for name in names) else {"biases"}
    by_key = {word: False for key, word in KEYS.items() if config.values.get(key) is False}
    if bias_keys := _bias_keys(config.model_type):
        by_key["biases"] = any(_setting(config, key) for key in bias_keys)
    if entry.norm_if:
        by_key["gains"] = bool(_setting(config, entry.norm_if))
    parts = (part, entry.part)  # these differ if a configuration turns an encoder into a decoder, or the reverse

    def has_by_type(word: str) -> bool:
        return any(config.model_type in _of_types()[word].get(each, ()) for each in parts)

    return [word for word in BESIDE if word in untold and (by_key[word] if word in by_key else has_by_type(word))]


def bias_remark(entry: Attention, config: Config, tensors: Collection[str]) -> str:
    """A sentence if the configuration and the tensors of a layer disagree on the biases of its queries, or ""."""
    has_biases = f"{entry.query}.bias" in tensors
    for key in _bias_keys(config.model_type):
        value, place = _setting(config, key), "" if key in config.values else " by default"
        if bool(value) and not has_biases:
            return (
                f"{key} is {value}{place} in the configuration, but the files contain no biases of the queries."
                " transformers replaces missing biases by zeros."
            )
        if has_biases and not value:
            return (
                f"The files contain biases of the queries, but {key} is {value}{place} in the configuration, so"
                " transformers does not use these biases."
            )
    return ""


def norm_remark(model_type: str, names: Collection[str]) -> str:
    """A sentence if neither the model type nor the tensors show whether a layer has a layer normalisation, or ""."""
    if model_type in _model_types() or any(map(NORMALISATIONS.search, names)):
        return ""
    return (
        f"The files contain no layer normalisation, and attngeo does not know whether {model_type} models have one. If"
        " they do, its gains are not part of the scores."
    )


def _bias_keys(model_type: str) -> list[str]:
    """The configuration keys that decide whether the queries of a model type have biases."""
    return [key for key, types in _of_types()["keys"].items() if model_type in types]


def _setting(config: Config, key: str) -> Any:
    """The value of a key in a configuration, or the default of its model type; None if the type has no such key."""
    defaults, _ = _known()
    has_key = config.model_type in defaults.get(key, ()) or config.model_type not in _model_types()
    return config.values.get(key, default(config.model_type, key)) if has_key else None


@cache
def _model_types() -> frozenset[str]:
    """The model types whose keys are known."""
    defaults, _ = _known()
    return frozenset(model_type for types in defaults.values() for model_type in types)


def _hides_tokens(window: Any, config: Config, causal: bool) -> bool:
    """Whether the window in a configuration is used in any layer and is shorter than the longest text."""
    longest = [_setting(config, key) for key in LONGEST]
    lengths = [length for length in longest if isinstance(length, int) and length > 0]
    to_one_side = window if causal or not isinstance(window, int) else window // 2
    if lengths and isinstance(to_one_side, int) and to_one_side >= max(lengths):
        return False
    if _setting(config, "use_sliding_window") is False:
        return False
    kinds = config.values.get("layer_types")
    return not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds)
