"""Token ids cut into blocks, and the tokens that a model has to predict for each training objective.

Every block has the same number of labels. So the mean loss of a batch is the mean over its blocks, whatever the number
of processes or of accumulated batches, and shapes never change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Int

from attngeo.errors import ParameterError
from attngeo.experiments.training.choices import TrainingObjective
from attngeo.experiments.training.config import TrainingConfig
from attngeo.experiments.training.corpora.documents import CorpusError
from attngeo.experiments.training.corpora.vocabulary import Vocabulary


@dataclass(frozen=True)
class Masking:
    """What an encoder is shown in place of the tokens that it predicts, and where it predicts them."""

    rate: float = 0.15  # share of the tokens of a block that are masked
    hidden_share: float = 0.8  # share of the masked tokens that are shown as the mask token
    random_share: float = 0.1  # share that is shown as a random token; the rest is shown unchanged
    read_left: int = 0  # number of positions to the left of a masked token at which the token is predicted
    noise_right: float = 0.0  # share of the tokens to the right of the masked token that become random tokens

    @classmethod
    def of(cls, config: TrainingConfig) -> "Masking":
        """The masking of a configuration."""
        return cls(config.mask_rate, config.hidden_share, config.random_share, config.read_left, config.noise_right)


class Blocks:
    """Blocks of ``length`` consecutive ids, without padding. They may begin and end within documents.

    A block is identified by its place in an endless sequence: place n belongs to pass ``n // len(blocks)`` over the
    text, and each pass has its own order. The number of a training step therefore determines its data, also after a
    restart and with any number of processes. Without a seed, the blocks are in the order of the text.

    Raises:
        CorpusError: the text is shorter than one block.
        ParameterError: length is not positive.
    """

    def __init__(self, ids: np.ndarray, length: int, seed: int | None = 0) -> None:
        if length < 2:
            raise ParameterError(f"the block size is {length}; a block needs at least 2 tokens.")
        if len(ids) < length:
            raise CorpusError(
                f"the text has {len(ids)} tokens, fewer than one block of {length}; give more text or a smaller block"
                " size."
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

    Masking follows BERT (S2.3): in each block, a fixed number ``round(rate * length)`` of positions is chosen, but no
    document marks. Their tokens are replaced by the mask token (80 %), replaced by a random token (10 %) or left
    unchanged (10 %), unless `Masking` has other shares. Later implementations of BERT draw each position with
    probability ``rate`` instead, which has the same mean. The draws depend only on the seed and the place of the block.

    ``released-decoder`` is the objective of the paper's released code for decoders. It uses the labels of masked
    modelling in a causal model with a shift: if token i + 1 was chosen, it is predicted at position i from the masked
    text to the left.

    Raises:
        ParameterError: the vocabulary has no mask token, or the rate is out of range.
    """

    def __init__(
        self,
        blocks: Blocks,
        objective: TrainingObjective | str,
        vocabulary: Vocabulary,
        masking: Masking | float = Masking(),
        seed: int = 0,
    ) -> None:
        self.blocks = blocks
        self.objective = TrainingObjective(objective)
        self.vocabulary = vocabulary
        self.seed = seed
        if self.objective.masks and vocabulary.mask is None:
            raise ParameterError(f"tokenizer {vocabulary.name} has no mask token, which {self.objective.value} needs.")
        self.masking = masking if isinstance(masking, Masking) else Masking(masking)
        if not 0 < self.masking.rate < 1:
            raise ParameterError(f"the mask rate is {self.masking.rate}; it must lie between 0 and 1.")
        masked = max(1, round(self.masking.rate * blocks.length))
        self.per_block = masked if self.objective.masks else blocks.length - 1
        if self.masking.noise_right and self.per_block != 1:
            raise ParameterError(
                f"noise_right needs exactly one masked token per block, but there are {self.per_block}; set mask_rate"
                f" to {1 / blocks.length:g}."
            )
        if self.masking.read_left + self.per_block > blocks.length:
            raise ParameterError(
                f"read_left is {self.masking.read_left}, but in a block of {blocks.length} tokens, too few tokens are"
                " that far from the beginning; choose a smaller value."
            )

    def at(
        self, places: Sequence[int] | np.ndarray, device: torch.device | str = "cpu"
    ) -> dict[str, Int[torch.Tensor, "batch _"]]:
        """The blocks at the given places, as the input of a model.

        The batch contains ``input_ids`` of shape (batch, length), and, of shape (batch, targets), the ``positions`` at
        which to predict, in ascending order, and the ``labels`` that are to be predicted there.
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
        n = self.blocks.length
        chosen_per_block = self.per_block
        masking = self.masking
        noise = 2 * n if masking.noise_right else 0  # additional draws, after those of BERT
        draws = np.empty((len(ids), n + 2 * chosen_per_block + noise))  # random numbers in [0, 1)
        for row, place in zip(draws, places, strict=True):  # a counter-based generator can draw for any place alone
            np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, int(place), 0])).random(out=row)
        ends = np.cumsum([n, chosen_per_block, chosen_per_block])
        order, fate, spare, of_noise = np.split(draws, ends, axis=1)
        # choose the positions with the smallest draws, document marks last; a causal model cannot predict the first
        order = np.where((ids == self.vocabulary.start) | (ids == self.vocabulary.end), order + 1, order)
        read_left = 1 if self.objective.causal else masking.read_left
        order[:, :read_left] = 2
        chosen = np.sort(np.argpartition(order, chosen_per_block - 1, axis=1)[:, :chosen_per_block], axis=1)
        labels = np.take_along_axis(ids, chosen, axis=1)
        word = (spare * self.vocabulary.size).astype(np.int64)
        shown = np.where(fate < masking.hidden_share + masking.random_share, word, labels)
        shown = np.where(fate < masking.hidden_share, self.vocabulary.mask, shown)
        np.put_along_axis(ids, chosen, shown, axis=1)
        if masking.noise_right:
            whether, which = np.split(of_noise, 2, axis=1)
            replaced = (whether < masking.noise_right) & (np.arange(n) > chosen)
            ids = np.where(replaced, (which * self.vocabulary.size).astype(np.int64), ids)
        return ids, chosen - read_left, labels
