"""What `make drills` and `make fuzz` recorded under ``data/drills``, as tables."""

import msgspec
import pandas as pd

from attngeo.bounds import read_json
from attngeo.records.checkout import CheckoutError, data

SIGNALS = {"KILL": "SIGKILL", "TERM": "SIGTERM", "INT": "SIGINT"}  # columns
READERS = {
    "weights": ("safetensors", "torch", "config.json"),
    "records of runs": ("run.json", "history.parquet", "scores.parquet", "images.npz"),
    "records of surveys": ("layers.csv", "record.json"),
    "plans and settings (YAML)": ("experiment.yml", "settings"),
    "training text": ("a.txt", "a.txt.gz", "a.jsonl", "a.csv", "a.parquet", "rows"),
    "tokenizers": ("tokenizer",),
    "caches of token ids": ("tokens",),
    "names of files": ("names",),
}


class Drill(msgspec.Struct):
    """A command that was killed, once or several times, and what the next one came to."""

    kind: str
    kills: list[tuple[str, float, int]]  # signal, share of the undisturbed processor time, exit status
    then: str  # continued, or begun anew
    equal: bool
    wrong: list[str]
    own_process: bool = msgspec.field(name="own process")  # else forked from one that had loaded the libraries


class Kills(msgspec.Struct):
    """``kills.json``."""

    date: str
    commit: str
    device: str
    seed: int
    drills: list[Drill]


class Fuzz(msgspec.Struct):
    """``fuzz.json``: answers by reader, refused or accepted."""

    date: str
    commit: str
    seed: str
    inputs: int
    failed: int
    answers: dict[str, dict[str, int]]


def recorded() -> tuple[Kills, Fuzz]:
    """Both records.

    Raises:
        CheckoutError: one is missing or damaged.
    """
    return _read("kills", Kills), _read("fuzz", Fuzz)


def by_command(drills: list[Drill]) -> pd.DataFrame:
    """A row per command, and their sum: kills by signal, next commands, how many of them ended as undisturbed."""
    rows = [
        {"killed": f"`{one.kind}`"}
        | {column: sum(sent == name for sent, *_ in one.kills) for column, name in SIGNALS.items()}
        | {"next": 1, "same": one.equal and not one.wrong}
        for one in drills
        if one.kills
    ]
    return _summed(pd.DataFrame(rows), "killed")


def by_reader(answers: dict[str, dict[str, int]]) -> pd.DataFrame:
    """A row per kind of file, and their sum: answers, refusals in one sentence, values."""
    rows = [
        {"file": kind, "refused": answers[name].get("refused", 0), "read": answers[name].get("accepted", 0)}
        for kind, names in READERS.items()
        for name in names
    ]
    return _summed(pd.DataFrame(rows), "file")


def _summed(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    summed = rows.groupby(key, sort=False).sum().astype(int)
    return pd.concat([summed, summed.sum().rename("all").to_frame().T]).rename_axis(key)


def _read(name: str, kind: type) -> msgspec.Struct:
    path = data("drills", f"{name}.json")
    return read_json(
        path, kind, lambda why: CheckoutError(f"{path} cannot be read ({why}); restore it from the repository.")
    )
