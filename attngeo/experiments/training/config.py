"""All settings that determine a training run, with those of the paper (Appendix S2.3) as defaults."""

from dataclasses import asdict, dataclass, fields
from enum import EnumMeta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from attngeo.choices import SYMMETRY, Initialisation
from attngeo.errors import ParameterError
from attngeo.experiments.training.choices import (
    PRESETS,
    Constraint,
    Positions,
    PositionTable,
    Shape,
    Text,
    TrainingObjective,
    Values,
)
from attngeo.experiments.training.corpora.registry import NAMES
from attngeo.inputs import Setting, checked, read_yaml


def _names(kind: EnumMeta) -> Any:
    return Literal[tuple(one.value for one in kind)]


Size = Annotated[int, Meta(ge=1, le=2**20)]
Count = Annotated[int, Meta(ge=1, le=10**9)]
Every = Annotated[int, Meta(ge=0, le=10**9)]
Rate = Annotated[float, Meta(ge=0, le=10)]
Share = Annotated[float, Meta(gt=0, lt=1)]
Part = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True)
class TrainingConfig:
    """A training run. Equal configurations on equal text give equal curves.

    If you add a field, also add its former value to `attngeo.experiments.runs.record.IN_FORCE`, that is, the value that
    was in force before the field existed.

    Raises:
        ParameterError: a value is invalid, or two values contradict each other.
    """

    objective: Annotated[
        _names(TrainingObjective),
        "Predict masked tokens (mlm), the next token (clm), or masked tokens from the tokens to their left"
        " (released-decoder).",
    ] = "mlm"
    init: Annotated[
        _names(Initialisation),
        "Initialise the query and key weights according to this scheme. Some schemes also set the value weights.",
    ] = "random"
    corpus: Annotated[str, f"Train on this text: {', '.join(NAMES)}, or a file or folder."] = "embedded"
    text: Annotated[
        _names(Text), "Leave the text as it is (plain), or insert a space between adjacent characters (spaced)."
    ] = "plain"
    max_characters: Annotated[Annotated[int, Meta(ge=1)] | None, "Limit the corpus to this many characters."] = None
    tokenizer: Annotated[str, "Use this tokenizer.json or Hub id, or train a tokenizer on the corpus (trained)."] = (
        "trained"
    )
    vocab_size: Annotated[
        int, Meta(ge=6, le=2**20), "If a tokenizer is trained, limit its vocabulary to this many tokens."
    ] = 30522
    held_out: Annotated[float, Meta(gt=0, le=0.5), "Hold out this share of the documents for evaluation."] = 0.05

    layers: Annotated[Size, "Set the number of layers."] = 4
    d_model: Annotated[Size, "Set the width d of the embedding."] = 256
    heads: Annotated[Size, "Set the number of heads per layer, which must divide the width."] = 4
    d_ff: Annotated[Size | None, "Set the width of the feed-forward layers (default: 4 d)."] = None
    dropout: Annotated[float, Meta(ge=0, lt=1), "Set the dropout rate of hidden states and attention weights."] = 0.1
    positions: Annotated[_names(Positions), "Set the type of positional encoding."] = "learned"
    position_table: Annotated[
        _names(PositionTable),
        "Train the position embeddings (trained), or freeze them at random values. Frozen embeddings contain all"
        " wavelengths (white), only long wavelengths (slow), or only wavelengths of about four positions (band).",
    ] = "trained"
    window_near: Annotated[
        Every, "Let decoders attend only to tokens that are at least this many positions to the left."
    ] = 0
    window_far: Annotated[
        Every | None, "Let decoders attend only to tokens that are at most this many positions to the left."
    ] = None
    values: Annotated[
        _names(Values),
        "Train the value-output maps, or freeze them at random values (frozen). Frozen maps can also be made symmetric"
        " or skew-symmetric.",
    ] = "trained"
    logit_scale: Annotated[float, Meta(gt=0, le=1e3), "Multiply the attention logits by this factor."] = 1.0

    steps: Annotated[Count, "Train for this many steps."] = 200_000
    batch_size: Annotated[Size, "Use this many sequences per step, in total over all devices."] = 256
    micro_batch: Annotated[Size | None, "Limit the number of sequences that a device processes at a time."] = None
    block_size: Annotated[int, Meta(ge=2, le=2**20), "Set the number of tokens per sequence."] = 512
    lr: Annotated[Rate, "Set the peak learning rate."] = 5e-5
    warmup: Annotated[
        Every | None,
        "Set the number of warm-up steps (default: 200, or a tenth of the steps if there are fewer than 2,000).",
    ] = None
    weight_decay: Annotated[Rate, "Set the weight decay of AdamW."] = 0.01
    mask_rate: Annotated[Share, "Mask this share of the tokens."] = 0.15
    hidden_share: Annotated[Part, "Replace this share of the masked tokens by the mask token."] = 0.8
    random_share: Annotated[Part, "Replace this share of the masked tokens by random tokens."] = 0.1
    read_left: Annotated[
        Every,
        "Let encoders predict each masked token from the output that is this many positions to the left of the token.",
    ] = 0
    noise_right: Annotated[
        Part,
        "Replace this share of the tokens to the right of the masked token by random tokens. This needs a mask"
        " rate at which each sequence has exactly one masked token.",
    ] = 0.0
    constraint: Annotated[
        _names(Constraint), "Pull W_qk towards this symmetry with an extra loss (Eqs. S147, S148)."
    ] = "none"
    gamma: Annotated[float, Meta(ge=0, le=1e9), "Set the weight of the extra loss (Eq. S146)."] = 0.0
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1), "Set the seed of all random draws."] = 0

    record_every: Annotated[Count, "Set the number of steps between two records of the loss and the scores."] = 50
    evaluate_every: Annotated[Count, "Set the number of steps between two evaluations."] = 200
    held_out_blocks: Annotated[Count, "Limit the number of sequences per evaluation."] = 256
    picture_every: Annotated[
        Every, "Set the number of steps between two images of W_qk (0: first and last step only)."
    ] = 0
    checkpoint_every: Annotated[
        Every, "Set the number of steps between two checkpoints (0: none; default in short runs: a tenth of the steps)."
    ] = 1000
    keep_checkpoints: Annotated[bool, "Keep all checkpoints (for attngeo diff) instead of the last two."] = False

    device: Annotated[Literal["auto", "cpu", "cuda"], "Compute on this device."] = "auto"
    precision: Annotated[
        Literal["auto", "fp32", "bf16"], "Set the number format. With auto, bf16 is used if possible."
    ] = "auto"
    compile: Annotated[bool, "Compile the model, which pays off in long runs with large vocabularies."] = False

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            checked(value, f.type, partial(_refusal, f.name, value))
        if self.warmup_steps >= self.steps:
            raise ParameterError(
                f"warmup is {self.warmup_steps} of {self.steps} steps; it must be shorter than the run."
            )
        if self.micro_batch and self.batch_size % self.micro_batch:
            raise ParameterError(f"micro_batch {self.micro_batch} does not divide batch_size {self.batch_size}.")
        if (self.gamma > 0) != (self.constraint != "none"):
            raise ParameterError(
                f"constraint is {self.constraint}, but its weight gamma is {self.gamma:g}; set both or neither."
            )
        pole = {"symmetric": -1.0, "skew": 1.0}.get(self.constraint, 0.0)
        if SYMMETRY.get(Initialisation(self.init)) == pole:
            raise ParameterError(
                f"with init {self.init}, the loss of the {self.constraint} constraint is infinite at the start (Eqs."
                " S147, S148); choose another init."
            )
        if self.positions == Positions.ROTARY and self.d_model // self.heads % 2:
            raise ParameterError(
                f"rotary positions rotate pairs of coordinates, but heads have width {self.d_model // self.heads};"
                " change heads or d_model so that this width is even."
            )
        if self.hidden_share + self.random_share > 1:
            raise ParameterError(
                f"hidden_share {self.hidden_share:g} and random_share {self.random_share:g} add up to more than 1, but"
                " they are shares of the same tokens; lower one of them."
            )
        changed = ("hidden_share", "random_share", "read_left", "noise_right")
        if self.objective != TrainingObjective.MLM:
            self._require_defaults(changed, "masked modelling (objective mlm)")
        if self.positions != Positions.LEARNED:
            self._require_defaults(("position_table",), "models with a table of position embeddings")
        if self.objective == TrainingObjective.MLM:
            self._require_defaults(("window_near", "window_far"), "decoders (objective clm)")
        if self.window_far is not None and self.window_far < self.window_near:
            raise ParameterError(
                f"window_far is {self.window_far}, but it cannot be smaller than window_near, which is"
                f" {self.window_near}; change one of them."
            )
        self.shape(self.vocab_size)

    def _require_defaults(self, names: tuple[str, ...], only: str) -> None:
        for name in names:
            if getattr(self, name) != DEFAULTS[name]:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}, but this setting can be changed only for {only}."
                )

    @property
    def warmup_steps(self) -> int:
        """The number of steps until the peak learning rate is reached."""
        return min(200, self.steps // 10) if self.warmup is None else self.warmup

    def shape(self, vocab_size: int) -> Shape:
        """The size of the model for a vocabulary of the given size."""
        d_ff, longest = self.d_ff or 4 * self.d_model, max(512, self.block_size)
        return Shape(self.layers, self.d_model, self.heads, d_ff, longest, self.dropout, vocab_size)


DEFAULTS = {f.name: f.default for f in fields(TrainingConfig)}


def configure(values: dict[str, Any]) -> TrainingConfig:
    """A configuration from names and values. They may include ``preset``, over which the other values take precedence.

    Raises:
        ParameterError: a name or the preset is unknown, or a value is invalid.
    """
    values = {key.replace("-", "_"): value for key, value in values.items()}
    if (preset := values.pop("preset", None)) is not None:
        if preset not in PRESETS:
            raise ParameterError(f"preset {preset!r} is unknown; use one of {', '.join(PRESETS)}.")
        values = {key: value for key, value in asdict(PRESETS[preset]).items() if key in DEFAULTS} | values
    if unknown := sorted(set(values) - set(DEFAULTS)):
        raise ParameterError(
            f"{unknown[0]!r} is not a setting of a training run; the settings are {', '.join(DEFAULTS)}."
        )
    try:
        return msgspec.convert(values, TrainingConfig, strict=False)  # YAML 1.1 reads 5e-5 as text
    except msgspec.ValidationError as error:
        why, _, name = str(error).rstrip("`").partition(" - at `$.")
        if not name:
            raise ParameterError(why) from error
        raise _refusal(name, values[name], why) from error


def _refusal(name: str, value: Any, why: str) -> ParameterError:
    kind = get_args(TrainingConfig.__annotations__[name])[0]
    why = f"it must be one of {', '.join(get_args(kind))}" if get_origin(kind) is Literal else why
    return ParameterError(
        f"{name} is {f'{value!r}'[:80]}: {why.replace('Expected', 'it must be')}; see attngeo train --help."
    )


def read_values(path: Path) -> dict[str, Any]:
    """Names and values from a YAML file.

    Raises:
        ParameterError: the file cannot be read, or its content is not a mapping.
    """

    def refuse(why: str) -> ParameterError:
        return ParameterError(f"{path} must contain settings, one 'name: value' per line ({why}).")

    return read_yaml(Path(path), dict[str, Setting], refuse)
