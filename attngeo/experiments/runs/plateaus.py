"""The loss above which an encoder knows little more than how frequent each token is, in nats per predicted token.

It is half a nat below the entropy of single tokens.
"""

PLATEAU_OF_CHARACTERS = 2.6
PLATEAU = dict.fromkeys(("positions_pieces", "positions_pieces_longer"), 6.2)  # the loss for each experiment


def plateau_of(experiment: str) -> float:
    """That of an experiment in ``data/runs``; experiments on single characters share one."""
    return PLATEAU.get(experiment, PLATEAU_OF_CHARACTERS)
