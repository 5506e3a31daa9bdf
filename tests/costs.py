"""The table of costs on the page *Score yours*, from the measurements of ``make benchmarks`` in ``data/benchmarks``.

``make benchmarks`` writes this table to ``data/benchmarks/costs.md``, which the page includes.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "data" / "benchmarks"
TABLE = RECORDS / "costs.md"


def costs(records: Path = RECORDS) -> str:
    """The table in Markdown, followed by a sentence on where and when we timed the computation of the scores."""
    lines = ["| task | cost with attngeo | alternative | cost of the alternative |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in _rows(records)]
    about = _entries(records, "scores", "test_sum_over_heads")[0]["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    where = (
        f"We timed the computation of the scores on {about['date']} at commit `{about['commit'][:10]}`,"
        f" with {about['threads']} thread of an {about['cpu']} ({versions})."
    )
    return "\n".join([*lines, "", where, ""])


def _rows(records: Path) -> Iterator[tuple[str, str, str, str]]:
    """What is done, its cost, another way to do it, and the cost of that."""
    for row in _measured(records, "scores", "test_sum_over_heads"):
        if row["d"] == 8192:
            work = f"both scores of a layer, summed over its {row['heads']} heads: width 8192, {row['dtype']}"
            ours, other = _seconds(row["seconds"]["ours"]), _seconds(row["seconds"]["released"])
            yield work, ours, "forming $\\Wqk$ in float32", other
    for row in _measured(records, "scores", "test_heads"):
        if row["dtype"] == "bfloat16" and row["key_heads"] == row["heads"]:
            work = f"both scores of each of the {row['heads']} heads of a layer: width {row['d']}, {row['dtype']}"
            ours, other = _seconds(row["seconds"]["ours"]), _seconds(row["seconds"]["released"])
            yield work, ours, "forming the matrix of each head in float32", other
    for row in _measured(records, "reading", "test_reading"):
        work = "reading the queries and keys of a model of 1.2 billion parameters"
        ours, other = _seconds([row["reading"]["seconds"]]), _seconds([row["loading"]["seconds"]])
        yield work, ours, "loading the whole model", other
    commands = {row["command"]: _seconds(row["seconds"]) for row in _measured(records, "commands", "test_seconds")}
    work = "`attngeo score` of GPT-2 from a local folder"
    yield work, commands["attngeo score gpt2"], "importing torch alone", commands["import torch"]
    for row in _measured(records, "training", "test_tokens"):
        work = f"`attngeo train` of BERT-mini with a vocabulary of {row['vocabulary']:,}"
        ours, other = f"{row['ours']:,.0f} tokens/s", f"{row['released']:,.0f} tokens/s"
        yield work, ours, "the configuration of the authors' code", other


def _seconds(rounds: Sequence[float]) -> str:
    return f"{median(rounds):.2g} s"


def _measured(records: Path, module: str, test: str) -> list[dict[str, Any]]:
    """The rows of every benchmark in a module whose name begins with ``test``."""
    return [row for entry in _entries(records, module, test) for row in entry["rows"]]


def _entries(records: Path, module: str, test: str) -> list[dict[str, Any]]:
    recorded = json.loads((records / f"{module}.json").read_text("utf-8"))
    return [entry for name, entry in recorded.items() if name.startswith(test)]
