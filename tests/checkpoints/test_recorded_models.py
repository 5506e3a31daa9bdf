"""What comparable models score: the file is that of the records, and the rule that widens the comparison."""

from statistics import median

import pytest
from livingpaper.recorded_models import recorded_csv

from attngeo.checkpoints import recorded_models
from attngeo.checkpoints.recorded_models import FILE, Recorded, comparison


def test_the_file_is_that_of_the_records():
    assert FILE.read_text("utf-8") == recorded_csv()
    for model in recorded_models.recorded_models():
        assert model.part in ("encoder", "decoder") and -1 <= model.symmetry <= 1 and model.size > 0


def made(n: int, symmetry: float, **other) -> list[Recorded]:
    usual = {"part": "encoder", "modality": "text", "model_type": "bert", "positions": "learned", "size": 12 * 768**2}
    return [Recorded(model=f"{i}", symmetry=symmetry + i / 100, **usual | other) for i in range(n)]


@pytest.mark.parametrize(
    "models, sentence",
    [
        (
            made(3, 0.3, size=48 * 768**2) + made(2, 0.5, size=3 * 768**2),
            "5 language encoders with rotary positions and of about this size",
        ),
        (
            made(4, 0.3) + made(1, 0.5, size=2 * 768**2) + made(1, 0.6, size=49 * 768**2),
            "and of any size (fewer than 5 of about this size are recorded)",
        ),
        (made(4, 0.3) + made(1, 0.5, positions="alibi"), "any type of positional encoding (fewer than 5 with rotary"),
        (made(4, 0.3), "There is no comparison, because fewer than 5 language encoders are recorded."),
        (made(4, 0.3) + made(9, 0.5, part="decoder"), "There is no comparison, because fewer than 5"),
        (made(5, 0.3) + made(9, 0.5, modality="vision", model_type="vit"), "5 language encoders with"),
    ],
)
def test_a_comparison_is_with_models_of_one_kind_and_widens_by_its_rule(models, sentence, monkeypatch):
    models = [other._replace(positions=other.positions.replace("learned", "rotary")) for other in models]
    monkeypatch.setattr(recorded_models, "recorded_models", lambda: tuple(models))
    said = comparison("encoder", "rotary", "bert", 12, 768)
    assert sentence in said and said.endswith(".")
    if "For comparison" in said:
        chosen = sorted(other.symmetry for other in models if other.part == "encoder" and other.modality == "text")
        middle = median(chosen)
        assert f"is {middle:.2f} in the median and lies between {chosen[0]:.2f} and {chosen[-1]:.2f}." in said


def test_a_model_is_not_compared_with_itself(monkeypatch):
    models = tuple(made(6, 0.3, positions="rotary"))
    monkeypatch.setattr(recorded_models, "recorded_models", lambda: models)
    for symmetry, number in ((0.31004, 5), (0.3105, 6)):
        assert f"symmetry of {number} language" in comparison("encoder", "rotary", "bert", 12, 768, symmetry)
    assert "symmetry of 6 language" in comparison("encoder", "rotary", "bert", 6, 768, 0.31)  # of another size


def test_a_type_of_several_modalities_is_compared_on_a_condition():
    condition = "For comparison, if this is a language model, the symmetry of"
    assert comparison("encoder", "learned", "bert", 12, 768).startswith(condition)
    assert condition not in comparison("decoder", "learned", "gpt2", 12, 768)


def test_models_of_images_are_compared_with_models_of_images():
    assert "12 vision encoders with learned position embeddings and of about" in comparison(
        "encoder", "learned", "vit", 12, 768
    )
    assert "vision encoders with learned" in comparison("encoder", "learned", "timm", 12, 768)
    assert "language encoders with learned" in comparison("encoder", "learned", "a type of my own", 12, 768)
    assert comparison("encoder", "", "bert", 12, 768).partition(" encoders ")[2].startswith("of about this size is")
