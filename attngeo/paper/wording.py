"""The words of a chapter's checks, read from ``checks.yml`` in its room and validated there.

.. code-block:: yaml

    shared:                      # sentences of several checks, as <<small_models>>; those of all rooms stand in paper
      small_models: ...
    checks:
      heads_add_up:              # the function's name
        statement: S1.5          # a number of data/published/statements.csv
        part: Eqs. S19, S20      # what of it is meant; may be left out
        title: the forms of the heads add up
        verdict: misprint        # left out where it follows from the numbers
        printed: ...             # what the paper prints, "its words" in quotation marks (data/published/README.md),
        place: Section S1.2      # and where
        holds: ...               # what holds instead
        remark: ...
        maybe_copying: true      # could be an error of our text copy of the paper
        quantities:              # what is compared, by the keys that the code uses
          sum: distance of the sum over <<n_heads>> heads from $W_q W_k^\\top$
          factor: {says: their factor, paper: "= 2"}  # with what the paper has for it; "" where it has nothing
        verdicts:                # texts that depend on a verdict which follows from the numbers
          undecided: {remark: ...}
        measured: ...            # <<measured>>, with which sentences of a judgement end

``by_intervals``, beside ``checks``, may hold texts by verdict that several checks share by a YAML anchor.
Where ``paper`` is left out, the paper claims what is compared if the statement holds; if it does not, the paper claims
the number from which the quantity is to differ (``≠``), and of other comparisons nothing.
``<<name>>`` and ``<<name:.2f>>`` stand for a number of the judgement, a field of the comparison (``expected`` too) or a
shared sentence; in any of these, too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml

from attngeo.errors import AttngeoError

FILE = "checks.yml"
_PLACE = re.compile(r"<<(\w+)(?::([^<>]*))?>>")
_TEXTS = ("printed", "place", "holds", "remark")  # may depend on the verdict


class WordingError(AttngeoError):
    """The words of a check are missing, contradict its verdict, or name a number that is not there."""


class Verdict(str, Enum):
    """What follows for the paper from the checks of a statement."""

    HOLDS = "holds"
    MISPRINT = "misprint"  # a slip: what is concluded stands once it is mended
    ASSUMPTION = "missing assumption"  # true once something is added that the paper does not say
    CHANGES = "conclusion changes"  # what is concluded falls
    UNDECIDED = "undecided"  # what was measured speaks neither for it nor against it

    def __str__(self) -> str:
        return self.value


class Claim(NamedTuple):
    """What the paper has for a quantity."""

    relation: str  # =, ≠, < or >
    number: float


class Quantity(NamedTuple):
    """Something compared: its words, and what the paper has for it (None: by the verdict; "": nothing)."""

    says: str
    paper: str | None = None


@dataclass(frozen=True)
class Wording:
    """The words of one check; see the module for the keys.

    Raises:
        WordingError: a key is missing, or the texts do not fit the verdict.
    """

    name: str
    statement: str
    title: str
    part: str = ""
    verdict: Verdict | None = None
    printed: str = ""
    place: str = ""
    holds: str = ""
    remark: str = ""
    maybe_copying: bool = False
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    verdicts: Mapping[Verdict, Mapping[str, str]] = field(default_factory=dict)
    measured: str = ""
    shared: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for verdict in [self.verdict] if self.verdict else self.verdicts:
            _check_texts(self.name, verdict, self._texts(verdict))

    def told(self, verdict: Verdict | None, numbers: Mapping[str, Any]) -> dict[str, Any]:
        """Texts of the result under a verdict, numbers filled in; what holds instead is ``corrected``."""
        if verdict is None:
            raise WordingError(f"{self.name} has no verdict in {FILE}, and its judgement gives none.")
        texts = self._texts(verdict)
        _check_texts(self.name, verdict, texts)
        texts |= {"part": self.part, "title": self.title}
        told = {key: self.filled(texts[key], numbers) for key in ("part", "title", "printed", "place", "remark")}
        told["corrected"] = self.filled(texts["holds"], numbers)
        return told | {"maybe_copying": self.maybe_copying}

    def quantity(self, key: str, numbers: Mapping[str, Any]) -> tuple[str, Claim | str | None]:
        """The words of what a comparison measures, and what the paper has for it ("" or None: see `Quantity`)."""
        if key not in self.quantities:
            raise WordingError(f"{self.name} compares {key!r}, which its quantities in {FILE} do not name.")
        says, paper = self.quantities[key]
        return self.filled(says, numbers), self._claim(self.filled(paper, numbers)) if paper else paper

    def _claim(self, text: str) -> Claim:
        found = re.fullmatch(r"([=≠<>]) *(\S+)", text)
        try:
            return Claim(found[1], float(found[2]))
        except (TypeError, ValueError):
            raise WordingError(
                f"{self.name} has {text!r} for paper in {FILE}; write =, ≠, < or > and a number."
            ) from None

    def _texts(self, verdict: Verdict) -> dict[str, Any]:
        return {key: getattr(self, key) for key in _TEXTS} | dict(self.verdicts.get(verdict, {}))

    def filled(self, text: str, numbers: Mapping[str, Any]) -> str:
        """A text with what it names put in."""

        def fill(found: re.Match) -> str:
            key, spec = found.groups()
            if key not in known:
                raise WordingError(f"The words of {self.name} name {key!r}, which its judgement does not give.")
            try:
                return self.filled(format(known[key], spec or ""), numbers)
            except (ValueError, TypeError) as error:
                raise WordingError(f"The words of {self.name} write {key!r} as {spec!r}: {error}.") from error

        known = {"measured": self.measured, **self.shared, **numbers}
        told = _PLACE.sub(fill, text)
        if left := re.search(r"<<\w.{0,20}", told):
            raise WordingError(f"The words of {self.name} leave {left[0]!r} open; close it with >>.")
        return re.sub("[ \n]+", " ", told).strip(" ")  # spaces that do not break stay


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which YAML keeps the last and says nothing."""

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise WordingError(f"{key.value!r} stands there a second time in line {line} of {FILE}; keep one.")
            seen.add(key.value)
        return node


def _shared_by_all() -> dict[str, str]:
    return yaml.safe_load(resources.files(__package__).joinpath(FILE).read_text("utf-8"))["shared"]


@cache
def wording(room: str) -> dict[str, Wording]:
    """The words of every check of a room (a package such as ``attngeo.chapters.two_scores``), by name.

    Raises:
        WordingError: the file is missing or malformed.
    """
    try:
        content = yaml.load(resources.files(room).joinpath(FILE).read_text("utf-8"), _Loader)
        if unknown := sorted(set(content) - {"shared", "by_intervals", "checks"}):
            raise WordingError(f"{FILE} of {room} has an unknown key {unknown[0]!r}; known are shared, checks.")
        shared = _shared_by_all() | content.get("shared", {})
        return {name: _wording(name, dict(entry), shared) for name, entry in content["checks"].items()}
    except WordingError:
        raise
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise WordingError(f"{FILE} of {room} cannot be read: {error}.") from error


def _wording(name: str, entry: dict[str, Any], shared: Mapping[str, str]) -> Wording:
    known = {f.name for f in fields(Wording)} - {"name", "shared"}
    by_verdict = entry.get("verdicts", {})
    for texts, keys in ((entry, known), *((texts, set(_TEXTS)) for texts in by_verdict.values())):
        if unknown := sorted(set(texts) - keys):
            raise WordingError(
                f"{name} has an unknown key {unknown[0]!r} in {FILE}; known are {', '.join(sorted(keys))}."
            )
    if missing := sorted({"statement", "title"} - set(entry)):
        raise WordingError(f"{name} has no {missing[0]} in {FILE}.")
    if "verdict" in entry and by_verdict:
        raise WordingError(f"{name} has a verdict and verdicts that follow from the numbers in {FILE}; keep one.")
    entry["statement"] = str(entry["statement"])  # 2.1 reads as a number
    entry["quantities"] = {key: _quantity(value, name) for key, value in entry.get("quantities", {}).items()}
    no_text = {"maybe_copying", "quantities", "verdicts"}
    for texts in (
        *by_verdict.values(),
        *({key: text for key, q in entry["quantities"].items() if (text := q[i]) is not None or not i} for i in (0, 1)),
        {k: v for k, v in entry.items() if k not in no_text},
    ):
        for key, text in texts.items():
            if not isinstance(text, str):
                raise WordingError(f"{key!r} of {name} is {text!r} in {FILE} and not text; put it in quotes.")
    if "verdict" in entry:
        entry["verdict"] = _verdict(entry["verdict"], name)
    entry["verdicts"] = {_verdict(verdict, name): texts for verdict, texts in by_verdict.items()}
    return Wording(name=name, shared=shared, **entry)


def _quantity(value: Any, name: str) -> Quantity:
    if not isinstance(value, Mapping):
        return Quantity(value)
    if unknown := sorted(set(value) - set(Quantity._fields)):
        raise WordingError(f"{name} has an unknown key {unknown[0]!r} in {FILE}; known are says, paper.")
    return Quantity(value.get("says"), value.get("paper"))


def _verdict(value: Any, name: str) -> Verdict:
    try:
        return Verdict(value)
    except ValueError:
        known = ", ".join(verdict.value for verdict in Verdict)
        raise WordingError(f"{name} has the verdict {value!r} in {FILE}; known are {known}.") from None


def _check_texts(name: str, verdict: Verdict, texts: Mapping[str, Any]) -> None:
    """Refuse texts that a verdict does not go with, or that it lacks."""
    if verdict is Verdict.HOLDS:
        needed, barred = (), ()
    elif verdict is Verdict.UNDECIDED:
        needed, barred = ("printed", "place", "remark"), ("holds",)
    elif verdict is Verdict.CHANGES:  # without a remedy it says why instead
        needed, barred = ("printed", "place", "holds" if texts["holds"] else "remark"), ()
    else:
        needed, barred = ("printed", "place", "holds"), ()
    for key in needed:
        if not texts[key]:
            raise WordingError(f"{name} is {verdict!s} and has no {key} in {FILE}.")
    for key in barred:
        if texts[key]:
            raise WordingError(f"{name} is {verdict!s} and has {key} in {FILE}, which is for other verdicts.")
