"""The sentences below a table of scores: medians, the scores of random weights, and what is outside their range."""

import math
from collections.abc import Sequence
from itertools import compress
from math import isnan
from statistics import median

from attngeo.bilinear.null_laws import LEVEL, laws_of_shape
from attngeo.bilinear.rows import DIMENSION, SPLIT
from attngeo.bilinear.scores import SUM

Row = dict  # a row of `attngeo.bilinear.rows.form_rows`
SHOWN = ("symmetry", "directionality")
RANK = "coin_rank"  # only of layers with several heads
COHERENCES = {"coherence_symmetric": "c_S", RANK: "c_N"}  # columns that can have a star; c_N has the p of the rank
# names of the columns behind part, layer and head: of the table of scores, and of the one that is split by positions
OF_SCORES = [*(f"{score}{of}" for score in SHOWN for of in ("", " z", " p")), "c_S", "c_N", "rank"]
OF_SPLIT = ["symmetry", "dimension of positions", "share inside", "share if random", "s inside"]
OF_SPLIT += ["share outside", "s outside", "share mixed", "s mixed"]
HOW_TO_READ = (
    "c_S and c_N compare the sum of the heads with the single heads. If c_S is above 1, the symmetric parts of the"
    " heads reinforce each other, and if c_S is below 1, they cancel. c_N is the same for the skew-symmetric parts. If"
    " the heads of a layer had random signs, c_S would be 1 ± {:.2g} and c_N would be 1 ± {:.2g} (mean ± standard"
    " deviation, median over layers). Each layer is compared with random signs of its own heads, and CSV and JSON files"
    " contain its own standard deviations.",
    "Transposing some of the heads of a layer can change how symmetric the layer is. Of all possible choices of heads"
    " to transpose, the rank is the share for which the layer does not become more symmetric. For random weights, all"
    " possible ranks are equally likely. A rank close to 0 means that the heads agree on a direction. A rank close to 1"
    " means that the heads have opposite directions.",
)
NO_LAW = "because the scores of random weights are known only without gains."
HOW_TO_READ_POSITIONS = (
    "W_qk is split into three parts. In the first part, queries and keys are both inside the space of the position"
    " embeddings. In the second part, both are outside. In the third part (mixed), one of them is inside. A share is"
    " the share of a part in the squared norm of W_qk, and s is the symmetry of a part. The column share if random has"
    " the share that is expected inside a random space of the same dimension."
)


def outside(row: Row, score: str) -> bool:
    """Whether a score is outside the central 95 % of the scores of random weights of the same shape."""
    return row[f"{score}_p"] < LEVEL


def summary(rows: Sequence[Row]) -> list[str]:
    """Sentences about rows of one model: medians, random weights, counts outside their range, and a weak d."""
    live = [row for row in rows if not is_dead(row)]
    layers = [row for row in live if row["head"] == SUM]
    heads = [row for row in live if row["head"] != SUM]
    if DIMENSION in rows[0]:  # this table has neither directionality nor stars
        return [*_medians(layers, SHOWN[:1]), *dead_layers(rows), HOW_TO_READ_POSITIONS]
    lines = [*_medians(layers, SHOWN), *dead_layers(rows), *no_norm_exceeds(rows)]
    if any(map(without_law, rows)):
        lines.append(f"There are no z and p, {NO_LAW}")
    else:
        lines += _random_weights(layers, "layers") + _random_weights(heads, "heads") + _stars(layers, heads)
    return lines + _about_heads(layers)


def _medians(layers: Sequence[Row], scores: Sequence[str]) -> list[str]:
    """A sentence with the median scores of each part."""
    lines = []
    for part in dict.fromkeys(row["part"] for row in layers):
        of_part = [row for row in layers if row["part"] == part]
        values = " and ".join(f"{median(row[score] for row in of_part):.4f} for {score}" for score in scores)
        lines.append(f"The median over {len(of_part)} {part} layer{'s' if len(of_part) > 1 else ''} is {values}.")
    return lines


def _random_weights(rows: Sequence[Row], kind: str) -> list[str]:
    """Sentences about the scores of random layers or heads, for each shape among the rows."""
    lines = []
    for (d, rank), row in {(row["d_model"], row["rank"]): row for row in rows}.items():
        lines.append(
            f"Random {kind} of this shape (width {d}, rank of the matrix {rank}) have a symmetry of"
            f" {row['symmetry_null_mean']:.4f} ± {row['symmetry_null_sd']:.4f} and a directionality of 0 ±"
            f" {row['directionality_null_sd']:.3f} (mean ± standard deviation)."
        )
        share = share_at_one(row)
        if share >= LEVEL:
            lines.append(
                f"Directionality cannot tell these {kind} from random ones, because {share * 100:.0f} % of random"
                f" {kind} have a directionality of exactly -1 or 1."
            )
    return lines


def _stars(layers: Sequence[Row], heads: Sequence[Row]) -> list[str]:
    """Sentences about the meaning of the stars and their numbers."""
    with_heads = [row for row in layers if has_heads(row)]
    several = [row for row in with_heads if not few_heads(row)]
    counts = []
    if layers:
        counts += [_count_outside(layers, score, f"the {score}", "layers") for score in SHOWN]
    if several:
        counts += [_count_outside(several, column, name, "layers") for column, name in COHERENCES.items()]
    if heads:
        counts += [_count_outside(heads, score, f"the {score}", "heads") for score in SHOWN]
    lines = []
    if counts:
        words = " and ".join([", ".join(counts[:-1]), counts[-1]])
        star = "A star marks a value outside the central 95 % of the values for random weights"
        if with_heads:
            star += " (for c_S and c_N: for random signs of the heads)"
        lines.append(f"{star}. It marks {words}.")
    if few := sorted({row["n_heads"] for row in with_heads if few_heads(row)}):
        lines.append(f"With {' or '.join(map(str, few))} heads, neither c_S nor c_N can have a star.")
    return lines


def _count_outside(rows: Sequence[Row], score: str, name: str, kind: str) -> str:
    """A phrase that says how many rows have a star at a score."""
    kind = kind if len(rows) > 1 else kind.removesuffix("s")
    return f"{name} of {sum(outside(row, score) for row in rows)} of {len(rows)} {kind}"


def _about_heads(layers: Sequence[Row]) -> list[str]:
    """Sentences that explain the columns about the heads of layers, if there are any."""
    rows = list(filter(has_heads, layers))
    if not rows:
        return []
    sds = (median(row[f"coherence_{part}_null_sd"] for row in rows) for part in ("symmetric", "skew"))
    return [HOW_TO_READ[0].format(*sds), HOW_TO_READ[1]]


def dead_layers(rows: Sequence[Row]) -> list[str]:
    """A sentence that names the layers and heads without scores, if there are any."""
    dead = [row for row in rows if is_dead(row)]
    whole = dict.fromkeys((r["part"], r["layer"]) for r in dead if r["head"] == SUM)
    heads = [r for r in dead if (r["part"], r["layer"]) not in whole]
    places = [f"{part} layer {layer}" for part, layer in whole]
    places += [f"{r['part']} layer {r['layer']} head {r['head']}" for r in heads]
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    if not places:
        return []
    return [f"Queries or keys are zero, so there is nothing to score, in {', '.join(places[:5])}{more}."]


def no_norm_exceeds(rows: Sequence[Row]) -> list[str]:
    """A sentence about the layers in which no norm exceeds the threshold, so that d is 0, if there are any."""
    layers = [row for row in rows if row["head"] == SUM and not is_dead(row)]
    n = sum(not (row["n_rows_over"] or row["n_cols_over"] or row["directionality"]) for row in layers)
    if not n:
        return []
    return [
        f"In {n} of {len(layers)} layer{'s' if len(layers) > 1 else ''}, no norm of a row or a column exceeds the"
        f" threshold of the directionality score (gamma = {layers[0]['gamma']:g}), so the directionality is 0."
    ]


def few_heads(row: Row) -> bool:
    """Whether a layer has so few heads that even its smallest rank, ``2^-(H - 1)``, is not outside the central 95 %."""
    return 2 * 2.0 ** (1 - row["n_heads"]) >= LEVEL


def is_dead(row: Row) -> bool:
    """Whether the row's queries or keys are zero, so that there is nothing to score."""
    return isnan(row["symmetry"])


def has_heads(row: Row) -> bool:
    """Whether the row belongs to a layer with several heads, for which a rank was computed."""
    return not isnan(row.get(RANK, math.nan)) and row["n_heads"] > 1


def without_law(row: Row) -> bool:
    """Whether the scores of random weights are unknown, because gains are folded in."""
    return isnan(row["symmetry_null_mean"])


def share_at_one(row: Row) -> float:
    """Share of random weights of that shape whose directionality is -1 or 1. From 5 % on, no value can be outside."""
    return laws_of_shape(row["d_model"], row["rank"], row["gamma"], row["convention"])["directionality"].p(1.0)


def cells(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Names of columns and rounded cells, for people. A star follows a score outside the range of random weights."""
    with_heads = any(row["head"] != SUM for row in rows)
    by_positions = DIMENSION in rows[0]
    names = ["part", "layer", *(["head"] if with_heads else []), *(OF_SPLIT if by_positions else OF_SCORES)]
    lines = []
    for row in rows:
        head = ["all" if row["head"] == SUM else str(row["head"])] if with_heads else []
        numbers = _split_cells(row) if by_positions else _numbers(row)
        lines.append([row["part"], str(row["layer"]), *head, *numbers])
    return filled(names, lines)


def filled(names: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The names and cells of the columns that are not empty."""
    kept = [any(map(str.strip, column)) for column in zip(*lines, strict=True)]
    return list(compress(names, kept)), [list(compress(line, kept)) for line in lines]


def short_names(names: Sequence[str]) -> list[str]:
    """The names, in which the name of the score is left out of the columns z, p and change that follow it."""
    short, before = [], " "
    for name in names:
        short.append(name.removeprefix(f"{before} "))
        before = name if short[-1] == name else before
    return short


def _split_cells(row: Row) -> list[str]:
    dimension = f"{row[DIMENSION]} of {row['d_model']}" if row[DIMENSION] else ""
    split = ["" if isnan(row[name]) else f"{row[name]:.3f}" for name in SPLIT.values()]
    return ["zero" if is_dead(row) else f"{row['symmetry']:.4f}", dimension, *split]


def _numbers(row: Row) -> list[str]:
    return [cell for score in SHOWN for cell in _score_cells(row, score)] + _heads_cells(row)


def _score_cells(row: Row, score: str) -> tuple[str, str, str]:
    if is_dead(row):
        return "zero ", "", ""
    if without_law(row):
        return f"{row[score]:.4f} ", "", ""
    p = row[f"{score}_p"]
    law = laws_of_shape(row["d_model"], row["rank"], row["gamma"], row["convention"])[score]
    least = max(law.least, 1e-9)  # a smaller p is shown as a bound of one digit, rounded up
    digit = 10 ** math.floor(math.log10(least))
    bounded = f"{p:.2g}" if p > least else f"<{math.ceil(least / digit - 1e-9) * digit:.0e}"
    bounded = bounded.replace("e-0", "e-")
    return f"{row[score]:.4f}{_mark(row, score)}", f"{row[f'{score}_z']:+.1f}", bounded


def _heads_cells(row: Row) -> list[str]:
    if not has_heads(row):
        return ["", "", ""]
    c_s = f"{row['coherence_symmetric']:.2f}{_mark(row, 'coherence_symmetric')}"
    c_n = f"{row['coherence_skew']:.2f}{_mark(row, RANK)}"
    return [c_s, c_n, f"{row[RANK]:.4f}"]


def _mark(row: Row, score: str) -> str:
    return "*" if outside(row, score) else " "
