"""Each interactive in Chromium, worked by keyboard."""

import base64
import json

import numpy as np
import pytest
import torch
from chapters.bilinear_form.forward_pass import forward_pass
from chapters.bilinear_form.word_scores import word_scores
from chapters.context_and_prediction import painter
from chapters.introduction.front_figure import SIDE, front_figure
from chapters.introduction.models_by_size import language_models, models_by_size
from chapters.introduction.three_words import NUMBERS, three_words
from chapters.positions.pictures import EXPERIMENT, KERNELS, LAYER, RUNS, pictured
from chapters.two_scores.build_a_matrix import ROWS, build_a_matrix, built
from click.testing import CliRunner
from interactive_page import open_interactive
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from attngeo import score, symmetry_score
from attngeo.cli import cli
from attngeo.experiments.runs.record import read_run
from attngeo.files import checkout
from attngeo.gradients.rank_one import gradient_sum, rank_one_terms, token_update
from attngeo.gradients.toy_transformer import WORDS

pytestmark = pytest.mark.book
NAMED = """return [...arguments[0].querySelectorAll('input, select, button')]
  .find(c => (c.ariaLabel || c.labels[0]?.textContent || c.textContent).startsWith(arguments[1]))"""


def numbers(of, marks=",.;"):
    """The numbers in a text, or an element's, signs before them, without marks at their ends."""
    text = of if isinstance(of, str) else of.text
    words = [word.strip(marks) for word in text.replace("\u2212", "-").replace(",", "").split()]
    return [float(word) for word in words if word.lstrip("-").replace(".", "", 1).isdigit()]


def control(stage, label):
    """The control whose name begins so."""
    return stage.parent.execute_script(NAMED, stage, label)


def sentence(stage):
    return stage.find_element(By.CSS_SELECTOR, ".ia-said")


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, atol=0.0051)  # two decimals


def test_training_steps_are_scrubbed_and_played_with_both_kinds_of_positions(browser, tmp_path):
    stage = open_interactive(browser, tmp_path, pictured())
    slider, play, kind = (control(stage, name) for name in ("Training step", "Play", "Positions"))

    def assert_shows(step, kind="table"):
        assert numbers(stage.find_element(By.TAG_NAME, "output")) == [step]
        for name, panel in zip(RUNS[kind], stage.find_elements(By.CSS_SELECTOR, "[data-model]"), strict=True):
            run = read_run(checkout.data("runs", EXPERIMENT, name))
            scores = [run.by_layer(name)[LAYER].loc[step] for name in ("symmetry", "directionality")]
            assert_near(numbers(panel), scores)
            assert panel.find_elements(By.TAG_NAME, "canvas")[-1].is_displayed() is (kind == "table")

    assert_shows(1500)
    slider.send_keys(Keys.HOME)
    assert_shows(0)
    first, second = (panel.text.splitlines()[1:] for panel in stage.find_elements(By.CSS_SELECTOR, "[data-model]"))
    assert first == second  # they start equal
    slider.send_keys(Keys.END)
    assert_shows(1500)
    kind.send_keys("rotary")
    slider.send_keys(Keys.ARROW_LEFT)
    assert_shows(1450, "rotary")
    assert len(stage.find_element(By.CSS_SELECTOR, ".cloud").get_attribute("d").split("M")) - 1 == 64 * 63 // 2
    slider.send_keys(Keys.END)
    play.send_keys(Keys.SPACE)  # from the end it starts over
    assert play.text == "Pause"
    play.send_keys(Keys.SPACE)
    assert play.text == "Play" and numbers(stage.find_element(By.TAG_NAME, "output"))[0] < 1500


def front_panels(stage):
    return stage.find_elements(By.CSS_SELECTOR, "[data-model]")


def squares(stage):
    """What the two squares show: the rows of each canvas, reds, greens and blues."""
    read = """return [...arguments[0].querySelectorAll('canvas')].map(canvas => {
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return [canvas.width, ...[...data].filter((_, k) => k % 4 < 3)]; })"""
    return [
        np.array(values[1:]).reshape(values[0], values[0], 3) for values in stage.parent.execute_script(read, stage)
    ]


def runs_of_figure():
    return {name: read_run(checkout.data("runs", EXPERIMENT, name)) for pair in RUNS.values() for name in pair}


@pytest.fixture
def calm(browser):
    asked = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", asked)
    yield
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_front_figure_shows_scores_of_the_runs_folds_and_switches(browser, tmp_path, calm):
    stage, runs = open_interactive(browser, tmp_path, front_figure()), runs_of_figure()
    slider, fold, whole = (control(stage, name) for name in ("Training step", "Fold", "Show a part"))

    def assert_shows(step, kind):
        assert numbers(stage.find_element(By.TAG_NAME, "output")) == [step]
        for name, panel, ring in zip(
            RUNS[kind], front_panels(stage), stage.find_elements(By.CSS_SELECTOR, ".front-ring"), strict=True
        ):
            layers = runs[name].by_layer("symmetry").loc[step]
            assert_near(numbers(panel.find_element(By.CSS_SELECTOR, ".front-head > span + b")), [layers.median()])
            assert_near(numbers(panel.find_element(By.CSS_SELECTOR, ".front-note"))[-1], layers[LAYER])
            along = float(ring.get_attribute("cx")) > 170
            assert along is (kind == "rotary")

    assert_shows(1500, "table")  # a reader who asked for less motion sees the end
    encoder, decoder = squares(stage)
    assert encoder.shape == decoder.shape == (16, 16, 3)
    assert encoder[8, 8, 2] > encoder[8, 8, 0] and decoder[0, 0, 0] > decoder[0, 0, 2]  # blue, orange
    fold.send_keys(Keys.SPACE)
    folded, other = squares(stage)
    assert (np.diagonal(folded) == 255).all() and (np.diagonal(other) == 255).all()  # minus itself
    far = [np.abs(square.astype(int) - 255).mean() for square in (encoder, folded, decoder, other)]
    assert far[1] < far[0] / 2 and far[1] / far[0] < far[3] / far[2]  # less is left in the encoder
    shares = [numbers(panel.find_element(By.CSS_SELECTOR, ".front-note"))[0] for panel in front_panels(stage)]
    assert shares[0] < 5 < 10 < shares[1]
    fold.send_keys(Keys.SPACE)
    whole.send_keys(Keys.SPACE)
    assert squares(stage)[0].shape == (SIDE, SIDE, 3)
    whole.send_keys(Keys.SPACE)
    control(stage, "rotary").send_keys(Keys.SPACE)
    assert_shows(1500, "rotary")
    assert squares(stage)[0].shape == (SIDE, SIDE, 3) and not whole.is_enabled()
    assert "decoder has the higher symmetry score" in stage.text
    slider.send_keys(Keys.HOME)
    assert_shows(0, "rotary")


def test_a_cell_of_the_front_figure_is_read_with_its_mirror_image(browser, tmp_path, calm):
    stage = open_interactive(browser, tmp_path, front_figure())
    square = stage.find_element(By.CSS_SELECTOR, ".front-square")
    square.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)  # row 2, column 3
    with np.load(checkout.data("runs", EXPERIMENT, KERNELS)) as kernels:
        expected = [kernels[model][-1][at] / 127 for model in ("encoder", "decoder") for at in ((1, 2), (2, 1))]
    said = stage.find_element(By.CSS_SELECTOR, ".front-tell").text
    assert "position 2 to position 3" in said and "position 3 to position 2" in said
    assert_near([value for value in numbers(said.replace("+", "")) if value not in (2, 3)], expected)
    assert len(square.find_elements(By.TAG_NAME, "rect")) == 2
    square.send_keys(Keys.ESCAPE)
    assert not square.find_elements(By.TAG_NAME, "rect")


def test_the_front_figure_plays_once_by_itself_and_stops_where_it_is_asked_to(browser, tmp_path):
    stage = open_interactive(browser, tmp_path, front_figure())
    step = stage.find_element(By.TAG_NAME, "output")
    WebDriverWait(browser, 60).until(lambda _: numbers(step)[0] > 0)
    pause = control(stage, "Pause")
    pause.send_keys(Keys.SPACE)
    assert pause.text == "Play"


def test_numbers_between_three_words_are_changed_and_scored(browser, tmp_path):
    stage = open_interactive(browser, tmp_path, three_words())
    m = np.array(NUMBERS, dtype=float)

    def assert_scored():
        below = (m * m).sum()
        expected = [(m * m.T).sum(), below, symmetry_score(torch.from_numpy(m))]
        assert_near(numbers(stage.find_element(By.CSS_SELECTOR, ".front-sum")), expected)

    assert_scored()
    cell = control(stage, "dog to dog")
    cell.send_keys(Keys.ARROW_RIGHT, Keys.SPACE)  # the arrow moves the focus to the next cell
    m[0, 1] += 1
    assert_scored()
    control(stage, "dog to met").send_keys(Keys.SPACE, Keys.SPACE)
    m[0, 1] = -3
    assert_scored()
    assert control(stage, "met to dog").get_attribute("class").split()[-1] == "here"
    control(stage, "Mirror").send_keys(Keys.SPACE)
    m = np.triu(m) + np.triu(m, 1).T
    assert_scored()
    control(stage, "Flip").send_keys(Keys.SPACE)
    m = np.triu(m, 1) - np.triu(m, 1).T
    assert_scored()


def test_models_are_named_filtered_and_told_apart(browser, tmp_path):
    models = language_models()
    stage = open_interactive(browser, tmp_path, models_by_size(models))
    said, slider = stage.find_element(By.CSS_SELECTOR, ".model-said"), control(stage, "Name a model")
    assert len(stage.find_elements(By.CSS_SELECTOR, ".ia-chart .model")) == len(models)
    slider.send_keys(Keys.HOME)
    smallest = models.sort_values("parameters").iloc[0]
    assert said.text.startswith(f"{smallest['name']} (a toy): s = ") and "260 thousand parameters" in said.text
    assert_near(numbers(said.text.split(",")[0])[-1], smallest["s"])
    slider.send_keys(Keys.END)
    assert models.sort_values("parameters").iloc[-1]["name"] in said.text
    control(stage, "rotary").send_keys(Keys.SPACE)
    rotary = models[models["positions"] == "rotary"]
    assert int(slider.get_attribute("max")) == len(rotary) - 1 and "rotary position embeddings" in said.text
    faint = stage.find_elements(By.CSS_SELECTOR, ".model.faint")
    assert len(faint) == len(models) - len(rotary)


def test_a_table_of_scores_is_pasted_and_nothing_else(browser, tmp_path):
    stage = open_interactive(browser, tmp_path, models_by_size(language_models()))
    box, answer = (
        stage.find_element(By.CSS_SELECTOR, of) for of in (".model-yours textarea", ".model-yours + .ia-said")
    )

    def paste(table):
        text = table if isinstance(table, str) else json.dumps(table)
        into = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        browser.execute_script(into, box, text)
        return answer.text

    ours = checkout.data("runs", "one_start", "encoder-weights")
    rows = json.loads(CliRunner().invoke(cli, ["score", str(ours), "--per-head", "--format", "json"]).stdout)
    first, s = rows[0], np.median([row["symmetry"] for row in rows if row["head"] == -1])
    said = paste(rows)
    assert said.startswith("Your model encoder-weights (encoder) has the symmetry score s = ")
    assert numbers(said.replace(";", ""))[:3] == [round(s, 2), 4, 4]
    dots = ".yours circle"
    assert len(stage.find_elements(By.CSS_SELECTOR, dots)) == 1
    changes = {"symmetry": 2.0}, {"part": "<b>"}, {"head": "all"}, {"d_model": 0}
    for table in ([None], {}, [], *([first | change] for change in changes)):
        assert paste(table) == "This is valid JSON, but it was not written by attngeo score."
    assert paste("[{").startswith("This is not JSON") and "formula" in paste([first | {"convention": "printed"}])
    assert "no layer" in paste([row for row in rows if row["head"] >= 0])
    assert not stage.find_elements(By.CSS_SELECTOR, dots)  # what was there is gone
    assert "<img src=x onerror=alert(1)>" in paste([first | {"model": "<img src=x onerror=alert(1)>"}])
    assert not stage.find_elements(By.TAG_NAME, "img")
    assert paste(" ") == "Your scores stay in this browser and are not uploaded."


def test_print_shows_the_still_and_a_reader_who_asked_for_less_motion_steps(browser, tmp_path):
    asked = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", asked)
    try:
        stage = open_interactive(browser, tmp_path, pictured())
        still = browser.find_element(By.CSS_SELECTOR, "figure > img")
        control(stage, "Next").send_keys(Keys.SPACE)
        assert numbers(stage.find_element(By.TAG_NAME, "output")) == [50]
        assert stage.is_displayed() and not still.is_displayed()
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert not stage.is_displayed() and still.value_of_css_property("display") == "inline"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_a_matrix_is_built_and_scored_as_python_scores_it(browser, tmp_path):
    shown = build_a_matrix(torch.Generator().manual_seed(0))
    levels = np.frombuffer(base64.b64decode(shown.data["levels"]), dtype=np.int8)
    base = torch.from_numpy(levels.reshape(ROWS, ROWS).astype(float))
    stage = open_interactive(browser, tmp_path, shown)
    keys = ("Symmetry before the columns grow", "Strong columns", "Factor on them", "Turn of the basis")
    symmetry, columns, factor, turn = (control(stage, name) for name in keys)

    def assert_scored(**settings):
        s = score(built(base, **settings))
        expected = [s.symmetry, s.directionality, s.directionality_released, s.directionality_tables]
        assert_near([numbers(text)[0] for text in stage.find_elements(By.CSS_SELECTOR, ".ia-scores b")], expected)
        assert numbers(sentence(stage)) == [s.n_rows_over, s.n_columns_over]

    assert_scored(columns=8, factor=4.0)
    turn.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    symmetry.send_keys(Keys.HOME)
    columns.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    factor.send_keys(Keys.END)
    assert_scored(symmetry=-1.0, columns=1, factor=32.0, turn=np.pi / 180)


def test_pairs_are_painted_in_either_order_until_their_sum_is_complete(browser, tmp_path):
    shown, n = painter(), len(WORDS)
    stage = open_interactive(browser, tmp_path, shown)
    slider, order = control(stage, "Pairs painted"), control(stage, "Order")

    def assert_painted(objective, kind, pairs, of):
        held = shown.data[objective]
        beta, x = (torch.tensor(held[name], dtype=torch.float64) for name in (kind, "x"))
        terms = rank_one_terms(beta, x)
        total = torch.stack([terms[pair] for pair in pairs]).sum(0)
        expected = [len(pairs), of, beta[pairs[-1]], float(score(total).symmetry)]
        assert_near(numbers(sentence(stage)), expected)
        assert f"All so far: s = {expected[-1]:.2f}" in stage.text.replace("\N{MINUS SIGN}", "-")
        assert len(stage.find_elements(By.CSS_SELECTOR, "[aria-selected=true]")) == len(pairs)
        return beta, x, total

    causal = [(i, j) for i in range(n) for j in range(i)]
    beta, x, total = assert_painted("autoregressive", "alike", causal, len(causal))
    torch.testing.assert_close(gradient_sum(beta, x), total)
    slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * 2)
    assert_painted("autoregressive", "alike", [(1, 0), (2, 0), (2, 1)], len(causal))
    order.send_keys(Keys.ARROW_DOWN)
    slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * (n - 2))  # token 1 as context, whole
    beta, x, total = assert_painted("autoregressive", "alike", [(i, 0) for i in range(1, n)], len(causal))
    torch.testing.assert_close(token_update(beta, x, 0, "context"), total)
    control(stage, "the 1 from the 1: no pair").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    browser.switch_to.active_element.send_keys(Keys.SPACE)  # one cell alone, out of turn
    assert_painted("autoregressive", "alike", [*((i, 0) for i in range(1, n)), (2, 1)], len(causal))
    control(stage, "Coefficients").send_keys(Keys.ARROW_DOWN)
    control(stage, "Objective").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    masked = [i for i in range(n) if i % 3 == 1]
    assert_painted("masked", "exact", [(i, j) for j in range(n) for i in masked], len(masked) * n)


def test_a_forward_pass_is_stepped_through_for_the_token_followed(browser, tmp_path):
    shown = forward_pass()
    stage = open_interactive(browser, tmp_path, shown)
    step, token = control(stage, "Step"), control(stage, "Token followed")

    def assert_says(mask, at, i):
        row = {name: np.array(values)[i] for name, values in shown.data["passes"][mask].items()}
        norms = {name: [np.linalg.norm(v)] for name, v in row.items()}
        score_of = np.where(row["attended"], row["scores"], -np.inf)
        expected = [norms["embeddings"], norms["queries"] + norms["keys"], [score_of.max()], [1, row["weights"].max()]]
        expected += [norms["mixed"], norms["outputs"], [row["probabilities"].max()]]
        said = sentence(stage)
        assert_near(numbers(said, marks=",.;()"), expected[at])
        if at == 3:
            assert WORDS[row["weights"].argmax()] in said.text
        pictures = stage.find_elements(By.CSS_SELECTOR, ".ia-steps > div")
        assert sum(picture.is_displayed() for picture in pictures) == [1, 3, 4, 5, 6, 7, 8][at]
        assert len(stage.find_elements(By.CSS_SELECTOR, ".ia-cell.none")) == (15 if mask == "causal" else 0)

    step.send_keys(Keys.HOME)
    for at in range(7):
        assert_says("causal", at, 2)
        step.send_keys(Keys.ARROW_RIGHT)
    control(stage, "Mask").send_keys(Keys.ARROW_DOWN)
    token.send_keys(Keys.HOME)
    step.send_keys(*[Keys.ARROW_LEFT] * 3)
    assert_says("none", 3, 0)


def test_scores_of_words_follow_the_symmetry_and_the_pair_that_are_chosen(browser, tmp_path):
    shown = word_scores(16, 0, 1.0)
    stage = open_interactive(browser, tmp_path, shown)
    slider, n = control(stage, "Symmetry score s"), len(WORDS)

    def assert_says(s, i, j):
        parts = (np.array(shown.data[name]).reshape(n, n) for name in ("symmetric", "skew"))
        a, b = (weight * part for weight, part in zip(np.sqrt([(1 + s) / 2, (1 - s) / 2]), parts, strict=True))
        scores = a + b
        weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        said = stage.find_elements(By.CSS_SELECTOR, ".ia-said")[-1]
        words = said.text.replace("%", "").replace("”", " ").replace("“", " ")
        found = numbers(words)[:4]
        assert_near(found[::2], [scores[i, j], scores[j, i]])
        np.testing.assert_allclose(found[1::2], [100 * weights[i, j], 100 * weights[j, i]], atol=0.51)
        assert len(stage.find_elements(By.CSS_SELECTOR, ".here.ia-cell")) == 4  # a pair and its mirror image, twice
        return said.text

    assert "attention weights are not symmetric" in assert_says(1.0, *shown.data["pair"])
    slider.send_keys(Keys.ARROW_LEFT)
    assert "differ by" in assert_says(0.9, *shown.data["pair"])
    slider.send_keys(Keys.HOME)
    assert "skew-symmetric" in assert_says(-1.0, *shown.data["pair"])
    stage.find_element(By.CSS_SELECTOR, "[aria-label^='the to the']").send_keys(Keys.ARROW_RIGHT)
    browser.switch_to.active_element.send_keys(Keys.SPACE)
    assert_says(-1.0, 0, 1)
    points = stage.find_element(By.CSS_SELECTOR, ".cloud").get_attribute("d").count("M")
    assert 0.95 * len(shown.data["tokens"]["skew"]) < points
