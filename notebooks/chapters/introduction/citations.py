"""BibTeX of the paper and of this book, from the files that hold their facts."""

from pathlib import Path

import yaml
from pybtex.database import BibliographyData, parse_file

from attngeo.files.provenance import repository


def links(root: Path) -> str:
    """Markdown links to the paper and, where it has an address, to the code."""
    facts = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    addresses = {"The paper": facts["references"][0]["url"], "The code": repository(root)}
    return " · ".join(f"[{words}]({address})" for words, address in addresses.items() if address)


def of_the_paper(references: Path, key: str = "saponati2025") -> str:
    """Its entry in the book's bibliography."""
    return BibliographyData({key: parse_file(str(references)).entries[key]}).to_string("bibtex").strip()


def of_this_book(root: Path, commit: str | None) -> str:
    """What CITATION.cff says, with the commit that the book was built from."""
    facts = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    given = {
        "author": " and ".join(f"{{{author['name']}}}" for author in facts["authors"]),
        "title": f"{{{facts['title']}}}",
        "year": f"{facts['date-released']}"[:4],
        "version": facts["version"],
        "url": repository(root),
        "note": f"commit {commit}" if commit else "",
    }
    fields = ",\n".join(f'    {name} = "{text}"' for name, text in given.items() if text)
    return f"@software{{attngeo,\n{fields}\n}}"
