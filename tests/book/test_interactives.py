"""Each interactive in Chromium, worked by keyboard."""

import base64

import numpy as np
import pytest
import torch
from interactive_page import open_interactive
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from attngeo import score
from attngeo.chapters.bilinear_form.forward_pass import WORDS as SENTENCE
from attngeo.chapters.bilinear_form.forward_pass import forward_pass
from attngeo.chapters.context_and_prediction.painter import WORDS as TOKENS
from attngeo.chapters.context_and_prediction.painter import painter
from attngeo.chapters.introduction.one_start import LAYER, one_start
from attngeo.chapters.pretrained_survey.bets import EACH, drawn, place_your_bet, wins
from attngeo.chapters.pretrained_survey.clean_figure import FIGURE, WORDS, area, clean_figure
from attngeo.chapters.pretrained_survey.explorer import explorer
from attngeo.chapters.pretrained_survey.separation import of_figure
from attngeo.chapters.symmetric_initialisation.control_matrix import StartPair, experiments, main_experiments
from attngeo.chapters.symmetric_initialisation.crossings import first_crossing
from attngeo.chapters.symmetric_initialisation.gain import STARTS, made_of
from attngeo.chapters.symmetric_initialisation.recorded_runs import encoders, recorded
from attngeo.chapters.symmetric_initialisation.roulette import roulette
from attngeo.chapters.two_scores.build_a_matrix import ROWS, TURNED, build_a_matrix, built
from attngeo.chapters.two_scores.null_ruler import null_ruler
from attngeo.forms.null_laws import LEVEL, laws_of_shape
from attngeo.paper.published import printed_table
from attngeo.records import checkout
from attngeo.runs.estimates import NEVER
from attngeo.runs.numbers_in_words import as_nats, with_interval
from attngeo.runs.record import read_run
from attngeo.survey.measured import named, read_records
from attngeo.survey.released_results import released_results
from attngeo.updates.rank_one import by_context, by_prediction, rank_one_terms

pytestmark = pytest.mark.book


def numbers(element, marks=","):
    """The numbers in an element's text, with a minus sign or a hyphen before them; without some marks at their ends."""
    return numbers_in(element.text, marks)


def numbers_in(text, marks=",."):
    words = [word.strip(marks) for word in text.replace("\u2212", "-").replace(",", "").split()]
    return [float(word) for word in words if word.lstrip("-").replace(".", "", 1).isdigit()]


def control(stage, label):
    """The control of that name, as a screen reader would find it."""
    return next(c for c in stage.find_elements(By.CSS_SELECTOR, "input, select, button") if c.accessible_name == label)


def test_training_steps_are_scrubbed_and_played(browser, tmp_path):
    runs = [read_run(checkout.data("runs", "one_start", name)) for name in ("encoder", "decoder")]
    stage = open_interactive(browser, tmp_path, one_start(*runs))
    slider, play = control(stage, "Training step"), control(stage, "Play: Training step")

    def assert_shows(step):
        assert numbers(stage.find_element(By.TAG_NAME, "output")) == [step]
        for run, panel in zip(runs, stage.find_elements(By.CSS_SELECTOR, "[data-model]"), strict=True):
            scores = [run.by_layer(name)[LAYER].loc[step] for name in ("symmetry", "directionality")]
            np.testing.assert_allclose(numbers(panel), scores, atol=0.0051)

    assert_shows(1500)
    slider.send_keys(Keys.ARROW_LEFT)
    assert_shows(1450)
    slider.send_keys(Keys.HOME)
    assert_shows(0)
    first, second = (panel.text.splitlines()[1:] for panel in stage.find_elements(By.CSS_SELECTOR, "[data-model]"))
    assert first == second  # they start equal
    assert len(stage.find_element(By.CSS_SELECTOR, ".cloud").get_attribute("d").split("M")) - 1 == 64 * 63 // 2
    slider.send_keys(Keys.END)
    play.send_keys(Keys.SPACE)  # from the end it starts over
    assert play.text == "Pause"
    play.send_keys(Keys.SPACE)
    assert play.text == "Play" and numbers(stage.find_element(By.TAG_NAME, "output"))[0] < 1500


def test_print_shows_the_still(browser, tmp_path):
    runs = [read_run(checkout.data("runs", "one_start", name)) for name in ("encoder", "decoder")]
    stage = open_interactive(browser, tmp_path, one_start(*runs))
    still = browser.find_element(By.CSS_SELECTOR, "figure > img")
    assert stage.is_displayed() and not still.is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not stage.is_displayed() and still.value_of_css_property("display") == "inline"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_reader_who_asked_for_less_motion_steps_instead(browser, tmp_path):
    runs = [read_run(checkout.data("runs", "one_start", name)) for name in ("encoder", "decoder")]
    asked = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", asked)
    try:
        stage = open_interactive(browser, tmp_path, one_start(*runs))
        control(stage, "Next: Training step").send_keys(Keys.SPACE)  # from the end, over to the start and on
        assert numbers(stage.find_element(By.TAG_NAME, "output")) == [50]
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_matrix_is_built_and_scored_as_python_scores_it(browser, tmp_path):
    shown = build_a_matrix(torch.Generator().manual_seed(0))
    levels = np.frombuffer(base64.b64decode(shown.data["levels"]), dtype=np.int8)
    base = torch.from_numpy(levels.reshape(ROWS, ROWS).astype(float))
    stage = open_interactive(browser, tmp_path, shown)
    keys = ("Symmetry", "Strong columns", "Factor on them", "Turn of the basis")
    symmetry, columns, factor, turn = (control(stage, name) for name in keys)

    def assert_scored(**settings):
        s = score(built(base, **settings))
        expected = [s.symmetry, s.directionality, s.directionality_released, s.directionality_tables]
        texts = [
            span.find_element(By.TAG_NAME, "b") for span in stage.find_elements(By.CSS_SELECTOR, ".ia-scores span")
        ]
        np.testing.assert_allclose([numbers(text)[0] for text in texts], expected, atol=0.0051)
        assert numbers(stage.find_element(By.CSS_SELECTOR, ".ia-said")) == [s.n_rows_over, s.n_columns_over]

    assert_scored(columns=8, factor=4.0)
    turn.send_keys(Keys.END)
    assert_scored(columns=8, factor=4.0, turn=TURNED)
    columns.send_keys(Keys.HOME)
    symmetry.send_keys(Keys.END)
    assert_scored(symmetry=1.0)
    turn.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    symmetry.send_keys(Keys.HOME)
    columns.send_keys(Keys.ARROW_RIGHT)
    factor.send_keys(Keys.END)
    assert_scored(symmetry=-1.0, columns=1, factor=32.0, turn=np.pi / 180)


def test_pairs_are_painted_in_either_order_until_their_sum_is_complete(browser, tmp_path):
    shown, n = painter(), len(TOKENS)
    stage = open_interactive(browser, tmp_path, shown)
    slider, order = control(stage, "Pairs painted"), control(stage, "Order")

    def assert_painted(objective, kind, pairs, of):
        held = shown.data[objective]
        beta, x = (torch.tensor(held[name], dtype=torch.float64) for name in (kind, "x"))
        terms = rank_one_terms(beta, x)
        total = torch.stack([terms[pair] for pair in pairs]).sum(0)
        found = numbers(stage.find_element(By.CSS_SELECTOR, ".ia-said"), ",.")
        expected = [len(pairs), of, beta[pairs[-1]], float(score(total).symmetry)]
        np.testing.assert_allclose(found, expected, atol=0.0051)
        selected = stage.find_elements(By.CSS_SELECTOR, "[aria-selected=true]")
        assert len(selected) == len(pairs)
        return beta, x, total

    causal = [(i, j) for i in range(n) for j in range(i)]
    beta, x, total = assert_painted("autoregressive", "alike", causal, len(causal))
    torch.testing.assert_close(by_prediction(beta, x).sum(0), total)
    slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * 3)
    assert_painted("autoregressive", "alike", [(1, 0), (2, 0), (2, 1)], len(causal))
    order.send_keys(Keys.ARROW_DOWN)
    slider.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * (n - 1))  # token 1 as context, whole
    beta, x, total = assert_painted("autoregressive", "alike", [(i, 0) for i in range(1, n)], len(causal))
    torch.testing.assert_close(by_context(beta, x)[0], total)
    control(stage, "the 1 from the 1: no pair").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    browser.switch_to.active_element.send_keys(Keys.SPACE)  # one cell alone, out of turn
    assert_painted("autoregressive", "alike", [*((i, 0) for i in range(1, n)), (2, 1)], len(causal))
    control(stage, "Objective").send_keys(Keys.ARROW_DOWN)
    assert_painted("bidirectional", "alike", [(i, j) for j in range(n) for i in range(n) if i != j], n * (n - 1))
    control(stage, "Coefficients").send_keys(Keys.ARROW_DOWN)
    assert_painted("bidirectional", "exact", [(i, j) for j in range(n) for i in range(n)], n * n)
    control(stage, "Objective").send_keys(Keys.ARROW_DOWN)
    masked = [i for i in range(n) if i % 3 == 1]
    assert_painted("masked", "exact", [(i, j) for j in range(n) for i in masked], 3 * n)


def test_a_forward_pass_is_stepped_through_for_the_token_followed(browser, tmp_path):
    shown = forward_pass()
    stage = open_interactive(browser, tmp_path, shown)
    step, token = control(stage, "Step"), control(stage, "Token followed")

    def assert_says(mask, at, i):
        row = {name: np.array(values)[i] for name, values in shown.data["passes"][mask].items()}
        norms = {name: [np.linalg.norm(v)] for name, v in row.items()}
        score_of = np.where(row["attended"], row["scores"], -np.inf)
        expected = [
            norms["embeddings"],
            norms["queries"] + norms["keys"],
            [score_of.max()],
            [row["weights"].max(), 1],
            norms["mixed"],
            norms["outputs"],
            [row["probabilities"].max()],
        ]
        said = stage.find_element(By.CSS_SELECTOR, ".ia-said")
        np.testing.assert_allclose(numbers(said, ",."), expected[at], atol=0.0051)
        if at == 3:
            assert SENTENCE[row["weights"].argmax()] in said.text
        pictures = stage.find_elements(By.CSS_SELECTOR, ".ia-steps > div")
        assert sum(picture.is_displayed() for picture in pictures) == [1, 3, 4, 5, 6, 7, 8][at]
        crossed_out = stage.find_elements(By.CSS_SELECTOR, ".ia-cell.none")
        assert len(crossed_out) == (15 if mask == "causal" else 0)

    assert_says("causal", 6, 2)
    step.send_keys(Keys.HOME)
    for at in range(7):
        assert_says("causal", at, 2)
        step.send_keys(Keys.ARROW_RIGHT)
    control(stage, "Mask").send_keys(Keys.ARROW_DOWN)
    token.send_keys(Keys.HOME)
    assert_says("none", 6, 0)
    step.send_keys(*[Keys.ARROW_LEFT] * 3)
    assert_says("none", 3, 0)
    control(stage, "Mask").send_keys(Keys.ARROW_UP)
    assert_says("causal", 3, 0)


def test_two_random_seeds_show_what_table_1_would_print(browser, tmp_path):
    found = main_experiments(experiments(recorded()))
    stage = open_interactive(browser, tmp_path, roulette(found, printed_table("1")))

    def assert_says(experiment, one, other):
        losses = experiment.arms["random"].curves("loss")
        share = first_crossing(losses.index.to_numpy(), losses[one].to_numpy(), losses[other].to_numpy())
        said = stage.find_element(By.CSS_SELECTOR, ".ia-said").text.replace("\N{NO-BREAK SPACE}", " ")
        assert f"{one}" in said and f"{other}" in said
        assert ("%" in said) == (share >= 0) and (share == NEVER or f" {round(100 * share)} %" in said)

    seeds = found[0].arms["random"].seeds
    assert_says(found[0], *seeds[:2])
    control(stage, "Baseline").send_keys(Keys.ARROW_DOWN)
    assert_says(found[0], seeds[0], seeds[2])
    control(stage, "Start").send_keys(Keys.END)
    assert_says(found[0], seeds[-1], seeds[2])
    for _ in range(4):
        control(stage, "Draw two seeds").send_keys(Keys.SPACE)
        one, other = (int(control(stage, name).get_attribute("value")) for name in ("Start", "Baseline"))
        assert one != other
        assert_says(found[0], one, other)
    marks = stage.find_element(By.CSS_SELECTOR, ".wide").get_attribute("d")
    assert marks.count("M") == len(seeds) * (len(seeds) - 1)
    control(stage, "Experiment").send_keys(Keys.ARROW_DOWN)
    assert_says(found[1], *found[1].arms["random"].seeds[:2])


def test_scores_are_laid_beside_what_random_weights_give(browser, tmp_path):
    stage = open_interactive(browser, tmp_path, null_ruler())
    s, d, width = (control(stage, name) for name in ("symmetry s", "directionality d", "Width"))

    def assert_says(d_model, rank, s, d):
        laws = laws_of_shape(d_model, rank)
        judged = (s, laws["symmetry"]), (d, laws["directionality"])
        for line, (value, law) in zip(stage.find_elements(By.CSS_SELECTOR, ".ia-said span"), judged, strict=True):
            ends = [law.mean - law.half_width, law.mean + law.half_width]
            found = numbers(line, ".")
            np.testing.assert_allclose([found[0], *found[2:]], [value, *ends], atol=0.00051)
            assert found[1] == pytest.approx(abs(law.z(value)), abs=0.051)
            assert (law.p(value) < LEVEL) == ("outside" in line.text)

    assert_says(768, 768, s=0.05, d=-0.2)
    s.send_keys(*[Keys.ARROW_LEFT] * 5)
    d.send_keys(Keys.HOME)
    assert_says(768, 768, s=0.0, d=-1.0)
    control(stage, "Matrix").send_keys(*[Keys.ARROW_DOWN] * 2)
    assert_says(768, 64, s=0.0, d=-1.0)
    width.send_keys(Keys.HOME)  # where 12 heads are not on offer
    s.send_keys(Keys.END)
    assert_says(128, 128, s=1.0, d=-1.0)


def test_defects_of_figure_2_are_ticked_away(browser, tmp_path):
    results = released_results()
    points = results[results["figure"] == FIGURE]
    stage = open_interactive(browser, tmp_path, clean_figure(results))

    def toggled(code):
        return next(c for c in boxes if c.accessible_name.startswith(WORDS[code]))

    def assert_separates(left_out, count):
        texts = stage.find_elements(By.CSS_SELECTOR, ".ia-title b")
        expected = [area(points, score, frozenset(left_out)) for score in "sd"]
        np.testing.assert_allclose([numbers(text)[0] for text in texts], expected, atol=0.0051)
        encoders, decoders, of = numbers(stage.find_element(By.CSS_SELECTOR, ".ia-said"), ".")[:3]
        assert (encoders + decoders, of) == (count, len(points))

    boxes = stage.find_elements(By.CSS_SELECTOR, "input[type=checkbox]")
    assert_separates([], len(points))
    assert area(points, "s") == of_figure(FIGURE, "s", results).auc
    toggled("duplicate").send_keys(Keys.SPACE)
    toggled("head-pairing").send_keys(Keys.SPACE)
    assert_separates(["duplicate", "head-pairing"], (~points["defects"].str.contains("duplicate|head-pairing")).sum())
    control(stage, "Leave out all").send_keys(Keys.ENTER)
    assert_separates(WORDS, points["counted"].sum())
    control(stage, "As drawn").send_keys(Keys.ENTER)
    assert_separates([], len(points))


def test_parts_of_the_released_start_are_ticked(browser, tmp_path):
    found = encoders()
    stage = open_interactive(browser, tmp_path, made_of(found))
    boxes = dict(zip(("tie", "scale", "values"), stage.find_elements(By.CSS_SELECTOR, "input"), strict=True))

    def assert_shows(start):
        lines = stage.find_elements(By.CSS_SELECTOR, ".ia-said span")
        shown = 0
        for experiment, line in zip(found, lines, strict=True):
            contrasts = experiment.contrasts([StartPair(start, "random", "")]).values()
            for contrast in contrasts:
                assert with_interval(contrast.difference(), as_nats) in line.text and f"{len(contrast)} " in line.text
            assert (start in line.text) == bool(contrasts)
            shown += len(contrasts)
        values = stage.find_elements(By.CSS_SELECTOR, ".here")
        assert sum(bool(mark.get_attribute("d")) for mark in values) == shown > 0

    ticked = ["tie", "scale", "values"]
    for part, start in (
        (None, "released"),
        ("tie", "default-linear"),
        ("values", "scaled"),
        ("tie", "scaled-symmetric"),
        ("scale", "symmetric"),
    ):
        if part:
            boxes[part].send_keys(Keys.SPACE)
            ticked = [p for p in boxes if (p in ticked) != (p == part)]
        assert STARTS[start] == " ".join(ticked)
        assert_shows(start)


def test_bets_are_placed_before_the_pictures_are_named(browser, tmp_path):
    shown = drawn()
    stage = open_interactive(browser, tmp_path, place_your_bet(shown))
    said, end = stage.find_element(By.CSS_SELECTOR, ".ia-said"), control(stage, "Reveal")
    answers, clouds = (stage.find_elements(By.CSS_SELECTOR, kind) for kind in (".ia-answer", ".ia-chart"))
    for one in shown[1:]:
        control(stage, f"Picture {one.title}").send_keys(Keys.ARROW_DOWN)  # an encoder
    end.send_keys(Keys.ENTER)
    assert shown[0].title in said.text and not any(answer.text for answer in answers)
    assert not any(cloud.is_displayed() for cloud in clouds)
    control(stage, "Mirror clouds, too").send_keys(Keys.SPACE)
    assert all(cloud.is_displayed() for cloud in clouds)
    control(stage, f"Picture {shown[0].title}").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)  # a decoder
    end.send_keys(Keys.SPACE)
    right = sum(one.part == ("encoder" if k else "decoder") for k, one in enumerate(shown))
    assert numbers(said)[:6] == [right, 2 * EACH, EACH, wins(shown, "s"), EACH**2, wins(shown, "d")]
    for k, (one, answer) in enumerate(zip(shown, answers, strict=True)):
        assert f"{one.model}, {one.part} layer {one.layer}" in answer.text
        np.testing.assert_allclose(numbers(answer)[-2:], [one.s, one.d], atol=0.0051)
        assert answer.text.startswith("right" if one.part == ("encoder" if k else "decoder") else "wrong")


def test_models_are_explored_by_layer_and_head(browser, tmp_path):
    scores = named(read_records(checkout.data("survey"))[0])
    stage = open_interactive(browser, tmp_path, explorer(scores))
    model, layer, head = (control(stage, name) for name in ("Model", "Layer", "Head"))

    def assert_shows(name, part, at, one):
        rows = scores[(scores["model"] == name) & (scores["part"] == part)]
        lines = stage.find_elements(By.CSS_SELECTOR, ".ia-said span")
        for of_head, line in zip((-1, one), lines, strict=False):
            row = rows[(rows["layer"] == at) & (rows["head"] == of_head)].iloc[0]
            laws = laws_of_shape(int(row["d_model"]), int(row["rank"]))
            for field, words in zip(("symmetry", "directionality"), line.text.split(";"), strict=True):
                law = laws[field]
                expected = [row[field], law.mean - law.half_width, law.mean + law.half_width]
                np.testing.assert_allclose(numbers_in(words)[-3:], expected, atol=0.0051)
                assert ("outside" in words) == (row[f"{field}_p"] < LEVEL)
        dots = [path.get_attribute("d").count("M") for path in stage.find_elements(By.CSS_SELECTOR, ".point")]
        counts = [(rows["head"] == -1).sum(), (rows["layer"] == at).sum() - 1]
        assert [dots[0] + dots[1], dots[4] + dots[5]] == counts

    assert_shows("Whisper base", "encoder", 0, 0)
    layer.send_keys(Keys.END)
    head.send_keys(Keys.ARROW_RIGHT)
    assert_shows("Whisper base", "encoder", 5, 1)
    model.send_keys(Keys.ARROW_DOWN)
    assert_shows("Whisper base", "decoder", 5, 1)
    head.send_keys(Keys.END)
    model.send_keys(Keys.HOME)  # one layer
    assert_shows("BART g2p", "encoder", 0, (scores["model"] == "BART g2p").sum() // 3 - 2)
