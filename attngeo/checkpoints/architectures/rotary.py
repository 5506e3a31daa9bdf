"""How positions rotate the queries and keys of a layer, according to its configuration.

``rotary.yml`` lists the model types whose rotations are known, with values that their configurations may leave out. The
tests compare each of them with the attention of the model itself.
"""

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from msgspec import Meta, Struct, convert

from attngeo.bilinear.rotations import Rotation
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.stacks import value_of
from attngeo.errors import CheckpointError


class NoRotation(CheckpointError):
    """A part of a model has no rotary positions, or they are not known."""


Positive = Annotated[float, Meta(gt=0, le=1e12)]
Factors = Annotated[list[Positive], Meta(max_length=4096)]
# names of the base and of the share of rotated coordinates in configurations
BASES = ("rope_theta", "global_rope_theta", "rotary_emb_base")
UNCERTAIN = ("unknown", "none-or-in-attention")  # kinds of positions that may be rotary
LOCAL = "sliding_attention"  # name of layers that attend only to nearby tokens
SHARES = ("partial_rotary_factor", "rotary_pct", "rope_pct")
LONGEST = ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")
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
    frequencies, factor = _scaled(stated, values, base, n, plan.d_head, m)
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


def _scaled(
    stated: Mapping[str, Any], values: Mapping[str, Any], base: float, n: int, d_head: int, m: int
) -> tuple[list[float], float]:
    """The frequencies of n pairs after the scaling of the config, and the factor of rotated coordinates.

    Raises:
        CheckpointError: the scaling is not known, or depends on the length of the text.

    Source: transformers, ``modeling_rope_utils.py``.
    """
    kind = value_of(stated, "rope_type", str | None) or value_of(stated, "type", str | None) or "default"
    frequencies = [base ** (-c / n) for c in range(n)]
    if kind in ("default", "mrope"):  # mrope rotates text tokens like the default
        return frequencies, 1.0
    longest = value_of(values, "max_position_embeddings", int | None)
    if kind == "dynamic" and longest:  # like the default in texts of up to this length, to which our scores refer
        return frequencies, 1.0
    original = value_of(values, "original_max_position_embeddings", int | None)
    original = original or value_of(stated, "original_max_position_embeddings", int | None) or longest
    factor = value_of(stated, "factor", Positive | None)
    if kind == "proportional":
        turned = [base ** (-2 * c / d_head) / (factor or 1) for c in range(n)]
        return turned + [0.0] * (d_head // 2 - n), 1.0  # pairs are formed in the whole head
    if kind in ("yarn", "longrope", "su") and longest and original:
        factor = factor or longest / original
    if factor is None:
        raise CheckpointError(f"the config does not contain the factor of its scaling {kind!r}")
    if kind == "linear":
        return [f / factor for f in frequencies], 1.0
    if original is None:
        raise CheckpointError(f"the config does not contain the text length from which its scaling {kind!r} applies")
    if kind == "llama3":
        return [_llama3(f, factor, original, stated) for f in frequencies], 1.0
    attention = value_of(stated, "attention_factor", Positive | None)
    if kind in ("longrope", "su") or "short_factor" in stated:
        which = "long_factor" if abs(m) >= original else "short_factor"
        factors = value_of(stated, which, Factors | None) or []
        if len(factors) != n:
            raise CheckpointError(
                f"the config has {len(factors)} numbers in {which}, but {n} pairs of coordinates are rotated"
            )
        grown = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
        return [f / by for f, by in zip(frequencies, factors, strict=True)], attention or grown
    if kind == "yarn":
        return _yarn(frequencies, base, factor, original, stated), attention or _yarn_attention(factor, stated)
    raise CheckpointError(f"attngeo does not know the scaling {kind!r} of its rotary positions")


def _llama3(frequency: float, factor: float, original: int, stated: Mapping[str, Any]) -> float:
    """A frequency of Llama 3.1: short waves stay unchanged, long waves are stretched, others are interpolated."""
    low, high = (value_of(stated, f"{which}_freq_factor", Positive) or 0.0 for which in ("low", "high"))
    waves = original * frequency / (2 * math.pi)  # number of waves in the original length
    if not 0 < low < high:
        raise CheckpointError("the config does not say which waves its scaling 'llama3' stretches")
    share = min(max((waves - low) / (high - low), 0.0), 1.0)
    return (1 - share) * frequency / factor + share * frequency


def _yarn(
    frequencies: list[float], base: float, factor: float, original: int, stated: Mapping[str, Any]
) -> list[float]:
    """Frequencies of YaRN (Peng et al. 2023, arXiv 2309.00071): low frequencies are divided by the factor."""
    n = len(frequencies)
    fast, slow = (value_of(stated, f"beta_{which}", Positive | None) for which in ("fast", "slow"))
    ends = [n * math.log(original / (turns * 2 * math.pi)) / math.log(base) for turns in (fast or 32, slow or 1)]
    if stated.get("truncate", True):
        ends = [math.floor(ends[0]), math.ceil(ends[1])]
    low, high = max(ends[0], 0), min(ends[1], 2 * n - 1)
    high += 0.001 if low == high else 0
    shares = [min(max((c - low) / (high - low), 0.0), 1.0) for c in range(n)]
    return [share * f / factor + (1 - share) * f for share, f in zip(shares, frequencies, strict=True)]


def _yarn_attention(factor: float, stated: Mapping[str, Any]) -> float:
    """The factor of rotated coordinates in YaRN, if the config contains none."""

    def grown(by: float) -> float:
        return 0.1 * by * math.log(factor) + 1 if factor > 1 else 1.0

    above, below = (value_of(stated, key, float | None) for key in ("mscale", "mscale_all_dim"))
    return grown(above) / grown(below) if above and below else grown(1.0)
