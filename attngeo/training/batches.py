"""Token ids cut into blocks, and what a model is asked to predict of them for each training objective.

Every block has the same number of labels. So the mean loss of a batch is the mean over its blocks, whatever the number
of processes or of accumulated batches, and shapes never change.
"""

from dataclasses import dataclass

import numpy as np
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


@dataclass(frozen=True)
class Batch:
    """Blocks with their labels."""

    input_ids: Int[np.ndarray, "batch length"]
    positions: Int[np.ndarray, "batch targets"]  # where to predict, ascending
    labels: Int[np.ndarray, "batch targets"]  # the id to be predicted there


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

    def at(self, places: np.ndarray) -> Batch:
        """The blocks at the given places, with their labels."""
        ids = self.blocks.at(places)
        if not self.objective.masks:
            positions = np.broadcast_to(np.arange(self.per_block), (len(ids), self.per_block))
            return Batch(ids, positions.copy(), ids[:, 1:].copy())
        draws = self._draws(places)  # (batch, length + 2 * targets) in [0, 1)
        order, fate, spare = np.split(draws, [self.blocks.length, self.blocks.length + self.per_block], axis=1)
        chosen = self._chosen(ids, order)
        labels = np.take_along_axis(ids, chosen, axis=1)
        word = (spare * self.vocabulary.size).astype(np.int64)
        shown = np.where(fate < MASK_SHARE + RANDOM_SHARE, word, labels)
        shown = np.where(fate < MASK_SHARE, self.vocabulary.mask, shown)
        np.put_along_axis(ids, chosen, shown, axis=1)
        return Batch(ids, chosen - 1 if self.objective.causal else chosen, labels)

    def _chosen(self, ids: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The positions of smallest draw, document marks last; a causal model cannot predict the first."""
        order = np.where((ids == self.vocabulary.start) | (ids == self.vocabulary.end), order + 1, order)
        if self.objective.causal:
            order[:, 0] = 2
        return np.sort(np.argpartition(order, self.per_block - 1, axis=1)[:, : self.per_block], axis=1)

    def _draws(self, places: np.ndarray) -> np.ndarray:
        """Uniform draws of each block, from a counter-based generator keyed by the seed with the place as counter."""
        draws = np.empty((len(places), self.blocks.length + 2 * self.per_block))
        for row, place in zip(draws, np.asarray(places), strict=True):
            np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, int(place), 0])).random(out=row)
        return draws
