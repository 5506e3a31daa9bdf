"""A chapter that is run again with other parameters agrees with itself: its prose says what its figures show.

Each chapter is executed at its defaults and at two settings far from them. Where a number stands in the prose and in a
figure or table at the defaults, it is one quantity. If the figure's number is another one at other parameters, the same
words of the prose may not keep the old one. The normal suite executes one chapter; ``RERUN_CHAPTERS=all`` executes all.
"""

import os
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from attngeo.files.checkout import root

FAR = {  # two settings of each chapter, far from its defaults and from each other
    "directionality": ({"gamma": 3.0, "seed": 3}, {"gamma": 1.0, "n_strong": 128}),
    "two_scores_details": ({"gamma": 3.0, "draws": 60, "seed": 3}, {"gamma": 1.0, "n_strong": 128, "draws": 200}),
    "bilinear_form": ({"symmetry": 0.2, "d": 8, "n_heads": 3, "seed": 7}, {"symmetry": -1.0, "d": 128, "n_heads": 10}),
    "bilinear_form_details": ({"d": 8, "n_heads": 2, "n_tokens": 4}, {"d": 128, "n_heads": 16, "n_tokens": 40}),
    "implicit_gradient": (
        {"d": 8, "n_heads": 2, "n_layers": 2, "n_tokens": 4, "d_wide": 16, "seed": 5},
        {"d": 64, "n_heads": 8, "n_layers": 5, "n_tokens": 16, "d_wide": 128, "draws": 30},
    ),
    "implicit_gradient_details": ({"d": 8, "n_heads": 2, "n_tokens": 4, "seed": 5}, {"d": 64, "n_heads": 8}),
    "context_and_prediction_details": (
        {"n_tokens": 5, "mask_rate": 0.5, "seed": 4},
        {"d": 64, "n_tokens": 40, "mask_rate": 0.05, "draws": 2000},
    ),
    "column_dominance_details": (
        {"exponent": 0.5, "seed": 3},
        {"d": 48, "n_tokens": 32, "exponent": 1.5, "n_draws": 200},
    ),
    "symmetric_updates": (
        {"d": 16, "n_heads": 1, "n_tokens": 8, "seed": 5, "objective": "bidirectional"},
        {"d": 64, "n_heads": 16, "n_tokens": 16, "n_models": 12, "objective": "autoregressive"},
    ),
    "symmetric_updates_details": (
        {"n_vocab": 40, "seed": 5, "rho": 0.4},
        {"d": 64, "n_tokens": 40, "n_vocab": 100, "mask_rate": 0.4},
    ),
    "printed_scores_details": ({"alike": 0.3, "d_head": 32, "seed": 4}, {"alike": 0.6, "d_head": 8, "seed": 9}),
    "why": ({"experiment": "positions_pieces_longer"}, {"experiment": "positions_characters_third", "seeds": 3}),
    "why_details": ({"n_positions": 128, "seed": 5}, {"n_positions": 512, "n_tokens": 10}),
    "pretrained_survey": ({"leave_out": "ALBERT,GPT"}, {"leave_out": "BERT,T5,Whisper"}),
    "constraints": ({"last_step": 400, "seeds": [0, 1]}, {"models": ["encoder"], "last_step": 800}),
    "symmetric_initialisation": (
        {"plans": ["confirm_size_2x128", "confirm_decoder_plain"], "experiment": "encoder, characters", "width": 128},
        {"plans": ["confirm_mini"], "experiment": "decoder, plain text", "seed_pair": [0, 2], "width": 4096},
    ),
    "heads_or_sum": ({"model": "bert-tiny-google"}, {"model": "gpt2-small"}),
}
NOT_RUN = {
    "positions_theory": "its parameters enter checks alone",
    "pretrained_survey_details": "another gamma needs the weights of every model, and figures name the models",
    "symmetric_initialisation_details": "its conclusions are those of recorded runs",
    "training_scores_details": "another model is trained, which takes minutes",
}
IN_THE_SUITE = ("directionality",)
CHAPTERS = FAR if os.environ.get("RERUN_CHAPTERS") == "all" else IN_THE_SUITE
# With its interval, if it has one. Whole numbers and the ends of intervals agree by chance, and S1.4 is a name.
NUMBER = re.compile(r"(?<![\w./])[+−]?\d[\d,]*\.\d+(?: \[[^\]]*\])?")
TICK = re.compile(r"[+−\d.]+")  # of an axis
CONTEXT = 24  # characters before a number, by which it is found again


def numbers(text: str) -> list[tuple[str, str]]:
    """Numbers of a text, each after the words before it, in which other numbers are masked."""
    text = " ".join(text.replace("-", "−").split())
    found = []
    for match in NUMBER.finditer(text):
        before = NUMBER.sub("#", text[: match.start()])[-CONTEXT:]
        found.append((before, match[0].lstrip("+")))
    return found


def prose(notebook: nbformat.NotebookNode) -> str:
    """The text that a reader reads, without its code."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return re.sub(r"^```.*?^```", "", "\n\n".join(cells), flags=re.M | re.S)


def shown(notebook: nbformat.NotebookNode) -> str:
    """The text of figures (legends, captions, alternative texts) and tables."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data, ours = output.get("data", {}), output.get("metadata", {}).get("attngeo", {})
            if "figure" in ours:
                words = re.findall(r"<!-- (.*?) -->", data["image/svg+xml"])
                texts += [text for text in words if not TICK.fullmatch(text)]
                texts += [ours["figure"]["caption"], ours["figure"]["alt"]]
            if "table" in ours:
                texts.append(data["text/markdown"])
    return " | ".join(texts)


def stale(usual: nbformat.NotebookNode, other: nbformat.NotebookNode) -> list[str]:
    """Places of the prose that keep a number which the figures and tables of the other run no longer show."""
    figures, figures_now = numbers(shown(usual)), dict(numbers(shown(other)))
    moved = {}  # numbers of figures that stand at the same place with another value
    for place, number in figures:
        if figures_now.get(place, number) != number:
            moved[number] = figures_now[place]
    still_shown = Counter(number for _, number in numbers(shown(other)))
    now = set(numbers(prose(other)))
    return [
        f"{place}{number}, where a figure has {moved[number]}"
        for place, number in numbers(prose(usual))
        if number in moved and (place, number) in now and not still_shown[number]
    ]


@pytest.fixture
def executed(tmp_path: Path, attngeo):
    """Executes a chapter with some parameters."""

    def execute(chapter: str, **parameters: object) -> nbformat.NotebookNode:
        output = tmp_path / f"{chapter}.ipynb"
        given = [word for name, value in parameters.items() for word in ("-p", name, value)]
        code, _, err = attngeo("run", chapter, *given, "--profile", "smoke", "-o", output)
        assert code == 0, err
        return nbformat.read(output, 4)

    return execute


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_prose_follows_the_parameters_as_figures_do(executed, chapter):
    usual = executed(chapter)
    for setting in FAR[chapter]:
        assert not stale(usual, executed(chapter, **setting)), setting


def run_of(prose: str, legend: str) -> nbformat.NotebookNode:
    """A run with a sentence, and a figure with a legend."""
    figure = {"figure": {"name": "fig", "caption": "A curve.", "alt": "A curve."}}
    data = {"image/svg+xml": f"<svg><!-- limit of Def. 3.2, {legend} --></svg>"}
    output = nbformat.v4.new_output("display_data", data, metadata={"attngeo": figure})
    cells = [nbformat.v4.new_markdown_cell(prose), nbformat.v4.new_code_cell("", outputs=[output])]
    return nbformat.v4.new_notebook(cells=cells)


def test_a_sentence_that_keeps_the_number_of_the_defaults_is_found():
    usual = run_of("$d$ tends to +0.50, as if rows dominated.", "+0.50")
    (found,) = stale(usual, run_of("$d$ tends to +0.50, as if rows dominated.", "-0.15"))
    assert found == "$d$ tends to 0.50, where a figure has −0.15"
    assert not stale(usual, run_of("$d$ tends to −0.15, so columns dominate.", "-0.15"))


def test_every_chapter_with_parameters_is_run_or_named_with_a_reason():
    parameterised = {
        path.stem
        for path in (root() / "notebooks").glob("*.py")
        if re.search(r'^# %% tags=\[.*"parameters"', path.read_text("utf-8"), re.M)
    }
    assert parameterised == set(FAR) | set(NOT_RUN)
    assert all(len(settings) == 2 for settings in FAR.values())
