"""Quotations of the paper: passages in quotation marks, what two passages have in common, and where the paper has them.

Two passages are the same if their `tokens` are: words, numbers and signs, without what only sets them
(``data/published/README.md`` lists it).
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

_HEDGES = re.compile(
    r"\b(?:almost|approximately|assum(?:e|es|ed|ing|ptions?)|could|evidence|generally|in general|intuitively|likely|may"
    r"|might|most|on average|optionally|posit|predicts? that|should|suggests?|typically|usually)\b"
)
_LOOKS = re.compile(
    r"\\(?:begin|end)\{\w+\}|\\\\|\\[,;:! ]"
    r"|\\(?:left|right|middle|[bB]igg?[lr]?|q?quad|limits|substack"
    r"|text|operatorname|math(?:bf|cal|bb|rm|it))(?![A-Za-z])"
    r"|(?<!\^)(?<!\^ )\*+"  # Markdown's emphasis; the star of t^* stays
)
_TOKEN = re.compile(r"\\[A-Za-z]+|\\[|{}%]|[A-Za-z]+|\d+(?:\.\d+)?|[^\s{}$&~]")
_SAME = {"\\geq": "\\ge", "\\leq": "\\le", "\\neq": "\\ne", "\\top": "T", "\\lVert": "\\|", "\\rVert": "\\|"}
_SAME |= {"\\mid": "|", "\\tfrac": "\\frac", "\\dfrac": "\\frac", "\\Pr": "Pr", "\\%": "%", "\\dots": "\\ldots"}
_SIGNS = str.maketrans({"–": "-", "—": "-", "−": "-", "’": "'", "“": '"', "”": '"', "≈": "\\approx ", "\xa0": " "})
_SIGNS |= {
    ord(c): f"\\{name.lower() if 'SMALL' in full else name.capitalize()} "
    for c in map(chr, range(0x391, 0x3CA))
    if (full := unicodedata.name(c, "")) and (name := full.split()[-1])
}
_KINDS = "Proposition|Theorem|Definition|Remark|Corollary|Lemma|Figure|Table|Section"
_NUMBER = r"S?\d+(?:\.\d+)*"
_PLACE = re.compile(
    rf"(?P<after>[Aa]fter )?(?P<kind>{_KINDS}|Eq)s?\.? "
    rf"(?P<numbers>{_NUMBER}(?:(?:, and |, | and | to |-){_NUMBER})*)|(?P<web>[Ww]eb page)"
)


def tokens(text: str) -> tuple[str, ...]:
    """Words, numbers and signs of a passage; its fonts, spaces, braces, sizes and kinds of dash are not among them."""
    plain = _LOOKS.sub(" ", text.translate(_SIGNS))
    return tuple(_SAME.get(token, token) for token in _TOKEN.findall(plain))


def hedges(text: str) -> set[str]:
    """The words of a passage that say less than that something is so."""
    return set(_HEDGES.findall(" ".join(tokens(text)).lower()))


def quotations(text: str) -> list[str]:
    """Passages in quotation marks."""
    return re.findall(r'"([^"]+)"', text.translate(_SIGNS))


def contains(passage: str, quotation: str) -> bool:
    """Whether a passage has the words of a quotation, between its marks of omission in their order.

    ``[W]e`` is the passage's ``we``.
    """
    return _stretch(tokens(passage), quotation) is not None


def places(text: str) -> set[str]:
    """What a text refers to: ``Section 4.1``, ``Theorem S1.12``, ``Eq. S98``, ``after Eq. S98``, ``web page``."""
    return {place for found in _PLACE.finditer(text.replace("Appendix", "Section")) for place in _meant(found)}


def excerpt_of(quotation: str, at: Iterable[str], excerpts: Mapping[str, list[str]]) -> tuple[str, str] | None:
    """Place and text of the excerpt that a quotation is from, of those at some places; None if there is none."""
    those = ((place, text) for place in at for text in excerpts.get(place, ()))
    return next((found for found in those if contains(found[1], quotation)), None)


def passage_at(place: str, paper: str) -> str:
    """What a place names of the text: a section, caption or statement, what ends in an equation or follows it."""
    if place == "web page":
        return paper
    kind, number = place.rsplit(" ", 1)
    if kind.endswith("Eq."):
        tags = list(re.finditer(r"\((?:\\text\{)?(S?\d+)\}?\)\s*\$\$", paper))
        i = next(i for i, tag in enumerate(tags) if tag[1] == number)
        before, after = [0, *(t.end() for t in tags)], [*(t.end() for t in tags), len(paper)]
        return paper[before[i + 1] : after[i + 1]] if kind.startswith("after") else paper[before[i] : after[i]]
    if kind in ("Figure", "Table"):
        return re.search(rf"^{kind} {number}: .*$", paper, re.M)[0]
    headings = list(re.finditer(r"^(S?\d(?:\.\d+)*)\.? (?=[A-Z]).{,110}$", paper, re.M))
    if kind == "Section":
        start = next(h.start() for h in headings if h[1] == number)
        ends = [h.start() for h in headings if not h[1].startswith(f"{number}.")]
    else:
        start = re.search(rf"^{kind} {number}\.", paper, re.M).start()
        statements = re.finditer(rf"^(?:Proof\.|(?:{_KINDS}) S?[\d.]+\. )", paper, re.M)
        ends = [m.start() for m in (*headings, *statements)]
    return paper[start : min((end for end in ends if end > start), default=None)]


def sentence_around(quotation: str, passage: str) -> str:
    """The sentence or sentences of a passage in which a quotation stands, as tokens with spaces between."""
    words = tokens(passage)
    start, end = _stretch(words, quotation)
    stops = [-1, *(i for i, word in enumerate(words) if word == "."), len(words)]
    return " ".join(words[stops[bisect_left(stops, start) - 1] + 1 : stops[bisect_left(stops, end - 1)]])


def _stretch(words: tuple[str, ...], quotation: str) -> tuple[int, int] | None:
    """From where to where words have a quotation; None if they do not."""
    start, end = None, 0
    quotation = re.sub(r"^\[([A-Za-z])\](?=[a-z])", lambda bracketed: bracketed[1].swapcase(), quotation)
    for part in re.split(r"\s*(?:\[?\.\.\.\]?|…)\s*", quotation):
        sought = tokens(part)
        at = (i for i in range(end, len(words) - len(sought) + 1) if words[i : i + len(sought)] == sought)
        if (first := next(at, None)) is None:
            return None
        start, end = first if start is None else start, first + len(sought)
    return start, end


def _meant(found: re.Match) -> Iterator[str]:
    if found["web"]:
        yield "web page"
        return
    kind, last = f"{(found['after'] or '').lower()}{found['kind']}" + ("." if found["kind"] == "Eq" else ""), 0
    for joined, prefix, end in re.findall(r"(, and |, | and | to |-|^)(S?(?:\d+\.)*)(\d+)", found["numbers"]):
        for n in range(last + 1 if joined in (" to ", "-") else int(end), int(end) + 1):
            yield f"{kind} {prefix}{n}"
            if kind == "Eq." and n > 1:  # what stands between two equations is after the one, and the other's
                yield f"after Eq. {prefix}{n - 1}"
            if kind == "after Eq.":
                yield f"Eq. {prefix}{n + 1}"
        last = int(end)
