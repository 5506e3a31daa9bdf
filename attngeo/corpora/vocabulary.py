"""Tokenizers: trained on the corpus, read from a file, or fetched from the Hub."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from attngeo.corpora.documents import Corpus, CorpusError, Text
from attngeo.errors import ParameterError

TRAINED = "trained"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TRAINING_CHARACTERS = 20_000_000  # of the corpus, from its start: enough for a vocabulary of 30,522
NAMES = {  # how tokenizers spell the marks we need
    "start": ("[CLS]", "<s>", "<|startoftext|>", "<|endoftext|>"),
    "end": ("[SEP]", "</s>", "<|endoftext|>"),
    "mask": ("[MASK]", "<mask>"),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A tokenizer with the marks that training needs.

    Args:
        name: "trained", a file name, or a Hub id.
        digest: sha256 of its JSON text.
        size: number of tokens; ids are below it.
        start: id of the mark before a document, end: after it, mask: of a hidden token (None if it has none).
    """

    tokenizer: Tokenizer
    name: str
    digest: str
    size: int
    start: int
    end: int
    mask: int | None

    def encode(self, documents: list[str]) -> list[list[int]]:
        """Token ids of each document, without marks."""
        return [found.ids for found in self.tokenizer.encode_batch_fast(documents, add_special_tokens=False)]


def open_vocabulary(name: str, corpus: Corpus, text: Text | str = Text.PLAIN, size: int = 30522) -> Vocabulary:
    """A tokenizer by name.

    Args:
        name: "trained" (WordPiece over lower-cased words, as BERT's, trained on the first 20 million characters of the
            corpus), the path of a tokenizer.json or of a folder with one, or a Hub id such as bert-base-uncased.
        corpus: what to train it on.
        text: how that is spelt.
        size: most tokens of a trained vocabulary. Short or character-spaced texts have fewer.

    Raises:
        CorpusError: the file or Hub repository cannot be read, or lacks the marks of a document's start and end.
        ParameterError: size leaves no room for words.
    """
    if name == TRAINED:
        if size <= len(SPECIAL):
            raise ParameterError(
                f"a vocabulary of {size} has no room beside its {len(SPECIAL)} marks; take 100 or more."
            )
        return _vocabulary(_trained(corpus, Text(text), size), name)
    path = Path(name).expanduser()
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        tokenizer = Tokenizer.from_file(str(path)) if path.is_file() else Tokenizer.from_pretrained(name)
    except Exception as error:  # tokenizers raises bare Exception
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(
            f"tokenizer {name} cannot be read ({reason}); give a tokenizer.json, a Hub id, or 'trained'."
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _vocabulary(tokenizer, path.name if path.is_file() else name)


def _trained(corpus: Corpus, text: Text, size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # no single character rarer than the last of a thousand: otherwise scripts of one article fill a small vocabulary
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), limit_alphabet=min(1000, size // 2), show_progress=False
    )
    tokenizer.train_from_iterator((text.spell(part) for part in _beginning(corpus.documents())), trainer)
    return tokenizer


def _beginning(documents: Iterable[str]) -> Iterator[str]:
    read = 0
    for document in documents:
        yield document
        read += len(document)
        if read >= TRAINING_CHARACTERS:
            return


def _vocabulary(tokenizer: Tokenizer, name: str) -> Vocabulary:
    found = {
        mark: next((i for spelling in spellings if (i := tokenizer.token_to_id(spelling)) is not None), None)
        for mark, spellings in NAMES.items()
    }
    for mark in ("start", "end"):
        if found[mark] is None:
            raise CorpusError(f"tokenizer {name} has no mark for the {mark} of a document; use 'trained' or BERT's.")
    digest = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    return Vocabulary(tokenizer, name, digest, tokenizer.get_vocab_size(), **found)
