"""Everything that determines a training run, flat, with the paper's settings (Appendix S2.3) as defaults."""

from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from attngeo.errors import AttngeoError, ParameterError
from attngeo.inputs import Setting, read_yaml
from attngeo.training.choices import (
    PRESETS,
    SYMMETRY,
    Constraint,
    Initialisation,
    Positions,
    Shape,
    Text,
    TrainingObjective,
    Values,
)
from attngeo.training.corpora.registry import NAMES


class ConfigError(AttngeoError):
    """A configuration file cannot be read."""


def _value(
    default: Any, help: str, least: int | float | None = None, most: int | float | None = None, choices=None
) -> Any:
    """A field with what the command line and the checks need to know of it."""
    return field(default=default, metadata={"help": help, "least": least, "most": most, "choices": choices})


@dataclass(frozen=True)
class TrainingConfig:
    """A training run. Equal configurations on equal text give equal curves.

    A field that is added needs an entry in `attngeo.runs.record.IN_FORCE`: what was in force before it existed.

    Raises:
        ParameterError: a value has the wrong type or is out of range, or two values contradict each other.
    """

    objective: str = _value("mlm", "what is predicted", choices=[o.value for o in TrainingObjective])
    init: str = _value(
        "random",
        "initialisation of queries and keys, some of values and biases, too",
        choices=[i.value for i in Initialisation],
    )
    corpus: str = _value("embedded", f"text: {', '.join(NAMES)}, or a file or folder")
    text: str = _value("plain", "spelling; spaced puts a space between all characters", choices=[t.value for t in Text])
    max_characters: int | None = _value(None, "characters of the corpus to use", 1)
    tokenizer: str = _value("trained", "trained (on the corpus), a tokenizer.json, or a Hub id")
    vocab_size: int = _value(30522, "most tokens of a trained tokenizer", 6, 1 << 20)
    held_out: float = _value(0.05, "share of the text kept apart, by document", 1e-6, 0.5)

    layers: int = _value(4, "layers", 1, 1000)
    d_model: int = _value(256, "width of the embedding", 1, 1 << 16)
    heads: int = _value(4, "attention heads per layer; divides the width", 1, 1024)
    d_ff: int | None = _value(None, "width of the feed-forward layers; default 4 times d-model", 1, 1 << 18)
    dropout: float = _value(0.1, "dropout of hidden states and of attention", 0, 0.99)
    positions: str = _value("learned", "how the model knows positions", choices=[p.value for p in Positions])
    values: str = _value(
        "trained", "value-output maps: trained, or frozen and of that symmetry", choices=[v.value for v in Values]
    )
    logit_scale: float = _value(1.0, "factor of the attention logits, with the weights as they are", 1e-3, 1e3)

    steps: int = _value(200_000, "updates", 1, 10**9)
    batch_size: int = _value(256, "blocks per update, over all devices", 1, 1 << 20)
    micro_batch: int | None = _value(None, "blocks per device held at a time; default all of the device's", 1)
    block_size: int = _value(512, "tokens per block", 2, 1 << 20)
    lr: float = _value(5e-5, "largest learning rate", 0, 10)
    warmup: int | None = _value(None, "steps until the largest rate; default 200, or a tenth of fewer than 2,000", 0)
    weight_decay: float = _value(0.01, "weight decay of AdamW", 0, 10)
    mask_rate: float = _value(0.15, "share of tokens that are masked", 1e-6, 1 - 1e-6)
    constraint: str = _value("none", "loss added to pull W_qk (Eqs. S147, S148)", choices=[c.value for c in Constraint])
    gamma: float = _value(0.0, "weight of the constraint (Eq. S146)", 0)
    seed: int = _value(0, "seed of every random draw", 0, 2**31 - 1)

    record_every: int = _value(50, "steps between records of loss and scores", 1)
    evaluate_every: int = _value(200, "steps between measurements of the held-out loss", 1)
    held_out_blocks: int = _value(256, "blocks of the held-out loss, at most", 1)
    picture_every: int = _value(0, "steps between pictures of W_qk; 0 for the first and last step alone", 0)
    checkpoint_every: int = _value(
        1000, "steps between checkpoints, 0 for none; attngeo train: at most a tenth of the run", 0
    )
    keep_checkpoints: bool = _value(False, "keep all checkpoints, which attngeo diff compares; else the last two")

    device: str = _value("auto", "where to compute", choices=["auto", "cpu", "cuda"])
    precision: str = _value(
        "auto", "number format; auto takes bf16 where the hardware has it", choices=["auto", "fp32", "bf16"]
    )
    compile: bool = _value(False, "compile the model first; pays off in long runs with large vocabularies")

    def __post_init__(self) -> None:
        for f in fields(self):
            _check(f.name, getattr(self, f.name), f)
        if self.warmup_steps >= self.steps:
            raise ParameterError(
                f"warmup is {self.warmup_steps} of {self.steps} steps; it must be shorter than the run."
            )
        if self.micro_batch and self.batch_size % self.micro_batch:
            raise ParameterError(f"micro_batch {self.micro_batch} does not divide batch_size {self.batch_size}.")
        if self.gamma > 0 and self.constraint == "none":
            raise ParameterError("gamma weighs a constraint, but constraint is none; choose symmetric or skew.")
        if self.constraint != "none" and self.gamma == 0:
            raise ParameterError(f"constraint {self.constraint} has weight 0; give gamma a value above 0.")
        pole = {"symmetric": -1.0, "skew": 1.0}.get(self.constraint, 0.0)
        if SYMMETRY.get(Initialisation(self.init)) == pole:
            raise ParameterError(
                f"init {self.init} starts where the {self.constraint} constraint is infinite (Eqs. S147, S148);"
                " choose another init."
            )
        if self.positions == Positions.ROTARY and self.d_model // self.heads % 2:
            raise ParameterError(
                f"positions rotary turn pairs of coordinates, but heads are {self.d_model // self.heads} wide; change"
                " heads or d_model so that their width is even."
            )
        self.shape(self.vocab_size)

    @property
    def warmup_steps(self) -> int:
        """Steps until the largest learning rate."""
        return min(200, self.steps // 10) if self.warmup is None else self.warmup

    def shape(self, vocab_size: int) -> Shape:
        """The model's size, for a vocabulary of that many tokens."""
        return Shape(
            layers=self.layers,
            d_model=self.d_model,
            heads=self.heads,
            d_ff=self.d_ff or 4 * self.d_model,
            longest=max(512, self.block_size),
            dropout=float(self.dropout),
            vocab_size=vocab_size,
        )


DEFAULTS = {f.name: f.default for f in fields(TrainingConfig)}


def configure(values: dict[str, Any]) -> TrainingConfig:
    """A configuration from names and values; ``preset`` may be among them, and the others go before it.

    Raises:
        ParameterError: a name or the preset is unknown, or a value is refused.
    """
    values = {key.replace("-", "_"): value for key, value in values.items()}
    if (preset := values.pop("preset", None)) is not None:
        if preset not in PRESETS:
            raise ParameterError(f"preset {preset!r} is unknown; take one of {', '.join(PRESETS)}.")
        values = {key: value for key, value in asdict(PRESETS[preset]).items() if key in DEFAULTS} | values
    if unknown := sorted(set(values) - set(DEFAULTS)):
        raise ParameterError(f"{unknown[0]!r} is no setting of a training run; known are {', '.join(DEFAULTS)}.")
    for f in fields(TrainingConfig):
        value = values.get(f.name)
        if _kind(f) is float and isinstance(value, str | int) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):  # YAML 1.1 reads 5e-5 as text
                values[f.name] = float(value)
    return TrainingConfig(**values)


def read_values(path: Path) -> dict[str, Any]:
    """Names and values from a YAML file.

    Raises:
        ConfigError: the file cannot be read, or is not a mapping.
    """
    return read_yaml(
        Path(path),
        dict[str, Setting],
        lambda why: ConfigError(f"{path} must hold settings, one 'name: value' per line ({why})."),
    )


def _check(name: str, value: Any, f: Any) -> None:
    kind = _kind(f)
    if value is None and f.default is None:
        return
    low, high, choices = (f.metadata[key] for key in ("least", "most", "choices"))
    right = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    right = right and (not choices or value in choices)
    right = right and (low is None or low <= value < float("inf"))  # also refuses NaN
    if not right or (high is not None and value > high):
        raise ParameterError(f"{name} is {f'{value!r}'[:80]}; it must be {_wanted(f)}.")


def _kind(f: Any) -> type:
    return (get_args(f.type) or (f.type,))[0]


def _wanted(f: Any) -> str:
    low, high, choices = (f.metadata[key] for key in ("least", "most", "choices"))
    if choices:
        return f"one of {', '.join(choices)}"
    kind = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}[_kind(f)]
    if high is not None:
        return f"{kind} from {low:g} to {high:g}"
    return f"{kind} of {low:g} or more" if low is not None else kind
