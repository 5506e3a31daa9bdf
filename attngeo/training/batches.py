"""Token ids cut into blocks, and what a model is asked to predict of them for each training objective.

Every block has the same number of labels. So the mean loss of a batch is the mean over its blocks, whatever the number
of processes or of accumulated batches, and shapes never change.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Int

from attngeo.errors import ParameterError
from attngeo.training.choices import TrainingObjective
from attngeo.training.corpora.documents import CorpusError
from attngeo.training.corpora.vocabulary import Vocabulary

MASK_SHARE, RANDOM_SHARE = 0.8, 0.1  # of the chosen tokens: hidden, replaced by a random one; the rest stay


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

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, places: np.ndarray) -> np.ndarray:
        """Blocks at the given places of the sequence, (len(places), length), int64."""
        passes, within = np.divmod(np.asarray(places, dtype=np.int64), len(self))
        rows = np.empty(len(within), dtype=np.int64)
        for one in np.unique(passes):
            rows[passes == one] = self._order(int(one))[within[passes == one]]
        return self._rows[rows].astype(np.int64)

    @lru_cache(maxsize=4)  # noqa: B019  a batch touches at most two neighbouring passes
    def _order(self, one: int) -> np.ndarray:
        if self.seed is None:
            return np.arange(len(self))
        return np.random.default_rng([self.seed, one]).permutation(len(self))


class Batches:
    """Batches for an objective, by place in the sequence of `Blocks`.

    Masking follows BERT (S2.3): of each block a fixed number ``round(rate * length)`` of positions is chosen, no
    document marks; their tokens are hidden (80 %), replaced by a random token (10 %) or left (10 %). BERT's later
    implementations draw each position with probability ``rate`` instead, which has the same mean. The draws follow from
    the seed and the place of the block alone.

    ``released-decoder`` is what the paper's released code does for decoders: the labels of masked modelling, read by a
    causal model and shifted, so position i predicts token i + 1 where that was chosen, from a masked left context.

    Raises:
        ParameterError: the vocabulary has no mask token, or the rate is out of range.
    """

    def __init__(
        self,
        blocks: Blocks,
        objective: TrainingObjective | str,
        vocabulary: Vocabulary,
        rate: float = 0.15,
        seed: int = 0,
    ) -> None:
        self.blocks, self.objective, self.vocabulary, self.seed = blocks, TrainingObjective(objective), vocabulary, seed
        if self.objective.masks and vocabulary.mask is None:
            raise ParameterError(f"tokenizer {vocabulary.name} has no mask token, which {self.objective.value} needs.")
        if not 0 < rate < 1:
            raise ParameterError(f"the mask rate is {rate}; it must lie between 0 and 1.")
        self.per_block = max(1, round(rate * blocks.length)) if self.objective.masks else blocks.length - 1

    def at(
        self, places: Sequence[int] | np.ndarray, device: torch.device | str = "cpu"
    ) -> dict[str, Int[torch.Tensor, "batch _"]]:
        """The blocks at the given places, as a model takes them.

        ``input_ids``, (batch, length), and of every block the ``positions`` at which to predict, ascending, and the
        ``labels`` to be predicted there, (batch, targets).
        """
        places = np.asarray(places)
        ids = self.blocks.at(places)
        if self.objective.masks:
            ids, positions, labels = self._masked(ids, places)
        else:
            labels = ids[:, 1:].copy()
            positions = np.tile(np.arange(self.per_block), (len(ids), 1))
        batch = {"input_ids": ids, "positions": positions, "labels": labels}
        return {name: torch.from_numpy(array).to(device) for name, array in batch.items()}

    def _masked(self, ids: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        draws = np.empty((len(ids), self.blocks.length + 2 * self.per_block))  # in [0, 1)
        for row, place in zip(draws, places, strict=True):  # a counter-based generator: any place is drawn alone
            np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, int(place), 0])).random(out=row)
        order, fate, spare = np.split(draws, [self.blocks.length, self.blocks.length + self.per_block], axis=1)
        # the positions of smallest draw, document marks last; a causal model cannot predict the first
        order = np.where((ids == self.vocabulary.start) | (ids == self.vocabulary.end), order + 1, order)
        if self.objective.causal:
            order[:, 0] = 2
        chosen = np.sort(np.argpartition(order, self.per_block - 1, axis=1)[:, : self.per_block], axis=1)
        labels = np.take_along_axis(ids, chosen, axis=1)
        word = (spare * self.vocabulary.size).astype(np.int64)
        shown = np.where(fate < MASK_SHARE + RANDOM_SHARE, word, labels)
        shown = np.where(fate < MASK_SHARE, self.vocabulary.mask, shown)
        np.put_along_axis(ids, chosen, shown, axis=1)
        return ids, chosen - 1 if self.objective.causal else chosen, labels
