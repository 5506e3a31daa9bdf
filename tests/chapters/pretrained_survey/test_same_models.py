import math

import pandas as pd

from attngeo.chapters.pretrained_survey.same_models import same_models
from attngeo.survey.families import with_kinds

OURS = {"symmetry": 0.3, "directionality_tables": -0.1, "directionality_released": -0.2}
STACKS = with_kinds(
    pd.DataFrame(
        [
            {"model": model, "part": part} | OURS
            for model, part in [
                ("GPT-2", "decoder"),
                ("BERT base CTPE", "encoder"),
                ("deit-tiny-patch16-224", "encoder"),
                ("FLAN-T5 small titler", "decoder"),
                ("Sapiens VH", "encoder"),
                ("Whisper base encoder", "encoder"),
            ]
        ]
    )
)


def test_a_model_stands_beside_itself_or_its_base_and_others_nowhere():
    table = same_models(STACKS).set_index("model")
    assert list(table.index) == ["GPT-2", "BERT base CTPE", "deit-tiny-patch16-224", "FLAN-T5 small titler"]
    assert table["same"].tolist() == [True, False, True, False]
    assert table.loc["BERT base CTPE", "released"] == "bert-base-uncased"
    assert round(table.loc["GPT-2", "s_released"], 2) == 0.15


def test_d_is_by_the_formula_of_its_figure():
    d = same_models(STACKS).set_index("model")["d"]
    assert d["GPT-2"] == -0.1 and d["deit-tiny-patch16-224"] == -0.2 and math.isnan(d["FLAN-T5 small titler"])
