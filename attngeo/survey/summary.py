"""What a table of scores says in a few sentences: medians, what random weights give, and what lies outside that."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from attngeo.forms.null_laws import LEVEL, laws_of_shape
from attngeo.forms.scores import SUM

Row = dict  # of `attngeo.survey.rows.layer_rows`
SHOWN = ("symmetry", "directionality")
_NULL = ("symmetry_null_mean", "symmetry_null_sd", "directionality_null_sd")


def outside(row: Row, score: str) -> bool:
    """Whether a score lies outside what 95 % of random weights of that shape give."""
    return row[f"{score}_p"] < LEVEL


def summary(rows: Sequence[Row]) -> list[str]:
    """Lines for below a table: medians, random weights, counts outside, where directionality is too weak."""
    layers, heads = ([row for row in rows if (row["head"] == SUM) is of_layers] for of_layers in (True, False))
    lines = [
        f"median over {part} layers: " + ", ".join(f"{s} {median(r[s] for r in own):.4f}" for s in SHOWN)
        for part, own in _grouped(layers, "part")
    ]
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
    return lines


def share_at_one(row: Row) -> float:
    """Share of random weights of that shape with a directionality of -1 or 1: from 5 % on, no value lies outside."""
    return laws_of_shape(row["d_model"], row["rank"], row["gamma"], row["convention"])["directionality"].p(1.0)


def cells(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Names of columns and rounded cells, for people; a star follows what lies outside random weights' values."""
    with_heads = any(row["head"] != SUM for row in rows)
    names = ["part", "layer", *(["head"] if with_heads else [])]
    names += [name for score in SHOWN for name in (score, "z", "p")] + ["rows over", "columns over"]
    found = []
    for row in rows:
        head = ["all" if row["head"] == SUM else str(row["head"])] if with_heads else []
        scores = [cell for score in SHOWN for cell in _score_cells(row, score)]
        found.append([row["part"], str(row["layer"]), *head, *scores, str(row["n_rows_over"]), str(row["n_cols_over"])])
    return names, found


def _score_cells(row: Row, score: str) -> tuple[str, str, str]:
    p = row[f"{score}_p"]
    mark = "*" if outside(row, score) else " "
    return f"{row[score]:.4f}{mark}", f"{row[f'{score}_z']:+.1f}", "<1e-9" if p < 1e-9 else f"{p:.2g}"


def _grouped(rows: Iterable[Row], *names: str) -> Iterator[tuple]:
    """Rows by the values of some columns, in the order of their first appearance; a single value without its tuple."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return ((key if len(names) > 1 else key[0], own) for key, own in groups.items())
