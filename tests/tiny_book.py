"""A book of a few tiny chapters in a folder of its own, for the tests of the machinery."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADER = """# ---
# jupyter:
{attngeo}#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # {title}
#
"""


def chapter(title: str, *cells: str, parameters: str = "", attngeo: str = "{}") -> str:
    """The text of a chapter. A cell that starts with ``#`` is one of Markdown."""
    blocks = [HEADER.format(title=title, attngeo=f"#   attngeo: {attngeo}\n")]
    if parameters:
        blocks.append(f'# %% tags=["parameters"]\n{parameters}\n')
    blocks += [f"# %% [markdown]\n{cell}\n" if cell.startswith("#") else f"# %%\n{cell}\n" for cell in cells]
    return "\n".join(blocks)


def tiny_book(root: Path, profiles: dict[str, str] | None = None, **chapters: str) -> Path:
    """Write the chapters, in this order in the table of contents, with the machinery of the real book.

    Returns:
        The checkout, ``root``.
    """
    for folder in ("notebooks/profiles", "book/_static", "data"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for script in (ROOT / "book").glob("*.py"):
        shutil.copy(script, root / "book")
    shutil.copytree(ROOT / "book" / "_ext", root / "book" / "_ext", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in chapters.items():
        (root / "notebooks" / f"{name}.py").write_text(text, encoding="utf-8")
    for name, text in {"smoke": "{}", "cpu": "{}", "gpu": "{}", **(profiles or {})}.items():
        (root / "notebooks" / "profiles" / f"{name}.yml").write_text(text, encoding="utf-8")
    first, *rest = chapters
    lines = ["format: jb-book", f"root: notebooks/{first}", "parts:", "- numbered: true", "  chapters:"]
    lines += [f"  - file: notebooks/{name}" for name in rest]
    (root / "_toc.yml").write_text("\n".join(lines if rest else lines[:2]) + "\n", encoding="utf-8")
    shutil.copy(ROOT / "_config.yml", root)
    (root / "data" / "published").mkdir(exist_ok=True)
    shutil.copy(ROOT / "data" / "published" / "statements.csv", root / "data" / "published")
    shutil.copy(ROOT / "book" / "_static" / "custom.css", root / "book" / "_static")
    (root / "book" / "references.bib").write_text("", encoding="utf-8")
    for link in ("_config.yml", "_toc.yml", "notebooks"):
        if not (root / "book" / link).is_symlink():
            (root / "book" / link).symlink_to(f"../{link}")
    return root
