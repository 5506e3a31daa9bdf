"""A chapter that is run again with other parameters agrees with itself: its prose says what its figures show.

``RERUN_CHAPTERS=all`` executes each chapter at its defaults and at two settings far from them, which takes minutes. The
normal suite compares the pages of the smoke book with those of their variants (``test_in_browser.py``).
"""

import os
import re
from pathlib import Path

import nbformat
import pytest
from stale_numbers import stale

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


@pytest.mark.skipif(os.environ.get("RERUN_CHAPTERS") != "all", reason="RERUN_CHAPTERS=all is not set")
@pytest.mark.parametrize("chapter", FAR)
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
