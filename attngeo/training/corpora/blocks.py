"""Token ids cut into blocks of equal length, in an order that follows from a seed."""

import numpy as np

from attngeo.errors import ParameterError
from attngeo.training.corpora.documents import CorpusError


class Blocks:
    """Blocks of ``length`` consecutive ids, as many as are whole, without padding; document marks fall where they fall.

    A block is asked for by its place in an endless sequence: place n belongs to pass ``n // len(blocks)`` over the
    text, and each pass has its own order. So a step of training knows its data from its number alone, whoever computes
    it: after a restart, or on any number of processes. Without a seed the order is that of the text.

    Raises:
        CorpusError: the text is shorter than one block.
        ParameterError: length is not positive.
    """

    def __init__(self, ids: np.ndarray, length: int, seed: int | None = 0) -> None:
        if length < 2:
            raise ParameterError(f"the block size is {length}; a block needs at least 2 tokens.")
        if len(ids) < length:
            raise CorpusError(
                f"the text has {len(ids)} tokens, fewer than one block of {length}; give more text or a smaller block."
            )
        self.length = length
        self.seed = seed
        self._rows = ids[: len(ids) // length * length].reshape(-1, length)
        self._orders: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, places: np.ndarray) -> np.ndarray:
        """Blocks at the given places of the sequence, (len(places), length), int64."""
        passes, within = np.divmod(np.asarray(places, dtype=np.int64), len(self))
        rows = np.empty(len(within), dtype=np.int64)
        for one in np.unique(passes):
            rows[passes == one] = self._order(int(one))[within[passes == one]]
        return self._rows[rows].astype(np.int64)

    def _order(self, one: int) -> np.ndarray:
        if self.seed is None:
            return np.arange(len(self))
        if one not in self._orders:
            if len(self._orders) > 1:  # a batch touches at most two neighbouring passes
                self._orders.clear()
            self._orders[one] = np.random.default_rng([self.seed, one]).permutation(len(self))
        return self._orders[one]
