"""Training with an initialisation: configuration, BERT as encoder or decoder, targets, constraints, trainer, recorder.

`corpora` turns text into blocks of tokens. What a run leaves on disk is read by the room `runs`.
"""

from attngeo.training.constraints import Constraint
from attngeo.training.initialisations import Initialisation
from attngeo.training.live_models import initialise

__all__ = ["Constraint", "Initialisation", "initialise"]
