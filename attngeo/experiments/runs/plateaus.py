"""The loss, in nats per predicted token, above which an encoder has learned little more than token frequencies.

It is half a nat below the entropy of single tokens.
"""

PLATEAU_OF_CHARACTERS = 2.6
PLATEAU = dict.fromkeys(("positions_pieces", "positions_pieces_longer"), 6.2)  # the loss for each experiment


def plateau_of(experiment: str) -> float:
    """The plateau of an experiment in ``data/runs``. All character-level experiments have the same plateau."""
    return PLATEAU.get(experiment, PLATEAU_OF_CHARACTERS)
