"""Tokenizers: trained on the corpus, read from a file, or fetched from the Hub."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from attngeo.checkpoints.hub import HubRepository
from attngeo.experiments.training.choices import Text
from attngeo.experiments.training.corpora.documents import Corpus, CorpusError
from attngeo.inputs import cause, local_path

TRAINED = "trained"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LARGEST = 2**20  # ids of any tokenizer
TRAINING_CHARACTERS = 20_000_000  # the beginning of a corpus, enough for a vocabulary of 30,522 tokens
SPELLINGS = {  # how tokenizers spell the special tokens that we need
    "start": ("[CLS]", "<s>", "<|startoftext|>", "<|endoftext|>"),
    "end": ("[SEP]", "</s>", "<|endoftext|>"),
    "mask": ("[MASK]", "<mask>"),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A tokenizer with the special tokens that training needs."""

    tokenizer: Tokenizer
    name: str  # "trained", a file name, or a Hub id
    digest: str  # sha256 of its JSON text
    size: int  # ids are below it
    start: int  # id of the token before a document
    end: int  # id of the token after a document
    mask: int | None  # id of the mask token

    def encode(self, documents: list[str]) -> list[list[int]]:
        """Token ids of each document, without special tokens."""
        try:
            return [found.ids for found in self.tokenizer.encode_batch_fast(documents, add_special_tokens=False)]
        except Exception as error:  # tokenizers raises bare Exception
            raise CorpusError(
                f"tokenizer {self.name} cannot read the text ({cause(error)}); use another tokenizer."
            ) from error


def open_vocabulary(name: str, corpus: Corpus, text: Text | str = Text.PLAIN, size: int = 30522) -> Vocabulary:
    """A tokenizer by name.

    Args:
        name: "trained" (WordPiece over lower-cased words, as BERT's, trained on the first 20 million characters of the
            corpus), the path of a tokenizer.json or of a folder with one, or a Hub id such as bert-base-uncased.
        corpus: the text to train it on.
        text: how this text is written.
        size: the largest number of tokens of a trained vocabulary. Short or character-spaced texts have fewer.

    Raises:
        CheckpointError: neither a file nor a Hub repository of this name can be found.
        CorpusError: the tokenizer cannot be read, or has no tokens for the start and the end of a document.
    """
    if name == TRAINED:
        tokenizer = _trained(corpus, Text(text), size)
    else:
        file = local_path(name)
        if file.is_dir():
            file = file / "tokenizer.json"
        is_local = file.is_file()
        if not is_local:
            file = HubRepository(name, first="tokenizer.json").fetch("tokenizer.json")
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # tokenizers raises bare Exception
            raise CorpusError(
                f"tokenizer {name} cannot be read ({cause(error)}); give a tokenizer.json or a Hub id."
            ) from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if is_local:
            name = file.name
    found: dict[str, Any] = {}
    for mark, spellings in SPELLINGS.items():
        ids = [tokenizer.token_to_id(spelling) for spelling in spellings]
        found[mark] = next((token for token in ids if token is not None), None)
        if found[mark] is None and mark != "mask":
            raise CorpusError(
                f"tokenizer {name} has no token for the {mark} of a document; use 'trained' or the tokenizer of BERT."
            )
    digest = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    size = 1 + max(tokenizer.get_vocab().values())  # ids may have gaps
    if size > LARGEST:
        raise CorpusError(f"tokenizer {name} has an id {size - 1:,}, but ids can be at most {LARGEST:,}; use another.")
    return Vocabulary(tokenizer, name, digest, size, **found)


def _trained(corpus: Corpus, text: Text, size: int) -> Tokenizer:
    """A WordPiece tokenizer that depends only on the text.

    The trainer numbers the pieces "##x" of single characters in the order of a hash table that differs between runs,
    and breaks ties by these numbers. We therefore count the characters here and pass their pieces to the trainer as
    marks.
    """
    tokenizer = _wordpiece(list(SPECIAL))
    counts: Counter[str] = Counter()
    for part in _beginning(corpus.documents()):
        counts.update(tokenizer.normalizer.normalize_str(part))
    # rarer characters become unknown, because the scripts of one article could fill a small vocabulary
    most = size - len(SPECIAL) if text is Text.SPACED else max(64, min(1000, size // 16))
    common = sorted(sorted((c for c in counts if not c.isspace()), key=lambda c: (-counts[c], c))[:most])
    if text is Text.SPACED:  # every word is a single character
        return _wordpiece([*SPECIAL, *common])
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SPECIAL, *(f"##{c}" for c in common)],
        initial_alphabet=common,
        limit_alphabet=len(common),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_beginning(corpus.documents()), trainer)
    vocabulary = tokenizer.get_vocab()
    return _wordpiece(sorted(vocabulary, key=vocabulary.get)[:size])


def _wordpiece(tokens: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens([token for token in SPECIAL if token in tokens])
    return tokenizer


def _beginning(documents: Iterable[str]) -> Iterator[str]:
    read = 0
    for document in documents:
        yield document
        read += len(document)
        if read >= TRAINING_CHARACTERS:
            return
