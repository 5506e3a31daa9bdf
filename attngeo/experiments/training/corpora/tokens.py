"""A corpus as token ids on disk: memory-mapped, split by document, cached under the hash of what it was made from."""

import hashlib
import json
import os
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock

from attngeo.experiments.training.choices import Text
from attngeo.experiments.training.corpora.documents import Corpus, CorpusError
from attngeo.experiments.training.corpora.vocabulary import Vocabulary
from attngeo.files.atomic import atomic_folder
from attngeo.inputs import cause

FORMAT = 3  # part of the key of the cache; raise it when the meaning of the files changes
AT_ONCE = 32  # the number of documents that are encoded at a time


class TokenSet(NamedTuple):
    """The token ids of a corpus: documents one after the other, each between its start and end marks."""

    train: np.ndarray  # (tokens,) ids to train on; every document is whole in one of the two parts
    held_out: np.ndarray  # ids to measure the loss on
    documents: tuple[int, int]  # the number of documents in each part


def cache_folder() -> Path:
    """``ATTNGEO_CACHE``, or ``attngeo`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("ATTNGEO_CACHE") or Path(base) / "attngeo")


def tokenize(
    corpus: Corpus,
    vocabulary: Vocabulary,
    text: Text | str = Text.PLAIN,
    held_out: float = 0.05,
    folder: Path | None = None,
) -> TokenSet:
    """Token ids of a corpus, from the cache (in `cache_folder`) if it has been tokenised before.

    Documents are ordered by the hash of their text, and the first of them, with a share ``held_out`` in (0, 1) of the
    tokens, are held out. Equal documents are in the same part.

    Raises:
        CorpusError: the corpus has fewer than two different documents, or the cache cannot be written.
    """
    text = Text(text)
    key = hashlib.sha256(
        json.dumps([FORMAT, corpus.digest, vocabulary.digest, text.value, held_out]).encode()
    ).hexdigest()[:32]
    target = (folder or cache_folder() / "tokens") / key
    try:
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(target.with_suffix(".lock")):
                if not target.exists():  # another process may have been first
                    _write(target, corpus, vocabulary, text, held_out)
    except OSError as error:
        raise CorpusError(
            f"The cache of token ids, {target.parent}, cannot be written ({cause(error)}); set ATTNGEO_CACHE to a"
            " folder that can be written."
        ) from error
    train, apart, documents = (np.load(target / f"{name}.npy", mmap_mode="r") for name in TokenSet._fields)
    return TokenSet(train, apart, tuple(documents.tolist()))


def _write(target: Path, corpus: Corpus, vocabulary: Vocabulary, text: Text, held_out: float) -> None:
    dtype = np.dtype("uint16" if vocabulary.size <= 1 << 16 else "uint32")
    ids: list[np.ndarray] = []
    digests: list[bytes] = []
    documents = corpus.documents()
    while chunk := list(islice(documents, AT_ONCE)):
        for document in chunk:
            digests.append(hashlib.blake2b(document.encode("utf-8", "replace"), digest_size=8).digest())
        for encoded in vocabulary.encode([text.spell(document) for document in chunk]):
            ids.append(np.array([vocabulary.start, *encoded, vocabulary.end], dtype=dtype))
    lengths = np.array([len(document) for document in ids])
    hashes = np.array(digests, dtype="S8")
    order = np.argsort(hashes, kind="stable")
    before = np.cumsum(lengths[order]) - lengths[order]  # the number of tokens of all earlier documents in this order
    largest_apart = hashes[order][before < held_out * lengths.sum()][-1]
    apart = hashes <= largest_apart
    if apart.all():
        raise CorpusError(
            f"corpus {corpus.name} has too few documents to hold some out for evaluation; separate documents by blank"
            " lines, or add more."
        )
    parts = [np.concatenate([ids[i] for i in np.flatnonzero(chosen)]) for chosen in (~apart, apart)]
    n_documents = np.array([(~apart).sum(), apart.sum()])
    with atomic_folder(target) as new:
        for name, array in zip(TokenSet._fields, (*parts, n_documents), strict=True):
            np.save(new / f"{name}.npy", array)
