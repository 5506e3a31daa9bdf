"""attngeo: symmetry and directionality of query-key matrices, and the checks of the paper that defined them."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

__version__ = "0.2.0"

_CHECKPOINTS = ("Attention", "AttentionLayer", "Tower", "open_checkpoint", "open_model", "register_architecture")
_ELSEWHERE = {**dict.fromkeys(_CHECKPOINTS, "checkpoints"), "AttngeoError": "errors"}
_SCORES = ("Scores", "directionality_score", "score", "score_heads", "symmetry_score")
_ELSEWHERE |= {**dict.fromkeys(_SCORES, "bilinear.scores"), "BilinearForm": "bilinear.form"}
_TABLES = ("ModelRow", "ModelTable", "ScoreTable")
_ELSEWHERE |= {**dict.fromkeys(_TABLES, "bilinear.tables"), "ScoreRow": "bilinear.rows"}
_ELSEWHERE["score_table"] = "checkpoints.rows"
_ELSEWHERE["initialise"] = "initialisations"
_ELSEWHERE["ScoreCallback"] = "trainer_callback"
__all__ = [
    "Attention",
    "AttentionLayer",
    "AttngeoError",
    "BilinearForm",
    "ModelRow",
    "ModelTable",
    "ScoreRow",
    "ScoreTable",
    "Scores",
    "Tower",
    "__version__",
    "directionality_score",
    "initialise",
    "open_checkpoint",
    "open_model",
    "register_architecture",
    "score",
    "score_heads",
    "score_table",
    "symmetry_score",
]
if find_spec("accelerate") and find_spec("transformers"):  # else not all of it could be imported
    __all__ += ["ScoreCallback"]

if TYPE_CHECKING:
    from attngeo.bilinear.form import BilinearForm
    from attngeo.bilinear.rows import ScoreRow
    from attngeo.bilinear.scores import Scores, directionality_score, score, score_heads, symmetry_score
    from attngeo.bilinear.tables import ModelRow, ModelTable, ScoreTable
    from attngeo.checkpoints.architectures import Attention, Tower, register_architecture
    from attngeo.checkpoints.attention_layer import AttentionLayer
    from attngeo.checkpoints.models import open_model
    from attngeo.checkpoints.opening import open_checkpoint
    from attngeo.checkpoints.rows import score_table
    from attngeo.errors import AttngeoError
    from attngeo.initialisations import initialise
    from attngeo.trainer_callback import ScoreCallback as ScoreCallback


def __getattr__(name: str):
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'attngeo' has no attribute {name!r}")
    from attngeo.errors import MissingExtra, absent

    try:
        return getattr(import_module(f"attngeo.{_ELSEWHERE[name]}"), name)
    except MissingExtra as error:  # help(), dir() and hasattr() ask for every name
        return absent(name, error)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ELSEWHERE})
