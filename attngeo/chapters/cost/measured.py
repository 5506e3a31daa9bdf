"""What ``make benchmarks`` recorded in ``data/benchmarks``, as tables: medians over rounds of all ways in turn."""

import json
from statistics import median
from typing import Any

import pandas as pd

from attngeo.files.checkout import data

PRODUCTS = {  # of two (d, d) matrices, by way
    "tiles, float32": 1,
    "Gram products, float32": 5,
    "tiles, factors rounded to bfloat16": 1,
    "three bfloat16 products, summed in float32": 3,
}


def rows(module: str, test: str) -> list[dict[str, Any]]:
    """The rows of every benchmark of that module whose name begins so."""
    return [row for entry in _entries(module, test) for row in entry["rows"]]


def about(module: str, test: str) -> dict[str, Any]:
    """With what the first of these benchmarks was measured: date, commit, processor, threads, versions."""
    return _entries(module, test)[0]["about"]


def layers(test: str = "test_sum_over_heads") -> pd.DataFrame:
    """A row per layer: seconds of each way, ``ratio`` (released / ours) and ``alone`` (released / one product)."""
    table = pd.DataFrame(
        [row | {way: median(s) for way, s in row["seconds"].items()} for row in rows("scores", test)]
    ).drop(columns="seconds")
    table["ratio"] = table["released"] / table["ours"]
    return table.assign(alone=table["released"] / table["product"]) if "product" in table else table


def other_ways() -> pd.DataFrame:
    """What was tried for float32 factors: products of size d, times as fast as the released way, error of a norm."""
    ways = layers("test_other_ways")
    return pd.DataFrame(
        {
            "way": ways["way"],
            "products": ways["way"].map(PRODUCTS),
            "times as fast": ways["ratio"],
            "error of a norm": [error["norms"] for error in ways["errors"]],
        }
    )


def everything_else() -> pd.DataFrame:
    """Other work, ours beside what it stands in for; seconds of processor time."""
    heads = layers("test_heads").query("dtype == 'bfloat16' and key_heads == heads").iloc[0]
    found = [("every head of a layer, d = 4096, bfloat16", heads["ours"], "s", heads["released"], "each head's matrix")]
    for row in rows("reading", "test_reading"):
        ours, whole = row["reading"]["seconds"], row["loading"]["seconds"]
        found.append(("reading queries and keys of 1.2 billion parameters", ours, "s", whole, "loading the model"))
    commands = {row["command"]: median(row["seconds"]) for row in rows("commands", "test_seconds")}
    for name in ("attngeo score gpt2", "attngeo train --help"):
        found.append((f"`{name}`", commands[name], "s", commands["import torch"], "importing torch alone"))
    for row in rows("training", "test_tokens"):
        work = f"training BERT-mini, vocabulary {row['vocabulary']:,}"
        found.append((work, row["ours"], "tokens/s", row["released"], "released configuration"))
    said = [(work, _said(ours, unit), _said(other, unit), what) for work, ours, unit, other, what in found]
    for row in rows("book", "test_build"):
        work = f"building the book, profile {row['profile']}, {row['build']}"
        said.append((work, _said(row["processor_seconds"], "s"), _said(row["seconds"], "s"), "the same by the clock"))
    return pd.DataFrame(said, columns=["work", "ours", "beside it", "which is"])


def _said(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.2g} {unit}"


def _entries(module: str, test: str) -> list[dict[str, Any]]:
    recorded = json.loads(data("benchmarks", f"{module}.json").read_text("utf-8"))
    return [entry for name, entry in recorded.items() if name.startswith(test)]
