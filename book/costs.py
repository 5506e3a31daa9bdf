"""The table of costs on the page *Score yours*, from the measurements of ``make benchmarks`` in ``data/benchmarks``.

``make benchmarks`` writes this table to ``data/benchmarks/costs.md``, which the page includes.
"""

import json
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "data" / "benchmarks"
TABLE = RECORDS / "costs.md"


def costs(records: Path = RECORDS) -> str:
    """The table in Markdown, followed by a sentence on where and when we timed the scores."""
    lines = ["| what is done | cost | another way | its cost |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in _rows(records)]
    return "\n".join([*lines, "", _provenance(records), ""])


def _rows(records: Path) -> list[tuple[str, str, str, str]]:
    found = []
    for row in _measured(records, "scores", "test_sum_over_heads"):
        if row["d"] == 8192:
            work = f"both scores of a layer, summed over its {row['heads']} heads: width 8192, {row['dtype']}"
            seconds = {way: median(values) for way, values in row["seconds"].items()}
            found.append((work, _seconds(seconds["ours"]), "forming $\\Wqk$ in float32", _seconds(seconds["released"])))
    for row in _measured(records, "scores", "test_heads"):
        if row["dtype"] == "bfloat16" and row["key_heads"] == row["heads"]:
            work = f"both scores of each of the {row['heads']} heads of a layer: width {row['d']}, {row['dtype']}"
            seconds = {way: median(values) for way, values in row["seconds"].items()}
            other = "forming the matrix of each head in float32"
            found.append((work, _seconds(seconds["ours"]), other, _seconds(seconds["released"])))
    for row in _measured(records, "reading", "test_reading"):
        work = "reading the queries and keys of a model of 1.2 billion parameters"
        reading, loading = row["reading"]["seconds"], row["loading"]["seconds"]
        found.append((work, _seconds(reading), "loading the whole model", _seconds(loading)))
    commands = {row["command"]: median(row["seconds"]) for row in _measured(records, "commands", "test_seconds")}
    found.append(
        (
            "`attngeo score` of GPT-2 from a local folder",
            _seconds(commands["attngeo score gpt2"]),
            "importing torch alone",
            _seconds(commands["import torch"]),
        )
    )
    for row in _measured(records, "training", "test_tokens"):
        work = f"`attngeo train` of BERT-mini with a vocabulary of {row['vocabulary']:,}"
        speeds = [f"{row[way]:,.0f} tokens/s" for way in ("ours", "released")]
        found.append((work, speeds[0], "the configuration of the paper's code", speeds[1]))
    return found


def _provenance(records: Path) -> str:
    about = _entries(records, "scores", "test_sum_over_heads")[0]["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"The scores were timed on {about['date']} at commit {about['commit'][:10]}, with"
        f" {about['threads']} thread of this processor: {about['cpu']} ({versions})."
    )


def _seconds(value: float) -> str:
    return f"{value:.2g} s"


def _measured(records: Path, module: str, test: str) -> list[dict[str, Any]]:
    """The rows of every benchmark in a module whose name begins with ``test``."""
    return [row for entry in _entries(records, module, test) for row in entry["rows"]]


def _entries(records: Path, module: str, test: str) -> list[dict[str, Any]]:
    recorded = json.loads((records / f"{module}.json").read_text("utf-8"))
    return [entry for name, entry in recorded.items() if name.startswith(test)]
