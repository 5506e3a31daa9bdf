"""Plans of surveys: what they say, what is measured, and what counts for and against, with a Hub on this machine."""

import json
import math

import hub_server
import pandas as pd
import pytest
import torch
import yaml
from chapters.why.survey_plan import AGAINST, FOR, OPEN, Measured, outcomes, read_plan, run
from small_models import small_model

from attngeo import open_checkpoint
from attngeo.bilinear.coherence import head_coherence
from attngeo.bilinear.waves import octave_scores
from attngeo.errors import CheckpointError, ParameterError
from attngeo.files.checkout import data

TWELVE = data("survey_plans", "twelve_models.yml")
SMALL = {
    "question": "one",
    "state": "nobody has run it",
    "measures": {"symmetry": "s", "coin_rank": "rank", "octave": "s of an octave"},
    "explanations": {"paper": "the objective", "table": "the table"},
    "models": [
        {"name": "bert", "source": "owner/bert", "objective": "masked", "positions": "table"},
        {"name": "gpt2", "source": "owner/gpt2", "objective": "next", "positions": "table"},
    ],
    "predictions": [
        {
            "measure": "symmetry",
            "model": "bert",
            "minus": "gpt2",
            "predicts": {"paper": [-2, None], "table": [2, None]},
        },
        {"measure": "octave", "octave": 8, "minus_octave": 4, "model": "bert", "predicts": {"table": [None, 3]}},
    ],
}


def write(folder, **changes):
    path = folder / "plan.yml"
    path.write_text(yaml.safe_dump(SMALL | changes))
    return path


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A Hub with two models, one of them in a .bin file."""
    torch.manual_seed(0)
    for name in ("bert", "gpt2"):
        model, folder = small_model(name)(), tmp_path / "hub" / "owner" / name
        model.save_pretrained(folder)
        if name == "bert":
            (folder / "model.safetensors").unlink()
            torch.save(model.state_dict(), folder / "pytorch_model.bin")
    hub = hub_server.FakeHub(tmp_path / "hub")
    hub.stand_in(monkeypatch, tmp_path)
    yield hub
    hub.close()


def test_the_plan_of_twelve_models_is_complete_and_says_that_nobody_has_run_it():
    plan = read_plan(TWELVE)
    assert "Nobody has run this plan" in plan.state
    assert {prediction.model for prediction in plan.predictions} >= {m.name for m in plan.models} - {
        *("gpt2", "ettin-decoder", "clm", "bert", "alias-1000", "alias-10000", "alias-100000"),
        *("multiberts-200k", "multiberts-600k"),  # measured to show the course between first and last
    }
    series = ("multiberts", "alias")
    groups = {next((name for name in series if m.name.startswith(name)), m.name) for m in plan.models}
    assert len(groups) == 12
    predicted = {name for prediction in plan.predictions for name in prediction.predicts}
    silent = set(plan.explanations) - predicted
    assert silent == {"early_correlation"} and "predicts nothing" in " ".join(
        plan.explanations["early_correlation"].split()
    )


def test_no_value_counts_for_two_explanations_that_the_plan_opposes():
    for prediction in read_plan(TWELVE).predictions:
        if {
            "paper",
            "table",
        } <= prediction.predicts.keys() and prediction.words != "symmetry of diffugpt minus that of gpt2":
            low, high = sorted(
                (-math.inf if least is None else least, math.inf if greatest is None else greatest)
                for least, greatest in (prediction.predicts[name] for name in ("paper", "table"))
            )
            assert low[1] <= high[0] or high[1] <= low[0], prediction.words


def rows(model, symmetry):
    return [{"model": model, "symmetry": s, "coin_rank": 0.5} for s in symmetry]


def test_values_count_for_and_against_by_medians_over_layers(tmp_path):
    plan = read_plan(write(tmp_path))
    measured = Measured(layers=rows("bert", [0.9, 0.5, 0.1]) + rows("gpt2", [0.0, 0.1, 0.2]))
    measured.octaves = [
        {"model": "bert", "octave": octave, "symmetry": s} for octave, s in ((4, -0.5), (4, -0.3), (8, 0.9), (8, 0.7))
    ]
    found = outcomes(plan, measured)
    assert [(row["value"], row["counts"]) for row in found] == [
        (pytest.approx(0.4), FOR),
        (pytest.approx(0.4), AGAINST),
        (pytest.approx(1.2), FOR),
    ]
    assert {row["counts"] for row in outcomes(plan, Measured(layers=rows("bert", [0.9])))} == {OPEN}


def test_the_models_of_a_plan_on_the_hub_are_measured(hub, capsys, tmp_path):
    path, folder = write(tmp_path), tmp_path / "out"
    run(path, folder)
    assert capsys.readouterr().out.count("symmetry of bert minus that of gpt2") == 2
    layers = pd.read_csv(folder / "layers.csv")
    octaves = pd.read_csv(folder / "octaves.csv").set_index(["model", "layer", "octave"])
    for name in ("bert", "gpt2"):
        local = open_checkpoint(hub.root / "owner" / name)
        for plan, layer in zip(local.plans, local, strict=True):
            row = layers[(layers["model"] == name) & (layers["layer"] == layer.layer)].iloc[0]
            expected = head_coherence(layer.form)
            assert row["coherence_skew"] == pytest.approx(expected.skew, rel=1e-4)
            assert row["coin_rank"] == pytest.approx(expected.rank, rel=1e-4)
            scores = octave_scores(layer.form, local.position_rows(plan))
            for octave, (symmetry, _) in scores.items():
                assert octaves.loc[(name, layer.layer, octave), "symmetry"] == pytest.approx(float(symmetry), abs=1e-4)
    record = json.loads((folder / "record.json").read_text())
    assert record["revisions"] == dict.fromkeys(("bert", "gpt2"), hub_server.COMMIT) and record["failed"] == {}


def test_a_model_that_is_not_there_leaves_the_others_measured(hub, capsys, tmp_path):
    models = [SMALL["models"][0], SMALL["models"][1] | {"source": "owner/none"}]
    with pytest.raises(
        CheckpointError, match=r"(?s)gpt2: owner/none is neither a file or folder.*1 of 2 models not measured"
    ):
        run(write(tmp_path, models=models), tmp_path / "out")
    printed = capsys.readouterr().out
    assert printed.count(OPEN) == 2 and printed.count(FOR) >= 1


def test_without_the_hub_it_ends_in_one_sentence(hub, tmp_path):
    hub.go_away()
    with pytest.raises(CheckpointError, match=r"no model of the plan could be read.*cannot be reached"):
        run(write(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


WRONG = {
    "unknown model": ({"predictions": [SMALL["predictions"][0] | {"minus": "t5"}]}, "about 't5'"),
    "unknown measure": ({"predictions": [SMALL["predictions"][0] | {"measure": "d"}]}, "about 'd'"),
    "unknown explanation": ({"predictions": [SMALL["predictions"][0] | {"predicts": {"x": [0, 1]}}]}, "about 'x'"),
    "no octave": ({"predictions": [SMALL["predictions"][1] | {"octave": 0}]}, "needs an octave"),
    "one name twice": ({"models": SMALL["models"] * 2}, "one name"),
    "another key": ({"models": [SMALL["models"][0] | {"size": 3}]}, "size"),
}


@pytest.mark.parametrize("changes, named", WRONG.values(), ids=WRONG)
def test_a_plan_that_contradicts_itself_is_refused(changes, named, tmp_path, as_user):
    with pytest.raises(ParameterError, match=f"is no plan of a survey .*{named}"):
        read_plan(write(tmp_path, **changes))
