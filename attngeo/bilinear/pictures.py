"""W_qk as a picture, small enough to be stored for every model without its weights."""

import numpy as np
import torch

from attngeo.bilinear.form import BilinearForm

IMAGE_SIDE = 256  # pixels; larger matrices are pooled
LEVELS = 127  # of each sign
PIXEL_ROWS = 16  # rows of a picture computed at a time
SAMPLE = 512  # number of coordinates


def block_side(form: BilinearForm, side: int = IMAGE_SIDE) -> int:
    """The side k of the k x k block that a pixel of a picture represents."""
    return -(-form.d_model // side)


def sample(form: BilinearForm, n: int = SAMPLE) -> np.ndarray:
    """``W_qk`` on n random coordinates, (n, n) in float32, or on all coordinates if there are fewer."""
    q, k = form.to(torch.float32).merged()
    drawn = torch.randperm(len(q), generator=torch.Generator().manual_seed(0))[:n]
    return (q[drawn] @ k[drawn].T).numpy()


def picture(form: BilinearForm, side: int = IMAGE_SIDE) -> tuple[np.ndarray, float]:
    """W_qk as signed 8-bit levels, and the value that level 127 represents.

    A matrix wider than ``side`` is pooled over k x k blocks. Each block is represented by its entry of largest
    magnitude, so that single strong rows and columns stay visible. Levels saturate at the 99.5th percentile of the
    magnitudes. Only the picture and a few rows of the matrix are in memory at a time.
    """
    q, k = form.to(torch.float32).merged()  # (d, rank) each
    width = block_side(form, side)
    n = q.shape[0] // width  # pixels per side
    m = torch.empty(n, n)
    for start in range(0, n, PIXEL_ROWS):
        rows = q[start * width : min(start + PIXEL_ROWS, n) * width] @ k[: n * width].T
        blocks = rows.unflatten(0, (-1, width)).unflatten(2, (n, width)).transpose(1, 2).flatten(2)
        m[start : start + PIXEL_ROWS] = blocks.gather(2, blocks.abs().argmax(2, keepdim=True)).squeeze(2)
    flat = np.abs(m.numpy()).ravel()
    peak = float(np.quantile(flat, 0.995)) or float(flat.max()) or 1.0
    return np.round(np.clip(m.numpy() / peak, -1, 1) * LEVELS).astype(np.int8), peak
