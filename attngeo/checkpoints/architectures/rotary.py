"""How positions rotate the queries and keys of a layer, according to its configuration.

``rotary.yml`` lists the model types whose rotations are known, with values that their configurations may leave out. The
tests compare each of them with the attention of the model itself.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from msgspec import Struct, convert

from attngeo.bilinear.rotations import Rotation
from attngeo.checkpoints.architectures.keys import LONGEST
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.rope_scalings import Positive, scaled_frequencies
from attngeo.checkpoints.architectures.stacks import value_of
from attngeo.errors import CheckpointError


class NoRotation(CheckpointError):
    """A part of a model has no rotary positions, or they are not known."""


# names of the base and of the share of rotated coordinates in configurations
BASES = ("rope_theta", "global_rope_theta", "rotary_emb_base")
UNCERTAIN = ("unknown", "none-or-in-attention")  # kinds of positions that may be rotary
LOCAL = "sliding_attention"  # name of layers that attend only to nearby tokens
SHARES = ("partial_rotary_factor", "rotary_pct", "rope_pct")
ABOUT_ROTATIONS = re.compile("rope|rotary|rotation")  # in the names of keys
FOLLOWED = {*BASES, *SHARES, "rotary_dim", "rope_parameters", "rope_scaling", "no_rope_layers"}
FOLLOWED |= {"no_rope_layer_interval"}  # from which no_rope_layers was computed
OF_SCALINGS = set(
    """rope_theta partial_rotary_factor rope_type type factor original_max_position_embeddings low_freq_factor
    high_freq_factor attention_factor beta_fast beta_slow mscale mscale_all_dim truncate short_factor long_factor
    mrope_section mrope_interleaved llama_4_scaling_beta""".split()  # the last multiplies queries, by their positions
)


class Rotary(Struct, frozen=True, forbid_unknown_fields=True):
    """What we know about the rotations of some model types.

    Args:
        model_types: their names, separated by spaces.
        pairs: which coordinates turn together: "halves" for (c, c + n), "neighbours" for (2c, 2c + 1).
        base: the base, if configurations leave it out; 0 if they never do.
        share: share of the coordinates that are rotated, if configurations leave it out; None if all of them always
            are.
        local: config key of the base in layers that attend only to nearby tokens, which no scaling changes; "" if all
            layers have the same base.
        local_only: whether only layers that attend to nearby tokens are rotated, if the model has such layers.
        listed: whether the config lists the layers that are rotated, in ``no_rope_layers``.
    """

    model_types: str
    pairs: Literal["halves", "neighbours"]
    base: float = 0.0
    share: float | None = None
    local: str = ""
    local_only: bool = False
    listed: bool = False


@cache
def known_rotations() -> dict[str, Rotary]:
    """What we know about rotations, by model type."""
    stated = yaml.safe_load(Path(__file__).with_name("rotary.yml").read_text(encoding="utf-8"))
    groups = convert(stated["rotations"], list[Rotary])
    return {model_type: group for group in groups for model_type in group.model_types.split()}


def rotation_of(plan: LayerPlan, m: int) -> Rotation | None:
    """The rotation of a layer between tokens at distance m, or None if the layer does not rotate queries and keys.

    Raises:
        NoRotation: the layer has no rotary positions, or they are not known.
        CheckpointError: the distance does not occur in texts, or the rotation in the config is not known.
    """
    known = known_rotations().get(plan.settings.model_type) if plan.settings else None
    if plan.part == "cross":
        raise NoRotation(
            "in cross-attention, queries and keys come from different sequences, between which there is no distance"
        )
    if plan.settings is None or known is None:
        kind = plan.positions.kind if plan.positions else ""
        if kind and kind not in UNCERTAIN and "rotary" not in kind:
            raise NoRotation(f"its {plan.part} has no rotary positions, so W_qk is the same at all distances")
        raise NoRotation(f"attngeo does not know how the positions of its {plan.part} rotate queries and keys")
    values = plan.settings.values
    longest = longest_text(values)
    if longest and abs(m) >= longest:
        raise CheckpointError(
            f"its texts have at most {longest} tokens, so two tokens are at most {longest - 1} positions apart"
        )
    if plan.causal and m > 0:
        raise CheckpointError(
            f"its {plan.part} does not attend to later keys; for keys that are {m} tokens before the query, the"
            f" distance is {-m}"
        )
    layers = value_of(values, "per_layer_config", dict[str, dict[str, Any]] | None) or {}
    for key, value in [item for each in (values, *layers.values()) for item in each.items()]:
        if ABOUT_ROTATIONS.search(key) and key not in (*FOLLOWED, known.local) and value not in (None, False):
            raise CheckpointError(f"attngeo does not take {key} = {value!r:.40} of the config into account")
    if values.get("alibi"):
        raise NoRotation(f"its {plan.part} has no rotary positions (alibi), so W_qk is the same at all distances")
    if not _rotates(plan, known, values):
        return None
    stated = _parameters(known, values, _kind_of_layer(values, plan.place))
    if unknown := stated.keys() - OF_SCALINGS - FOLLOWED:
        raise CheckpointError(
            f"attngeo does not take {min(unknown)}, a parameter of the rotation in the config, into account"
        )
    base = next((b for key in BASES if (b := value_of(stated, key, Positive | None))), known.base)
    if not base:
        raise CheckpointError("the config does not contain the base of the rotation (rope_theta)")
    n = _coordinates(stated, plan.d_head, known) // 2
    frequencies, factor = scaled_frequencies(stated, values, base, n, plan.d_head, m)
    return Rotation(tuple(frequencies), known.pairs == "neighbours", factor)


def longest_text(values: Mapping[str, Any]) -> int | None:
    """The number of tokens of the longest text that a config states, None if it states none."""
    return next((n for key in LONGEST if (n := value_of(values, key, int | None))), None)


def limit_of(plan: LayerPlan, m: int) -> int | None:
    """The longest text in which a layer has the rotation of `rotation_of`, or None if it is the same in all texts."""
    if plan.settings is None:
        return None
    values = plan.settings.values
    known = known_rotations()[plan.settings.model_type]
    stated = _parameters(known, values, _kind_of_layer(values, plan.place))
    kind = stated.get("rope_type") or stated.get("type")
    original = values.get("original_max_position_embeddings") or stated.get("original_max_position_embeddings")
    if kind == "dynamic":
        return values.get("max_position_embeddings")
    return original if "short_factor" in stated and original and abs(m) < original else None


def is_hidden(plan: LayerPlan, m: int) -> bool:
    """Whether a window keeps the queries of a layer from keys at distance m."""
    if plan.settings is None or "hidden" not in plan.beside:
        return False
    window = value_of(plan.settings.values, "sliding_window", int | None)
    return window is not None and abs(m) >= window and _kind_of_layer(plan.settings.values, plan.place) in (LOCAL, "")


def _rotates(plan: LayerPlan, known: Rotary, values: Mapping[str, Any]) -> bool:
    """Whether a layer of a model with rotary positions rotates queries and keys."""
    if known.local_only and value_of(values, "sliding_window", int | None):
        kind = _kind_of_layer(values, plan.place)
        if not kind:
            raise CheckpointError("the config does not say which layers rotate queries and keys (layer_types)")
        return kind == LOCAL
    if known.listed:
        flags = value_of(values, "no_rope_layers", list[int] | None)  # 0 where a layer does not rotate
        if not flags or plan.place >= len(flags):
            raise CheckpointError("the config does not say which layers rotate queries and keys (no_rope_layers)")
        return bool(flags[plan.place])
    return True


def _kind_of_layer(values: Mapping[str, Any], place: int) -> str:
    """The kind of a layer, which attends to all tokens or only to nearby tokens; "" if the config does not say it."""
    kinds = value_of(values, "layer_types", list[str] | None)
    if kinds and place < len(kinds):
        return kinds[place]
    every = value_of(values, "sliding_window_pattern", int | None)
    if every and every > 0:
        return "full_attention" if (place + 1) % every == 0 else LOCAL
    every = value_of(values, "global_attn_every_n_layers", int | None)
    if every and every > 0:
        return LOCAL if place % every else "full_attention"
    return ""


def _parameters(known: Rotary, values: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The parameters of the rotation in the config, for one kind of layers.

    Versions of transformers before 5 store bases next to ``rope_scaling``, and use other names for those of layers that
    attend only to nearby tokens.
    """
    stated = value_of(values, "rope_parameters", dict[str, Any] | None) or {}
    several = any(isinstance(each, Mapping) for each in stated.values())
    if (several or known.local) and kind not in ("full_attention", LOCAL, *stated):
        raise CheckpointError(
            "the config contains several rotations and does not say which layer uses which (layer_types)"
        )
    if several:
        return value_of(stated, kind, dict[str, Any]) or {}
    if known.local and kind == LOCAL:
        base = value_of(values, known.local, Positive | None) or value_of(values, "global_rope_theta", Positive | None)
        return {"rope_theta": base}
    scaling = value_of(values, "rope_scaling", dict[str, Any] | None) or {}
    outside = {key: values[key] for key in (*BASES, *SHARES, "rotary_dim") if values.get(key) is not None}
    return outside | scaling | {key: value for key, value in stated.items() if value is not None}


def _coordinates(stated: Mapping[str, Any], d_head: int, known: Rotary) -> int:
    """The number of rotated coordinates of a head."""
    share = next((s for key in SHARES if (s := value_of(stated, key, Positive | None))), None)
    number = value_of(stated, "rotary_dim", int | None)
    if known.share is None and (number or (share or 1) != 1):
        raise CheckpointError(
            "the config says that only some coordinates are rotated, but models of this type rotate all of them"
        )
    n = number if share is None and number else int(d_head * (share or known.share or 1))
    if not 0 < n <= d_head or n % 2:
        raise CheckpointError(
            f"the config says that {n} of the {d_head} coordinates of a head are rotated, which is not possible"
        )
    return n
