"""What a table of scores says in a few sentences: medians, what random weights give, and what lies outside that."""

import math
from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from statistics import median

from attngeo.bilinear.null_laws import LEVEL, laws_of_shape
from attngeo.bilinear.rows import DIMENSION, SPLIT
from attngeo.bilinear.scores import SUM, Convention

Row = dict  # of `attngeo.bilinear.rows.form_rows`
SHOWN = ("symmetry", "directionality")
_NULL = ("symmetry_null_mean", "symmetry_null_sd", "directionality_null_sd")


def outside(row: Row, score: str) -> bool:
    """Whether a score lies outside what 95 % of random weights of that shape give."""
    return row[f"{score}_p"] < LEVEL


def summary(rows: Sequence[Row]) -> list[str]:
    """Lines for below a table: medians, random weights, counts outside, where directionality is too weak."""
    layers, heads = ([row for row in rows if (row["head"] == SUM) is of_layers] for of_layers in (True, False))
    dead = [row for row in rows if is_dead(row)]
    layers, heads = ([row for row in of if not is_dead(row)] for of in (layers, heads))
    lines = [
        f"median over {part} layers: " + ", ".join(f"{s} {median(r[s] for r in own):.4f}" for s in SHOWN)
        for part, own in _grouped(layers, "part")
    ]
    if dead:
        places = [f"{r['part']} layer {r['layer']}" + (f" head {r['head']}" if r["head"] != SUM else "") for r in dead]
        more = f" and {len(places) - 5} more" if len(places) > 5 else ""
        lines.append(f"queries or keys are zero and nothing is scored: {', '.join(places[:5])}{more}")
    if any(map(without_law, rows)):
        return [*lines, "no z and no p: what random weights give is known without gains alone"]
    for kind, own in (("layers", layers), ("heads", heads)):
        for (d, rank), same in _grouped(own, "d_model", "rank"):
            first, share = same[0], share_at_one(same[0])
            s, spread, d_spread = (first[name] for name in _NULL)
            weak = f", too weak here: {share * 100:.0f} % of random {kind} have -1 or 1" if share >= LEVEL else ""
            lines.append(
                f"random {kind} (d = {d}, rank {rank}): symmetry {s:.4f} ± {spread:.4f}, directionality"
                f" 0 ± {d_spread:.3f}{weak}"
            )
    for kind, own in (("layers", layers), ("heads", heads)):
        if own:
            counts = " and ".join(f"{sum(outside(row, s) for row in own)} of {len(own)} {kind} by {s}" for s in SHOWN)
            lines.append(f"* outside what 95 % of random weights give: {counts}")
    return [*lines, *_otherwise(layers)]


def _otherwise(layers: Sequence[Row]) -> list[str]:
    """Where the released code's formula of directionality sets other layers apart: how many, and which to trust."""
    of_definition = [row for row in layers if row["convention"] == Convention.DEFINITION]
    theirs = sum(
        laws_of_shape(row["d_model"], row["rank"], row["gamma"], Convention.RELEASED)["directionality"].p(
            row["directionality_released"]
        )
        < LEVEL
        for row in of_definition
    )
    if theirs == sum(outside(row, "directionality") for row in of_definition):
        return []
    return [
        f"by the released code's formula {theirs} of {len(of_definition)} layers by directionality: trust the"
        f" definition's count, unless you compare with that code"
    ]


def is_dead(row: Row) -> bool:
    """Whether the row's queries or keys are zero, so that its scores of 0 say nothing."""
    return isnan(row["symmetry_p"]) and not without_law(row)


def without_law(row: Row) -> bool:
    """Whether it is not known what random weights give: a gain is folded in."""
    return isnan(row["symmetry_null_mean"])


def share_at_one(row: Row) -> float:
    """Share of random weights of that shape with a directionality of -1 or 1: from 5 % on, no value lies outside."""
    return laws_of_shape(row["d_model"], row["rank"], row["gamma"], row["convention"])["directionality"].p(1.0)


def cells(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Names of columns and rounded cells, for people; a star follows what lies outside random weights' values."""
    with_heads = any(row["head"] != SUM for row in rows)
    if DIMENSION in rows[0]:
        return _split_cells(rows, with_heads)
    names = ["part", "layer", *(["head"] if with_heads else [])]
    names += [name for score in SHOWN for name in (score, "z", "p")] + ["rows over", "columns over"]
    found = []
    for row in rows:
        head = ["all" if row["head"] == SUM else str(row["head"])] if with_heads else []
        scores = [cell for score in SHOWN for cell in _score_cells(row, score)]
        found.append([row["part"], str(row["layer"]), *head, *scores, str(row["n_rows_over"]), str(row["n_cols_over"])])
    return names, found


def _split_cells(rows: Sequence[Row], with_heads: bool) -> tuple[list[str], list[list[str]]]:
    """s, and its split by position space."""
    names = ["part", "layer", *(["head"] if with_heads else []), "symmetry", "dimension of positions"]
    names += ["share in it", "at random", "s inside", "share outside", "s outside", "share mixed", "s mixed"]
    found = []
    for row in rows:
        head = ["all" if row["head"] == SUM else str(row["head"])] if with_heads else []
        split = ["" if isnan(row[name]) else f"{row[name]:.3f}" for name in SPLIT.values()]
        dimension = f"{row[DIMENSION]} of {row['d_model']}" if row[DIMENSION] else ""
        found.append([row["part"], str(row["layer"]), *head, f"{row['symmetry']:.4f}", dimension, *split])
    return names, found


def _score_cells(row: Row, score: str) -> tuple[str, str, str]:
    if is_dead(row):
        return "zero ", "", ""
    if without_law(row):
        return f"{row[score]:.4f} ", "", ""
    p, law = row[f"{score}_p"], laws_of_shape(row["d_model"], row["rank"], row["gamma"], row["convention"])[score]
    mark = "*" if outside(row, score) else " "
    return f"{row[score]:.4f}{mark}", f"{row[f'{score}_z']:+.1f}", _bounded(p, max(law.least, 1e-9))


def _bounded(p: float, least: float) -> str:
    """A p, or a bound of one digit where it is too small to be told."""
    if p > least:
        return f"{p:.2g}"
    power = math.floor(math.log10(least))
    return f"<{math.ceil(least / 10**power - 1e-9)}e{power}"


def _grouped(rows: Iterable[Row], *names: str) -> Iterator[tuple]:
    """Rows by the values of some columns, in the order of their first appearance; a single value without its tuple."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return ((key if len(names) > 1 else key[0], own) for key, own in groups.items())
