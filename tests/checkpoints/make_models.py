"""Writes the page of the model types that are read, and of those that are not: book/use/models.md.

``PYTHONPATH=tests python tests/checkpoints/make_models.py`` writes the page from the entries and the
left_out.yml of attngeo and from the model types of the pinned transformers. A test compares the page with what this
program would write.
"""

from pathlib import Path

import transformers
import yaml
from attention_cases import LIBRARIES, TOWERS
from transformers import CONFIG_MAPPING

import attngeo.checkpoints.architectures
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Refused

PAGE = Path(__file__).parents[2] / "book" / "use" / "models.md"
LEFT_OUT = Path(attngeo.checkpoints.architectures.__file__).with_name("left_out.yml")


def main() -> None:
    """Write the page."""
    PAGE.write_text(text(), encoding="utf-8")


def text() -> str:
    """What the page must say."""
    known = {name for name in ARCHITECTURES if not name.startswith("attngeo-")}
    read = {name for name in known if not isinstance(ARCHITECTURES[name], Refused)}
    reasons = reasons_why_not()
    of_transformers, on_the_hub = (
        sorted(read & set(CONFIG_MAPPING)),
        sorted(read - {*CONFIG_MAPPING, *TOWERS, *LIBRARIES}),
    )
    version = ".".join(transformers.__version__.split(".")[:2])
    left_out = sum(len(names) for names in reasons.values())
    rows = [f"| {reason} | {len(names)} | {listed(names)} |" for reason, names in reasons.items()]
    return "\n".join(
        (
            "# Which model types are read",
            "",
            "`attngeo` uses the `model_type` in the configuration to find queries and keys, and never runs the code of"
            f" a model. Of the {len(of_transformers) + left_out} model types of `transformers` {version}, it reads"
            f" {len(of_transformers)} and does not support {left_out}. It also reads {len(on_the_hub)} types whose"
            " code is available only on the Hub, and any model type that you"
            " [describe yourself](score.md#a-model-type-that-is-not-known).",
            "",
            "We test each supported model type of `transformers` on a small model: the attention computed from the"
            " weights that `attngeo` reads must equal the attention probabilities of the model. For the other types, we"
            " compare the attention logits with those of our own implementation of the published computation.",
            "",
            "Checkpoints of nanoGPT, `timm`, open_clip and Megatron Core have no `model_type`. They can also be read,"
            " but for some of them you must specify [the number of heads](score.md#which-models-can-be-scored).",
            "",
            "## Types whose code is available only on the Hub",
            "",
            f"{listed(on_the_hub)}.",
            "",
            "## Types that are not supported",
            "",
            "`attngeo` cannot open checkpoints of these types, for the following reasons.",
            "",
            "| reason | number | model types |",
            "|---|---|---|",
            *rows,
            "",
            "## Supported types of transformers",
            "",
            f"{listed(of_transformers)}.",
            "",
        )
    )


def reasons_why_not() -> dict[str, list[str]]:
    """The model types of transformers that are not read, by the reason in a sentence."""
    reasons = {f"{why}.": names for why, names in yaml.safe_load(LEFT_OUT.read_text(encoding="utf-8")).items()}
    for name, entry in ARCHITECTURES.items():
        if isinstance(entry, Refused) and name in CONFIG_MAPPING:
            reasons.setdefault(f"{entry.reason[0].upper()}{entry.reason[1:]}".rstrip(".") + ".", []).append(name)
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))


def listed(names: list[str]) -> str:
    """Names in a line."""
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    main()
