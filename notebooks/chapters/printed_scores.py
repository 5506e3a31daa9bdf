"""The paper's printed scores beside ours, row by row, and what the authors' code multiplies instead of ``W_qk``.

For grouped keys it pairs heads that do not belong together; for fused weights it multiplies slices that were not
transposed. The right extraction is `attngeo.open_checkpoint`; these are here to see how far a score moves.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import score
from attngeo.experiments.runs.numbers_in_words import joined_by_and
from attngeo.plot.style import CROSS, NEUTRAL, CaptionedFigure, house_style, new_figure
from livingpaper.claims.published import printed_table
from livingpaper.released_results import released_results

FORMULAS = {  # of Table S3: words, colour and marker
    "directionality": ("Definition 3.2", "black", "o"),
    "directionality_released": ("the formula of the authors' code", "#CC79A7", "s"),
    "directionality_tables": ("the excess of the logarithms", "#E69F00", "^"),
}
KINDS = {  # what a row shows, by its codes; the first that fits
    "a vision model": ("vision",),
    "a model with random weights": ("random-weights",),
    "a model that does not exist": ("no-such-model",),
    "a repeated row": ("duplicate",),
    "an incorrectly extracted model": ("head-pairing", "head-space", "mixed-heads"),
    "a model fine-tuned from another row's": ("fine-tuned",),
    "only some layers of a model": ("partial-layers",),
}
DISTINCT = "a distinct language model, correctly extracted"
OBSTACLES = {"no-such-model": "no such model", "random-weights": "random weights were scored"}
NOT_READ = "not read"  # its weights


@dataclass(frozen=True)
class PrintedRow:
    """One printed row beside ours: median, median - Q1, Q3 - median."""

    row: str  # place in the table: "L34" is the 34th row on the left
    printed_as: str
    model: str  # name in the registry, "" where there is no such model
    defects: str  # codes of `livingpaper.released_results.DEFECTS`
    theirs: np.ndarray  # as printed, two decimals
    released: np.ndarray  # as the authors' released files have them
    ours: np.ndarray | None  # None where no weights were read

    @property
    def obstacle(self) -> str:
        """What keeps the row from being a score of the model it names, whatever weights are read; nothing for most."""
        return next((words for code, words in OBSTACLES.items() if code in self.defects.split()), "")

    @property
    def verdict(self) -> str:
        """``reproduced`` where the three numbers agree after rounding to the printed decimals; else what is wrong."""
        if self.obstacle or self.ours is None:
            return self.obstacle or NOT_READ
        gap = np.abs(np.round(self.ours, 2) - self.theirs).max()
        return "reproduced" if gap < 0.005 else f"differs by {gap:.2f}"


def printed_rows(number: str, score: str, medians: pd.DataFrame) -> list[PrintedRow]:
    """Every row of Table S2 or S3, beside our ``score`` (of `attngeo.bilinear.rows.SCORES`) where weights were read.

    ``medians`` are `attngeo.experiments.survey.measured.layer_medians`, models named as in the registry.
    """
    results, letter = released_results().set_index("row"), {"S2": "s", "S3": "d"}[number]
    ours = {(m["model"], m["part"]): _three(m, score) for m in medians.to_dict("records")}
    rows = []
    for printed in printed_table(number).itertuples():
        result = results.loc[place := f"{printed.side}{printed.row}"]
        theirs = np.array([printed.median, printed.iqr_minus, printed.iqr_plus])
        model = result["model"]
        known = (place, printed.model, model, result["defects"], theirs, _three(result, letter))
        rows.append(PrintedRow(*known, ours.get((model, result["part"]))))
    return rows


def _three(numbers: Mapping | pd.Series, score: str) -> np.ndarray:
    return np.array([numbers[score], numbers[f"{score}_minus"], numbers[f"{score}_plus"]], dtype=float)


def read_rows(number: str, score: str, medians: pd.DataFrame) -> list[PrintedRow]:
    """The rows of `printed_rows` that can be compared: weights were read, and the row is a score of trained weights."""
    return [row for row in printed_rows(number, score, medians) if row.ours is not None and not row.obstacle]


def whole_table(number: str, score: str, medians: pd.DataFrame) -> pd.DataFrame:
    """Table ``number`` with every row: printed, recomputed (a dash where no weights were read), verdict."""
    columns = "row", "printed as", "checkpoint", "printed", "recomputed", "verdict", "against it"
    rows = [
        (
            *(row.row, row.printed_as, row.model or "none", _in_words(row.theirs)),
            *("–" if row.ours is None else _in_words(row.ours), row.verdict, row.defects.replace(" ", ", ")),
        )
        for row in printed_rows(number, score, medians)
    ]
    return pd.DataFrame(rows, columns=list(columns))


def _in_words(values: np.ndarray) -> str:
    """``median [minus, plus]`` as the tables print it, the brackets in one line."""
    return f"{values[0]:.2f} [{values[1]:.2f},\u00a0{values[2]:.2f}]"


def tiled_keys(form: BilinearForm) -> BilinearForm:
    """``sum_h W_q,h W_k,(h mod G)^T``: the G key heads repeated as a whole, not each for its own group of query heads.

    Models with grouped keys: the Llama, Mistral and MobileLLM rows. For G of 1 or H it is the form itself.
    """
    return BilinearForm(form.wq, form.wk.repeat(form.n_heads // form.n_kv_heads, 1, 1))


def head_space(form: BilinearForm) -> Float[Tensor, "rank rank"]:
    """``W_q^T W_k`` with W_q, W_k the (d, H d_head) matrices of all heads: a product over tokens' coordinates.

    ModernBERT and Phi-3, whose fused weight (3 H d_head, d) was sliced by rows and multiplied as if it were stored as
    (d, 3 H d_head). Its trace of the square is that of the right matrix, since ``Tr(ABAB)`` is ``Tr(BABA)``; its norm
    and its rows and columns are not.
    """
    q, k = (factor.transpose(1, 2).flatten(0, 1) for factor in form.per_head())  # (H d_head, d)
    return q @ k.T


def heads_as_blocks(form: BilinearForm, values: Float[Tensor, "heads d d_head"]) -> Float[Tensor, "rank rank"]:
    """Rows 0 to d times rows d to 2d of a fused weight that holds each head's query, key and value rows in turn.

    Pythia and DeBERTa (v1), where every head has keys of its own and d is H d_head: the first d rows hold queries,
    keys and values of the first third of the heads, the next d rows those of the second third.
    """
    rows = torch.stack((form.wq, form.wk, values), dim=1).transpose(2, 3).flatten(0, 2)  # (3 d, d)
    d = form.d_model
    return rows[:d] @ rows[d : 2 * d].T


def planted_form(n_heads: int, n_kv_heads: int, d_head: int, alike: float, seed: int = 0) -> BilinearForm:
    """A form of width ``n_heads * d_head`` with symmetry and strong columns put in on purpose.

    ``W_q,h = alike W_k,g S_h + sqrt(1 - alike^2) noise``, S_h symmetric and each head's own, so that 1 gives symmetric
    heads and 0 chance; one coordinate in 32 of the keys is multiplied by 4.
    """
    d, generator = n_heads * d_head, torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    wk, square = normal(n_kv_heads, d, d_head), normal(n_heads, d_head, d_head)
    symmetric = (square + square.mT) / (2 * d_head) ** 0.5  # keeps the size of what it multiplies
    common = wk.repeat_interleave(n_heads // n_kv_heads, 0) @ symmetric
    wq = alike * common + (1 - alike**2) ** 0.5 * normal(n_heads, d, d_head)
    factor = torch.ones(d, 1, dtype=torch.float64)
    factor[::32] = 4
    return BilinearForm(wq, wk * factor)


def extraction_effects(alike: float = 0.9, d_head: int = 16, seed: int = 0) -> pd.DataFrame:
    """Both scores of planted forms in shapes of printed models, extracted correctly and as in the authors' code.

    Returns:
        Columns defect, shape, s and s_released, d and d_released (as in Table S3).
    """
    llama, mobile, fused = (planted_form(*heads, d_head, alike, seed=seed) for heads in ((32, 8), (9, 3), (12, 12)))
    generator = torch.Generator().manual_seed(seed + 1)
    values = torch.randn(fused.wq.shape, generator=generator, dtype=torch.float64)
    rows = []
    for defect, shape, form, wrong in (
        ("head-pairing", "32 query heads on 8 (Llama 3)", llama, tiled_keys(llama)),
        ("head-pairing", "9 query heads on 3 (MobileLLM-125M)", mobile, tiled_keys(mobile)),
        ("head-space", "12 heads, fused (ModernBERT)", fused, head_space(fused)),
        ("mixed-heads", "12 heads, interleaved (Pythia)", fused, heads_as_blocks(fused, values)),
    ):
        right, released = score(form), score(wrong)
        s = right.symmetry.item(), released.symmetry.item()
        d = right.directionality_tables.item(), released.directionality_tables.item()
        rows.append((defect, shape, *s, *d))
    return pd.DataFrame(rows, columns=["defect", "shape", "s", "s_released", "d", "d_released"])


def what_rows_score(rows: pd.DataFrame) -> dict[str, int]:
    """How many rows show vision models, random weights, a model that does not exist, and trained language models."""
    codes = {"vision": "vision", "random": "random-weights", "missing": "no-such-model"}
    counts = {name: int(rows["defects"].str.contains(code).sum()) for name, code in codes.items()}
    of_none = ~rows["defects"].str.contains("|".join(codes.values()))
    return counts | {"trained": int((of_none & (rows["modality"] == "text")).sum())}


def kind_of(row: pd.Series) -> str:
    """What a printed row shows, in words of `KINDS`, or that it counts."""
    codes = set(row["defects"].split())
    return next((words for words, of_kind in KINDS.items() if codes & set(of_kind)), DISTINCT)


@house_style()
def kinds_of_rows(rows: pd.DataFrame) -> CaptionedFigure:
    """How many printed rows show what: a bar of cells for each kind, the rows that count first."""
    counts = rows.apply(kind_of, axis=1).value_counts()
    order = [DISTINCT, *(counts.drop(DISTINCT).sort_values(ascending=False).index)]
    figure, panel = new_figure(7.6, 0.34 * len(order) + 0.7)
    for height, kind in enumerate(order):
        colour = CROSS if kind == DISTINCT else NEUTRAL
        for cell in range(counts[kind]):
            panel.barh(height, 0.9, left=cell, height=0.7, color=colour, alpha=1 if kind == DISTINCT else 0.6)
        panel.text(counts[kind] + 0.4, height, str(counts[kind]), va="center", color=colour)
    panel.set_yticks(range(len(order)), order)
    panel.set(ylim=(len(order) - 0.5, -0.5), xlabel="rows of Table S2")
    listed = "; ".join(f"{kind} ({counts[kind]})" for kind in order)
    caption = f"""The {len(rows)} rows of Table S2, grouped by what they show. If several descriptions apply to a row, we count the row only under
        the first of them, in this order: vision, random weights, no such model, repeated, incorrectly extracted, fine-tuned, some
        layers."""
    alt = f"Horizontal bars of one cell for each row, by what the row shows: {listed}."
    return CaptionedFigure(figure, "fig-kinds-of-rows", caption, alt)


@house_style()
def printed_beside_ours(medians: pd.DataFrame) -> CaptionedFigure:
    """Printed medians as rings, a line for each row whose weights were read, and in them or beside them our own."""
    by_formula = {score: read_rows("S3", score, medians) for score in FORMULAS}
    of_symmetry = {"symmetry": read_rows("S2", "symmetry", medians)}
    figure, panels = new_figure(9, 0.28 * len(of_symmetry["symmetry"]) + 1.85, columns=2)
    words = {"symmetry": ("Definition 3.1 without the factor of 2", "black", "o")} | FORMULAS
    for panel, rows_of in zip(panels, (of_symmetry, by_formula), strict=True):
        for name, rows in rows_of.items():
            label, colour, marker = words[name]
            heights = range(len(rows))
            dots = {"color": colour, "markersize": 6, "label": label.removeprefix("the ")}
            panel.plot([row.ours[0] for row in rows], heights, marker, **dots)
        ring = {"color": NEUTRAL, "fillstyle": "none", "markersize": 13, "label": "printed"}
        panel.plot([row.theirs[0] for row in rows], heights, "o", **ring)
        panel.axvline(0, color=NEUTRAL, linewidth=0.8)
        panel.set_yticks(heights, [row.printed_as for row in rows])
        panel.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.05, 1) if rows_of is of_symmetry else (-1, 0.05))
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=2)
    panels[0].set(title="Table S2", xlabel="symmetry s, median over layers")
    panels[1].set(title="Table S3", xlabel="directionality d, median over layers")
    every = of_symmetry | by_formula
    met = {score: sum(row.verdict == "reproduced" for row in every[score]) for score in every}
    by = joined_by_and([f"in {met[score]} rows if we use {FORMULAS[score][0]}" for score in FORMULAS])
    caption = f"""Median scores of the {len(rows)} rows whose weights we scored ourselves: values printed in the paper
        (rings) and our own values (points). For symmetry, our median and both of our quartiles agree with the printed
        values to two decimals in {met["symmetry"]} rows. For directionality, our median and both of our quartiles agree
        with the printed values {by}. All three formulas are explained below."""
    alt = f"""Rings mark printed medians, and points mark our medians. For symmetry, all printed digits agree in
        {met["symmetry"]} of {len(rows)} rows. For directionality, they agree {by}."""
    return CaptionedFigure(figure, "fig-printed-beside-ours", caption, alt)
