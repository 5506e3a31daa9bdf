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
            "5 language encoders of about this size with rotary positions have",
        ),
        (
            made(4, 0.3) + made(1, 0.5, size=2 * 768**2) + made(1, 0.6, size=49 * 768**2),
            "of any size with rotary positions have",
        ),
        (made(4, 0.3) + made(1, 0.5, positions="alibi"), "any type of positional encoding have"),
        (made(4, 0.3), "There is no comparison, because fewer than 5 language encoders are recorded."),
        (made(4, 0.3) + made(9, 0.5, part="decoder"), "There is no comparison, because fewer than 5"),
        (made(5, 0.3) + made(9, 0.5, modality="vision", model_type="vit"), "5 language encoders of"),
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
        assert f"symmetry of {middle:.2f} (lowest {chosen[0]:.2f}, highest {chosen[-1]:.2f})." in said
        assert ("There are fewer than 5 records of about this size." in said) == ("of any size with rotary" in said)
        assert ("There are fewer than 5 records with rotary positions." in said) == ("any type" in said)


def test_a_model_is_not_compared_with_itself(monkeypatch):
    models = tuple(made(6, 0.3, positions="rotary"))
    monkeypatch.setattr(recorded_models, "recorded_models", lambda: models)
    for symmetry, number in ((0.31004, 5), (0.3105, 6)):
        assert f"For comparison, {number} language" in comparison("encoder", "rotary", "bert", 12, 768, symmetry)
    assert "For comparison, 6 language" in comparison("encoder", "rotary", "bert", 6, 768, 0.31)  # of another size


def test_a_type_of_several_modalities_is_compared_on_a_condition():
    condition = " Do not compare with them unless this is a language model."
    assert comparison("encoder", "learned", "bert", 12, 768).endswith(condition)
    assert condition not in comparison("decoder", "learned", "gpt2", 12, 768)
    for unknown in ("MultiheadAttention", "a type of my own"):
        assert comparison("encoder", "learned", unknown, 12, 768).endswith(condition)
    assert "Do not compare" not in comparison("encoder", "learned", "timm", 12, 768)


def test_models_of_proteins_are_called_protein_models(monkeypatch):
    models = tuple(made(5, 0.3, modality="proteins", model_type="mine"))
    monkeypatch.setattr(recorded_models, "recorded_models", lambda: models)
    assert "For comparison, 5 protein encoders of" in comparison("encoder", "learned", "mine", 12, 768)


def test_models_of_images_are_compared_with_models_of_images():
    assert "12 vision encoders of about this size with learned position embeddings have" in comparison(
        "encoder", "learned", "vit", 12, 768
    )
    assert "vision encoders of about" in comparison("encoder", "learned", "timm", 12, 768)
    assert "language encoders of about" in comparison("encoder", "learned", "a type of my own", 12, 768)
    assert comparison("encoder", "", "bert", 12, 768).partition(" encoders ")[2].startswith("of about this size have")
