"""Pictures of W_qk with mirror clouds below, in which every entry is plotted against its mirror image."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from attngeo.plot.style import DIVERGING, NEUTRAL, SEQUENTIAL, house_style, new_figure, plain_panel

GRID = 26  # hexagons across a cloud


@house_style()
def mirror_clouds(
    pictures: Mapping[str, np.ndarray],
    width: int | float = 7.4,
    pooled: Mapping[str, tuple[int, np.ndarray]] | None = None,
    sides: tuple[str, str] = ("query coordinate", "key coordinate"),
) -> Figure:
    """Draw both for each matrix (n, n) in [-1, 1], by title. Symmetric matrices lie on the mirror line, m_ij = m_ji.

    For a ``pooled`` picture, whose pixels represent blocks of k x k entries, give k and a sample (m, m) of the matrix
    itself. The cloud is then drawn from this sample, because a pixel is the largest entry of its block, so pixels would
    leave the middle of the cloud empty. ``sides`` are names for rows i and columns j.
    """
    columns = len(pictures)
    height = 2 * (width - 1.2) / columns + 1.3
    figure, grid = new_figure(width, height, rows=2, columns=columns, squeeze=False)
    clouds = []
    for (title, m), above, below in zip(pictures.items(), *grid, strict=True):
        plain_panel(above)
        k, entries = (pooled or {}).get(title, (0, m))
        side = len(m) * max(k, 1)
        image = above.imshow(m, cmap=DIVERGING, vmin=-1, vmax=1, extent=(0, side, side, 0))
        above.set(title=title, xlabel=f"{sides[1]} $j$")
        if k > 1:
            above.set_xlabel(f"{sides[1]} $j$\neach cell: the entry of largest\nmagnitude of {k} × {k}")
        if not k:
            above.set(xticks=[], yticks=[])
        limit = float(f"{np.quantile(np.abs(entries), 0.999) if k else 1:.2g}") or 1.0
        clouds.append(_cloud(below, entries, limit))
        if len(entries) < len(m) * k:
            below.set_xlabel(f"entry $m_{{ij}}$ of {len(entries)} × {len(entries)},\ncoordinates drawn at random")
    most = max(float(np.max(cloud.get_array())) for cloud in clouds)
    for cloud in clouds:
        cloud.set_norm(LogNorm(1, max(2.0, most)))
    grid[0, 0].set_ylabel(f"{sides[0]} $i$")
    grid[1, 0].set_ylabel("entry $m_{ji}$")
    for panel in () if pooled else grid[1, 1:]:
        panel.set_yticklabels([])
    corner = grid[1, 0].get_xlim()[1]
    grid[1, 0].annotate(
        "mirror line",
        (corner, corner),
        xytext=(-6, 2),
        textcoords="offset points",
        rotation=45,
        rotation_mode="anchor",
        ha="right",
        va="bottom",
        color=NEUTRAL,
    )
    figure.colorbar(image, ax=grid[0], shrink=0.8, label="entry / 99.5th percentile\nof magnitudes in the picture")
    figure.colorbar(clouds[-1], ax=grid[1], shrink=0.8, label="pairs of entries\nin a hexagon")
    return figure


def _cloud(panel: Axes, m: np.ndarray, limit: float) -> PolyCollection:
    upper = np.triu_indices(len(m), 1)
    options = {
        "gridsize": GRID,
        "extent": (-limit, limit, -limit, limit),
        "mincnt": 1,
        "cmap": f"{SEQUENTIAL}_r",
        "linewidths": 0,
    }
    cloud = panel.hexbin(m[upper], m.T[upper], **options)
    panel.axline((0, 0), slope=1, color=NEUTRAL, linewidth=1, linestyle="--")
    panel.set(xlim=(-1.05 * limit, 1.05 * limit), ylim=(-1.05 * limit, 1.05 * limit))
    panel.set(xlabel="entry $m_{ij}$", aspect="equal", xticks=(-limit, 0, limit), yticks=(-limit, 0, limit))
    return cloud
