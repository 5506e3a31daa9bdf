"""One interactive on a page of its own, as the book makes it but without building the book."""

import json
from pathlib import Path

from livingpaper.display.interactive import Interactive, container

from attngeo.plot import METADATA_KEY

STATIC = Path(__file__).parents[1] / "book" / "_static"


def open_interactive(browser, folder: Path, shown: Interactive, theme: str = "light"):
    """Write the page into the folder, open it, and return the element that the script has filled."""
    output, metadata = shown._repr_mimebundle_()
    about = json.loads(json.dumps(metadata[METADATA_KEY]))  # as a notebook keeps it
    figure = about["figure"]["name"]
    data = container(**about["interactive"], figure=figure)
    scripts = (STATIC / "interactive.js", STATIC / "interactives" / f"{shown.name}.js")
    page = folder / f"{shown.name}.html"
    page.write_text(
        f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>{shown.name}</title>'
        f'<link rel="stylesheet" href="{(STATIC / "interactive.css").as_uri()}">'
        + "".join(f'<script src="{script.as_uri()}"></script>' for script in scripts)
        + f'</head><body><main class="bd-article"><figure id="{figure}"><img alt="still" src="data:,">'
        f"<figcaption>caption</figcaption></figure>{data}</main></body></html>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(page.as_uri())
    errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors, errors
    assert output["image/svg+xml"]  # the still is there for print and for readers without scripts
    return browser.find_element("css selector", f"#{figure}.ia-live .interactive")
