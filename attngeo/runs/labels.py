"""What recorded runs are called: encoder or decoder, their text and what tells them apart."""

from collections.abc import Sequence

from attngeo.runs.numbers_in_words import as_rate
from attngeo.runs.record import Run

PARTS = {"mlm": "encoder", "clm": "decoder", "released-decoder": "decoder, masked positions only"}  # by objective


def text(run: Run) -> str:
    """``wikipedia, characters``, or ``wikipedia, 160 pieces`` for text as it is, by the size of the vocabulary."""
    spelling = "characters" if run.config["text"] == "spaced" else f"{run.config['vocab_size']} pieces"
    return f"{run.about['corpus']['name']}, {spelling}"


def distinct_labels(runs: Sequence[Run]) -> list[str]:
    """A run's text, and of its configuration what tells runs of one text apart."""
    details = [
        {
            "model": f"{r.config['layers']} layers of {r.config['d_model']}",
            "block": f"blocks of {r.config['block_size']}",
            "batch": f"{r.config['batch_size']} blocks a step",
            "dropout": f"dropout {r.config['dropout']:g}",
            "rate": f"learning rate {as_rate(r.config['lr'])}",
            "steps": f"{r.config['steps']} steps",
        }
        for r in runs
    ]
    labels = []
    for run, own in zip(runs, details, strict=True):
        same = [d for other, d in zip(runs, details, strict=True) if text(other) == text(run)]
        labels.append(", ".join([text(run), *(own[k] for k in own if len({d[k] for d in same}) > 1)]))
    return labels
