"""Training throughput against the released configuration, as ratios within one run (``make benchmarks``).

The released configuration is Trainer with every document cut and padded to the block size, a head over the whole
vocabulary at every position, and float32 (its fp16 needs a GPU). Documents fill 72 % of their block, as paragraphs of
Wikipedia fill 128 tokens. Both sides have dropout 0.1. Only tokens that are not padding count.
"""

import time

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import BertForMaskedLM, Trainer, TrainerCallback, TrainingArguments

from attngeo.experiments.training.bert import bert_config
from attngeo.experiments.training.config import configure
from attngeo.experiments.training.corpora.documents import Corpus
from attngeo.experiments.training.corpora.tokens import TokenSet
from attngeo.experiments.training.corpora.vocabulary import Vocabulary
from attngeo.experiments.training.devices import trainer_arguments
from attngeo.experiments.training.train import _trainer

BLOCK, BATCH, STEPS, FILL = 128, 32, 4, 0.72
ROUNDS = 3  # the two sides take turns


class StepClock(TrainerCallback):
    """Processor seconds of each update, from the first batch to the end of the update."""

    def __init__(self):
        self.seconds = []

    def on_step_begin(self, args, state, control, **others):
        self.started = time.thread_time()

    def on_step_end(self, args, state, control, **others):
        self.seconds.append(time.thread_time() - self.started)


def configuration(vocab_size, **change):
    values = {"preset": "mini", "block_size": BLOCK, "batch_size": BATCH, "steps": STEPS, "vocab_size": vocab_size}
    quiet = {"record_every": STEPS, "evaluate_every": STEPS, "held_out_blocks": 1, "checkpoint_every": 0}
    return configure({**values, **quiet, **change})


def ours(vocab_size, folder, **change):
    """Best seconds per update of this project's training."""
    config = configuration(vocab_size, **change)
    ids = np.random.default_rng(0).integers(5, vocab_size, 100_000).astype(np.uint16)
    vocabulary = Vocabulary(Tokenizer(models.WordLevel()), "random", "", vocab_size, start=2, end=3, mask=4)
    corpus = Corpus("random", "", lambda: iter(()))
    arguments = trainer_arguments(config, folder)
    tokens = TokenSet(ids, ids[:5000], (1, 1))
    trainer = _trainer(config, folder, arguments, corpus, vocabulary, tokens, lambda row: None)
    clock = StepClock()
    trainer.add_callback(clock)
    trainer.train()
    return min(clock.seconds)


def padded_documents(vocab_size, count):
    """Documents of random length, padded to the block, masked as the library's collator does."""
    draw = np.random.default_rng(0)
    ids = torch.from_numpy(draw.integers(5, vocab_size, (count, BLOCK)))
    lengths = torch.from_numpy(draw.integers(int((2 * FILL - 1) * BLOCK), BLOCK + 1, count))
    kept = (torch.arange(BLOCK) < lengths[:, None]).long()
    chosen = torch.from_numpy(draw.random((count, BLOCK)) < 0.15) & (kept == 1)
    return {"input_ids": ids, "attention_mask": kept, "labels": torch.where(chosen, ids, -100)}


def released(vocab_size, folder):
    """Best seconds per update of the released configuration, and its share of tokens that are not padding."""
    clock, data = StepClock(), padded_documents(vocab_size, BATCH * STEPS)
    model = BertForMaskedLM(bert_config(configuration(vocab_size).shape(vocab_size), causal=False))
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        learning_rate=5e-5,
        weight_decay=0.01,
        use_cpu=not torch.cuda.is_available(),
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        logging_strategy="no",
    )
    documents = [dict(zip(data, one, strict=True)) for one in zip(*data.values(), strict=True)]
    Trainer(model=model, args=arguments, train_dataset=documents, callbacks=[clock]).train()
    return min(clock.seconds), float(data["attention_mask"].float().mean())


@pytest.mark.parametrize(("vocab_size", "goal"), [(30522, 5.0), (4096, 3.5)])
def test_tokens_per_second_against_the_released_configuration(record, vocab_size, goal, tmp_path):
    fast, slow = float("inf"), float("inf")
    for _ in range(ROUNDS):
        seconds, filled = released(vocab_size, tmp_path)
        slow = min(slow, seconds)
        fast = min(fast, ours(vocab_size, tmp_path))
    tokens = BATCH * BLOCK
    ratio = (tokens / fast) / (filled * tokens / slow)
    record.append({"vocabulary": vocab_size, "ours": tokens / fast, "released": filled * tokens / slow})  # tokens/s
    assert ratio > goal
