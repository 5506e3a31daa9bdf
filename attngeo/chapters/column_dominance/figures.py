"""Figures of the chapter on rows and columns."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from scipy.stats import norm
from torch import Tensor

from attngeo.chapters.column_dominance.expected_norms import bilinear_squared_norms, independent_ratio
from attngeo.chapters.column_dominance.measures import directionalities
from attngeo.chapters.column_dominance.tails import Laws, printed_threshold
from attngeo.display.captions import captioned
from attngeo.display.style import CROSS, DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.display.typeset import typeset
from attngeo.updates.norms import ratio_samples, squared_norms

ROWS, COLUMNS = ENCODER, DECODER


@house_style()
def growth_ratios(
    covariance: Float[Tensor, "d d"],
    independent: Float[Tensor, "draws d d"],
    bilinear: Float[Tensor, "draws d d"],
    form: Float[Tensor, "d d"],
    n_tokens: int,
) -> CaptionedFigure:
    """Expected squared norm of the first column over that of every row, measured and by formula (Prop. S1.8).

    Updates have coefficients independent of the embeddings, or ``beta_i = x_i^T B y`` (bilinear, B the form); the
    covariance is diagonal.
    """
    d = len(covariance)
    index = np.arange(1, d + 1)
    figure, axes = new_figure(6.8, 3.8)
    axes.axhline(1, color=NEUTRAL, linewidth=1)
    of_rows, of_columns = bilinear_squared_norms(covariance, form, n_tokens)
    formulas = {
        "independent β": np.array([independent_ratio(covariance, m) for m in range(d)]),
        "β from the embeddings": (of_columns[0] / of_rows).numpy(),
    }
    words = []
    for (name, formula), updates, colour, marker in zip(
        formulas.items(), (independent, bilinear), (ENCODER, DECODER), "os", strict=True
    ):
        rows, columns = squared_norms(updates)
        samples = torch.stack([ratio_samples(columns[:, 0], rows[:, m]) for m in range(d)])
        mean, error = samples.mean(1), samples.std(1) / samples.shape[1] ** 0.5
        axes.plot(index, formula, color=colour, label=f"{name}: formula")
        axes.errorbar(index, mean, 2 * error, fmt=marker, color=colour, markersize=4, capsize=2, label="measured")
        words.append(f"{name}: {float(mean[0]):.2f} in row 1, {float(mean[-1]):.2f} in row {d}")
    axes.set_yscale("log")
    axes.set(xlabel="row m, by falling variance", ylabel="E‖column 1‖² / E‖row m‖²")
    axes.legend(ncols=2)
    off = float(np.median(np.abs(formulas["β from the embeddings"] / formulas["independent β"] - 1)))
    return captioned(figure, __package__, "fig-growth-ratios", n_tokens=n_tokens, off=100 * off, words=words)


@house_style()
def norm_histograms(updates: dict[str, Float[Tensor, "draws d d"]]) -> CaptionedFigure:
    """Row and column norms of updates by title: histograms, and the shares above each norm."""
    n = len(updates)
    figure, panels = new_figure(9, 4.6, rows=2, columns=n, squeeze=False, sharex="col")
    words = []
    for (title, batch), top, bottom in zip(updates.items(), *panels, strict=True):
        rows, columns = (squared.sqrt() for squared in squared_norms(batch))
        scale = batch.square().sum((1, 2)).mean().sqrt() / batch.shape[-1] ** 0.5  # root mean square of all norms
        rows, columns = ((side / scale).flatten().numpy() for side in (rows, columns))
        everything = np.concatenate([rows, columns])
        edges = np.linspace(0, np.quantile(everything, 0.997), 40)
        for side, colour, label in ((rows, ROWS, "rows"), (columns, COLUMNS, "columns")):
            top.hist(side, edges, histtype="stepfilled", color=colour, alpha=0.25, density=True)
            top.hist(side, edges, histtype="step", color=colour, density=True, label=label)
            grid = np.linspace(0, everything.max(), 200)
            bottom.plot(grid, [(side > w).mean() for w in grid], color=colour)
        d = float(np.mean(directionalities(batch)))
        top.set_title(typeset(f"{title}\ndirectionality {d:+.2f}"), fontsize=9)
        bottom.set(yscale="log", xlabel="norm / rms norm", ylim=(2 / everything.size, 1.3))
        name = title.replace("\n", " ")
        words.append(f"{d:+.2f} for {name}")
    panels[0, 0].set_ylabel("density")
    panels[1, 0].set_ylabel("share above")
    panels[0, 0].legend()
    return captioned(figure, __package__, "fig-norm-histograms", words=words)


@house_style()
def tails(laws: Laws) -> CaptionedFigure:
    """Two pairs of laws of equal means whose tails contradict Lemma S1.11 beyond its printed threshold (shaded)."""
    wide, far, mu, large, small = laws
    figure, (left, right) = new_figure(8.6, 3.4, columns=2)
    z = np.linspace(-3.5, 4, 400)
    for law, colour, name in ((wide, ENCODER, "a"), (far, DECODER, "b")):
        left.plot(z, law.sf(z), color=colour, label=f"{name}: variance {law.var():.2g}")
    left.set(title="two discrete laws of mean 0", xlabel="z", ylabel="Pr[X > z]")
    y = np.linspace(mu - 4 * large, mu + 4 * large, 400)
    for sigma, colour, name in ((large, ENCODER, "a"), (small, DECODER, "b")):
        right.plot(y, norm.sf(y, mu, sigma), color=colour, label=f"{name}: variance {sigma**2:g}")
    right.axvline(mu, color=NEUTRAL, linestyle="--", linewidth=1)
    right.set(title=f"two Gaussians of mean {mu:g}", xlabel="z")
    starts = printed_threshold(wide.std(), far.std(), wide.mean()), printed_threshold(large, small, mu)
    for axes, start in zip((left, right), starts, strict=True):
        axes.set_xlim(axes.get_xlim())
        shaded = {"color": "#EEEEEE", "zorder": 0, "label": "range of Lemma S1.11"}
        axes.axvspan(max(start, axes.get_xlim()[0]), axes.get_xlim()[1], **shaded)
        axes.legend(frameon=True, framealpha=1)
    at = (wide.xk.max() + far.xk.max()) / 2
    return captioned(figure, __package__, "fig-tails", at=at, a=wide.sf(at), b=far.sf(at), start=starts[1])


@house_style()
def directionality_by_alignment(sweep: pd.DataFrame) -> CaptionedFigure:
    """Unevenness against ``log D(S_K) - log D(S_Q)``, and d against how uneven one side is, of an `alignment_sweep`."""
    figure, (left, right) = new_figure(9, 3.8, columns=2)
    colours = dict(zip(sweep["family"].unique(), (DECODER, ENCODER, CROSS), strict=True))
    limit = 1.08 * float(sweep["log_alignment"].abs().max()) + 0.05
    left.plot([-limit, limit], [-limit, limit], color=NEUTRAL, linewidth=1, label="equality")
    right.axhline(0, color=NEUTRAL, linewidth=0.8)
    null = sweep[sweep["exponent"] == sweep["exponent"].min()]
    low, high = float(null["d_low"].mean()), float(null["d_high"].mean())
    for edge in (low, high):
        right.axhline(edge, color=NEUTRAL, linestyle=":", linewidth=1)
    for (family, rows), marker in zip(sweep.groupby("family", sort=False), "osD", strict=True):
        colour = colours[family]
        left.plot(rows["log_alignment"], rows["log_moments"], marker, color=colour, label=family, markersize=5)
        right.fill_between(rows["exponent"], rows["d_low"], rows["d_high"], color=colour, alpha=0.15, linewidth=0)
        right.plot(rows["exponent"], rows["d"], f"-{marker}", color=colour, markersize=5)
    left.set(xlabel="log D(keys) − log D(queries)", ylabel="log ratio of Σ‖·‖⁴, columns to rows")
    right.set(xlabel="exponent of the uneven variances", ylabel="directionality d", ylim=(-1.08, 1.08))
    left.legend()
    strongest = sweep.sort_values("exponent").groupby("family", sort=False).last()
    words = ", ".join(f"{row.d:+.2f} for {family}" for family, row in strongest.iterrows())
    return captioned(figure, __package__, "fig-directionality-by-alignment", low=low, high=high, words=words)
