"""Recorded pictures of W_qk."""

from pathlib import Path

import numpy as np

from attngeo.survey.record import RecordError


def read_picture(folder: Path, model: str, name: str) -> np.ndarray:
    """A recorded picture of W_qk, in units of its saturation level, (n, n) in [-1, 1].

    Raises:
        RecordError: the model or the picture is not recorded.
    """
    try:
        with np.load(Path(folder) / model / "images.npz", allow_pickle=False) as arrays:
            return arrays[name].astype(np.float32) / 127
    except (OSError, KeyError, ValueError) as error:
        raise RecordError(f"{model} has no recorded picture {name!r} ({error}).") from None
