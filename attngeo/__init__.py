"""attngeo: symmetry and directionality of query-key matrices, and the checks of the paper that defined them."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from attngeo.errors import AttngeoError, MissingExtra, absent

__version__ = "0.2.0"

_MODULES = {  # of the public names, imported when one of them is first used
    "bilinear.form": ("BilinearForm",),
    "bilinear.rows": ("ScoreRow",),
    "bilinear.scores": ("Scores", "directionality_score", "score", "score_heads", "symmetry_score"),
    "bilinear.tables": ("ModelRow", "ModelTable", "ScoreTable"),
    "checkpoints": ("Attention", "AttentionLayer", "Tower", "open_checkpoint", "open_model", "register_architecture"),
    "checkpoints.tables": ("score_table",),
    "initialisations": ("initialise",),
    "trainer_callback": ("ScoreCallback",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
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
    from attngeo.checkpoints.tables import score_table
    from attngeo.initialisations import initialise
    from attngeo.trainer_callback import ScoreCallback as ScoreCallback


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'attngeo' has no attribute {name!r}")
    try:
        return getattr(import_module(f"attngeo.{_MODULE_OF[name]}"), name)
    except MissingExtra as error:  # help(), dir() and hasattr() ask for every name
        return absent(name, error)


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULE_OF})
