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
        ours: true               # a statement of this book: the paper has nothing for what is compared
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
shared sentence; in any of these, too. ``<<names:, >>`` joins a list of texts.
"""

import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from attngeo.bounds import checked, read_yaml
from attngeo.errors import AttngeoError

FILE = "checks.yml"
OURS = "ours"  # of the shared sentences, that which marks a statement of this book
_PLACE = re.compile(r"<<(\w+)(?::([^<>]*))?>>")
_TEXTS = ("printed", "place", "holds", "remark")  # may depend on the verdict


class WordingError(AttngeoError):
    """The words of a check or a figure are missing, contradict its verdict, or name a number that is not there."""


class Verdict(str, Enum):
    """What follows for the paper from the checks of a statement."""

    HOLDS = "holds"
    MISPRINT = "misprint"  # a slip: what is concluded stands once it is mended
    ASSUMPTION = "missing assumption"  # true once something is added that the paper does not say
    CHANGES = "conclusion changes"  # what is concluded falls
    UNDECIDED = "undecided"  # what was measured tells neither way, or is too small or too short for what is claimed

    def __str__(self) -> str:
        return self.value


class Claim(NamedTuple):
    """What the paper has for a quantity."""

    relation: str  # =, ≠, < or >
    number: float


class Quantity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something compared: its words, and what the paper has for it (None: by the verdict; "": nothing)."""

    says: str
    paper: str | None = None


class Wording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one check; see the module for the keys.

    Raises:
        WordingError: the texts do not fit the verdict.
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
    ours: bool = False
    maybe_copying: bool = False
    quantities: dict[str, Quantity] = {}
    verdicts: dict[Verdict, dict[Literal[_TEXTS], str]] = {}
    measured: str = ""
    shared: dict[str, str] = {}

    def __post_init__(self) -> None:
        if self.verdict and self.verdicts:
            raise WordingError(f"{self.name} has a verdict and verdicts that follow from numbers in {FILE}; keep one.")
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
        if self.ours:
            told["remark"] = f"{self.shared[OURS]} {told['remark']}".rstrip()
        return told | {"maybe_copying": self.maybe_copying}

    def quantity(self, key: str, numbers: Mapping[str, Any]) -> tuple[str, Claim | str | None]:
        """The words of what a comparison measures, and what the paper has for it ("" or None: see `Quantity`)."""
        if key not in self.quantities:
            raise WordingError(f"{self.name} compares {key!r}, which its quantities in {FILE} do not name.")
        words = self.quantities[key]
        said = "" if words.paper is None and self.ours else words.paper
        paper = self._claim(self.filled(said, numbers)) if said else said
        return self.filled(words.says, numbers), paper

    def _claim(self, text: str) -> Claim:
        found = re.fullmatch(r"([=≠<>]) *(\S+)", text)
        try:
            return Claim(found[1], float(found[2]))
        except (TypeError, ValueError):
            raise WordingError(
                f"{self.name} has {text!r} for paper in {FILE}; write =, ≠, < or > and a number."
            ) from None

    def _texts(self, verdict: Verdict) -> dict[str, Any]:
        return {key: getattr(self, key) for key in _TEXTS} | self.verdicts.get(verdict, {})

    def filled(self, text: str, numbers: Mapping[str, Any]) -> str:
        """A text with what it names put in."""
        return filled(text, {"measured": self.measured, **self.shared, **numbers}, self.name)


class _File(msgspec.Struct, forbid_unknown_fields=True):
    checks: dict[str, dict[str, Any]]
    shared: dict[str, str] = {}
    by_intervals: Any = None


def filled(text: str, known: Mapping[str, Any], whose: str) -> str:
    """A text with what it names put in, and what that names in turn; ``whose`` it is, for messages."""

    def fill(found: re.Match) -> str:
        key, spec = found.groups()
        if key not in known:
            raise WordingError(f"The words of {whose} name {key!r}, which is not given to them.")
        try:
            value, spec = known[key], spec or ""
            return filled(spec.join(value) if isinstance(value, list) else format(value, spec), known, whose)
        except (ValueError, TypeError) as error:
            raise WordingError(f"The words of {whose} write {key!r} as {spec!r}: {error}.") from error

    told = _PLACE.sub(fill, text)
    if left := re.search(r"<<\w.{0,20}", told):
        raise WordingError(f"The words of {whose} leave {left[0]!r} open; close it with >>.")
    return re.sub("[ \n]+", " ", told).strip(" ")  # spaces that do not break stay


def read_words(room: str, file: str, kind: Any) -> Any:
    """A file of words in a room (a package such as ``attngeo.chapters.two_scores``), if it is of a kind.

    Raises:
        WordingError: it is missing or malformed.
    """
    path = Path(str(resources.files(room).joinpath(file)))
    return read_yaml(path, kind, lambda why: WordingError(f"{file} of {room} is not of its form ({why}); mend it."))


@cache
def wording(room: str) -> dict[str, Wording]:
    """The words of every check of a room, by name.

    Raises:
        WordingError: the file is missing or malformed.
    """
    content = read_words(room, FILE, _File)
    shared = read_words(__package__, FILE, dict[str, dict[str, str]])["shared"] | content.shared
    return {name: _wording(name, entry | {"name": name, "shared": shared}) for name, entry in content.checks.items()}


def _wording(name: str, entry: dict[str, Any]) -> Wording:
    if isinstance(entry.get("statement"), float):  # 2.1 reads as a number
        entry["statement"] = str(entry["statement"])
    quantities = entry.get("quantities", {})
    entry["quantities"] = {key: {"says": q} if not isinstance(q, dict) else q for key, q in quantities.items()}
    return checked(entry, Wording, lambda why: WordingError(f"{name} is not of its form in {FILE} ({why}); mend it."))


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
