"""Words such as "Theorem 2.4 of the paper" become links to where the book treats it.

Where that is, the book says itself: a block titled "Def. 3.2 of the paper: ..." with the label ``def-3-2`` treats
Definition 3.2. What no block states (figures, tables, sections, equations) is with its statement or in the chapter that
``statements.csv`` names.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

import pandas as pd
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

_KINDS = {
    "": r"Def(?:\.|inition)|Prop(?:\.|osition)|Thm\.|Theorem|Cor(?:\.|ollary)|Lemma|Remark",
    "Eq. ": r"Eqs?\.|Equations?",
    "Table ": r"Tables?",
    "Figure ": r"Figures?|Fig\.",
    "Section ": r"Section|Appendix",
}
_NUMBER = r"S?\d+(?:\.\d+)*"
_MORE = rf"(?:(?:,? and| to|,|–)?\s(?:Section |Appendix )?(?:{_NUMBER}|\([^()]+\)))*"
_NAMED = re.compile(rf"\b({'|'.join(_KINDS.values())})\s({_NUMBER}){_MORE}\s+of\s+the\s+paper\b(?!['’])")
_BLOCK = re.compile(r"\{prf:\w+\} (.+) of the paper.*\n# :label: (\w+-(?:s?\d+-\d+|[a-z]+))\n")
_BARE = (nodes.title, nodes.literal, nodes.FixedTextElement, nodes.math, nodes.reference)
_BARE += (addnodes.pending_xref, addnodes.desc_signature)


def places(texts: Mapping[str, str], listed: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Where the book treats what, by its number in the paper: ``3.2``, ``Eq. S21``, ``Figure 2``, ``Section 4.1``.

    Args:
        texts: of the chapters, by page.
        listed: `attngeo.claims.published.statements`.

    Returns:
        Page and label on it, or "".
    """
    blocks, found = {}, {}
    for page, text in texts.items():
        for title, label in _BLOCK.findall(text):  # parts have longer labels
            numbers = _equations(title) if title.startswith("Eq") else re.findall(r"S?\d+\.\d+", title)
            blocks |= dict.fromkeys(numbers, (page, label))
    for section, chapters in listed.groupby("section").chapter.unique().items():
        if len(chapters) == 1:
            found[f"Section {section}"] = (f"notebooks/{chapters[0]}", "")
    for number, row in listed.iterrows():
        place = blocks.get(number, (f"notebooks/{row.chapter}", ""))
        found[f"Section {number}" if row.kind == "recipe" else number] = place
        found |= dict.fromkeys(_equations(row.equations), place)
    return {number: place for number, place in (found | blocks).items() if place[0] in texts}


def _equations(text: str) -> Iterator[str]:
    for prefix, first, last in re.findall(r"(S?)(\d+)(?:(?:-| to )S?(\d+))?", text):
        yield from (f"Eq. {prefix}{n}" for n in range(int(first), int(last or first) + 1))


class PaperLinks(SphinxPostTransform):
    """Links the paper's numbers in running text: never in headings, code, links or the line of a check."""

    default_priority = 5  # before references are resolved

    def run(self, **kwargs) -> None:
        """Link what the page names."""
        for block in list(self.document.findall(nodes.TextElement)):
            around = list(_upwards(block))
            if any(isinstance(node, _BARE) or _opens_a_check(node) for node in around):
                continue
            above = {name for node in around for name in node.get("ids", [])}
            children: list[nodes.Node] = []
            for is_text, group in groupby(block.children, lambda child: isinstance(child, nodes.Text)):
                together = list(group)  # a line break in the source ends a text
                children += self._linked("".join(n.astext() for n in together), above) if is_text else together
            block.children = []
            block.extend(children)

    def _linked(self, text: str, above: set[str]) -> Iterator[nodes.Node]:
        end = 0
        for match in _NAMED.finditer(text):
            kind = next(kind for kind, words in _KINDS.items() if re.fullmatch(words, match[1]))
            page, label = self.env.attngeo_places.get(kind + match[2], ("", ""))
            if page and label not in above and (label or page != self.env.docname):
                yield nodes.Text(text[end : match.start()])
                words = nodes.inline("", match[0])
                yield make_refnode(self.app.builder, self.env.docname, page, label, words)
                end = match.end()
        yield nodes.Text(text[end:])


def _upwards(node: nodes.Node | None) -> Iterator[nodes.Element]:
    while node is not None:
        yield node
        node = node.parent


def _opens_a_check(node: nodes.Node) -> bool:
    place = node.parent.index(node) if node.parent else 0
    before = node.parent[place - 1] if place else None
    return isinstance(before, nodes.raw) and before.astext().rstrip().endswith("<summary>")
