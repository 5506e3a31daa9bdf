"""BibTeX of the paper and of this book, from the files that hold their facts."""

from pathlib import Path

import yaml
from pybtex.database import BibliographyData, Entry, Person, parse_file


def links(citation: Path) -> str:
    """Markdown links to the paper and, where CITATION.cff names a repository, to the code."""
    facts = yaml.safe_load(citation.read_text("utf-8"))
    addresses = {"The paper": facts["references"][0]["url"], "The code": facts.get("repository-code")}
    return " · ".join(f"[{words}]({address})" for words, address in addresses.items() if address)


def of_the_paper(references: Path, key: str = "saponati2025") -> str:
    """Its entry in the book's bibliography."""
    return _written(key, parse_file(str(references)).entries[key])


def of_this_book(citation: Path, commit: str | None, key: str = "attngeo") -> str:
    """What CITATION.cff says, with the commit that the book was built from."""
    facts = yaml.safe_load(citation.read_text("utf-8"))
    given = {
        "title": f"{{{facts['title']}}}",
        "year": str(facts.get("date-released", ""))[:4],
        "version": facts["version"],
        "url": facts.get("repository-code", ""),
        "note": f"commit {commit}" if commit else "",
    }
    entry = Entry("software", [(name, text) for name, text in given.items() if text])
    for author in facts["authors"]:
        name = f"{{{author['name']}}}" if "name" in author else f"{author['family-names']}, {author['given-names']}"
        entry.add_person(Person(name), "author")
    return _written(key, entry)


def _written(key: str, entry: Entry) -> str:
    return BibliographyData({key: entry}).to_string("bibtex").strip()
