"""The frequencies by which positions rotate pairs of coordinates, after the scaling for longer texts that a config
states."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from attngeo.checkpoints.architectures.stacks import value_of
from attngeo.errors import CheckpointError

Positive = Annotated[float, Meta(gt=0, le=1e12)]
Factors = Annotated[list[Positive], Meta(max_length=4096)]


def scaled_frequencies(
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
    if kind in ("longrope", "su") or "short_factor" in stated:
        return _longrope(frequencies, factor, original, stated, m)
    if kind == "yarn":
        return _yarn(frequencies, base, factor, original, stated), _attention(stated) or _yarn_attention(factor, stated)
    raise CheckpointError(f"attngeo does not know the scaling {kind!r} of its rotary positions")


def _attention(stated: Mapping[str, Any]) -> float | None:
    """The factor of rotated coordinates that the config states."""
    return value_of(stated, "attention_factor", Positive | None)


def _llama3(frequency: float, factor: float, original: int, stated: Mapping[str, Any]) -> float:
    """A frequency of Llama 3.1: short waves stay unchanged, long waves are stretched, others are interpolated."""
    low, high = (value_of(stated, f"{which}_freq_factor", Positive) or 0.0 for which in ("low", "high"))
    waves = original * frequency / (2 * math.pi)  # number of waves in the original length
    if not 0 < low < high:
        raise CheckpointError("the config does not say which waves its scaling 'llama3' stretches")
    share = min(max((waves - low) / (high - low), 0.0), 1.0)
    return (1 - share) * frequency / factor + share * frequency


def _longrope(
    frequencies: list[float], factor: float, original: int, stated: Mapping[str, Any], m: int
) -> tuple[list[float], float]:
    """Frequencies of LongRoPE, each divided by its own factor, in the shortest text with distance m."""
    which = "long_factor" if abs(m) >= original else "short_factor"
    factors = value_of(stated, which, Factors | None) or []
    if len(factors) != len(frequencies):
        raise CheckpointError(
            f"the config has {len(factors)} numbers in {which}, but {len(frequencies)} pairs of coordinates are rotated"
        )
    grown = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    return [f / by for f, by in zip(frequencies, factors, strict=True)], _attention(stated) or grown


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
