"""Pictures of W_qk, and below each its mirror cloud: every entry against the one on the other side of the diagonal."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from attngeo.display.style import DIVERGING, NEUTRAL, SEQUENTIAL, house_style, new_figure, plain_panel

GRID = 26  # hexagons across a cloud


@house_style()
def mirror_clouds(pictures: Mapping[str, np.ndarray], width: int | float = 7.4) -> Figure:
    """Both for each matrix, by title: (n, n) in [-1, 1]. A symmetric matrix lies on the mirror line, m_ij = m_ji."""
    columns = len(pictures)
    height = 2 * (width - 1.2) / columns + 1.3
    figure, grid = new_figure(width, height, rows=2, columns=columns, squeeze=False)
    clouds = []
    for (title, m), above, below in zip(pictures.items(), *grid, strict=True):
        plain_panel(above)
        image = above.imshow(m, cmap=DIVERGING, vmin=-1, vmax=1)
        above.set(title=title, xticks=[], yticks=[], xlabel="key side $j$")
        clouds.append(_cloud(below, m))
    most = max(float(np.max(cloud.get_array())) for cloud in clouds)
    for cloud in clouds:
        cloud.set_norm(LogNorm(1, max(2.0, most)))
    grid[0, 0].set_ylabel("query side $i$")
    grid[1, 0].set_ylabel("$m_{ji}$")
    for panel in grid[1, 1:]:
        panel.set_yticklabels([])
    figure.legend(*grid[1, 0].get_legend_handles_labels(), loc="outside lower left")
    figure.colorbar(image, ax=grid[0], shrink=0.8, label="entry / saturation")
    figure.colorbar(clouds[-1], ax=grid[1], shrink=0.8, label="pairs of entries")
    return figure


def _cloud(panel: Axes, m: np.ndarray) -> PolyCollection:
    upper = np.triu_indices(len(m), 1)
    options = {"gridsize": GRID, "extent": (-1, 1, -1, 1), "mincnt": 1, "cmap": f"{SEQUENTIAL}_r", "linewidths": 0}
    cloud = panel.hexbin(m[upper], m.T[upper], **options)
    panel.axline((0, 0), slope=1, color=NEUTRAL, linewidth=1, linestyle="--", label="mirror line")
    panel.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    panel.set(xlabel="$m_{ij}$", aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    return cloud
