"""A corpus as token ids on disk: memory-mapped, split by document, cached under the hash of what it was made from."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attngeo.files.atomic import write_text
from attngeo.files.manifest import damage, write_manifest
from attngeo.inputs import read_json
from attngeo.training.choices import Text
from attngeo.training.corpora.documents import Corpus, CorpusError
from attngeo.training.corpora.vocabulary import Vocabulary

FORMAT = 1  # raise it when the meaning of the files changes
CHUNK_CHARACTERS = 2_000_000  # documents encoded at a time
PARTS = ("train", "held_out")


@dataclass(frozen=True, eq=False)
class TokenSet:
    """The token ids of a corpus: documents one after the other, each between its start and end marks."""

    train: np.ndarray  # (tokens,) ids to train on; a document is in one part whole
    held_out: np.ndarray  # ids to measure the loss on
    documents: tuple[int, int]  # how many in each part


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

    Documents are ordered by the hash of their text, and the first of them that hold a share ``held_out`` of the tokens,
    in (0, 1), are kept apart; equal documents are on the same side.

    Raises:
        CorpusError: the corpus has fewer than two different documents, or the cache cannot be written.
    """
    text = Text(text)
    key = hashlib.sha256(
        json.dumps([FORMAT, corpus.digest, vocabulary.digest, text.value, held_out]).encode()
    ).hexdigest()[:32]
    target = (folder or cache_folder() / "tokens") / key
    if damage(target):
        _write(target, corpus, vocabulary, text, held_out)
    about = read_json(target / "tokens.json", dict[str, Any], CorpusError)
    arrays = [np.memmap(target / f"{part}.bin", dtype=about["dtype"], mode="r") for part in PARTS]
    return TokenSet(arrays[0], arrays[1], tuple(about["documents"]))


def _write(target: Path, corpus: Corpus, vocabulary: Vocabulary, text: Text, held_out: float) -> None:
    """Encode into a folder beside the target and move it there whole."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise CorpusError(
            f"The cache of token ids, {target.parent}, cannot be written ({error.strerror}); let ATTNGEO_CACHE name a "
            "folder that can."
        ) from error
    dtype = np.dtype("uint16" if vocabulary.size <= 1 << 16 else "uint32")
    try:
        lengths, hashes = _encode(temporary / "all.bin", corpus, vocabulary, text, dtype)
        apart = _held_out(lengths, hashes, held_out, corpus.name)
        everything = np.memmap(temporary / "all.bin", dtype=dtype, mode="r")
        starts = np.cumsum(lengths) - lengths
        for part, chosen in zip(PARTS, (~apart, apart), strict=True):
            with open(temporary / f"{part}.bin", "wb") as file:
                for i in np.flatnonzero(chosen):
                    everything[starts[i] : starts[i] + lengths[i]].tofile(file)
        del everything
        (temporary / "all.bin").unlink()
        about = {"dtype": dtype.name, "documents": [int((~apart).sum()), int(apart.sum())], "corpus": corpus.name}
        write_text(temporary / "tokens.json", json.dumps(about))
        write_manifest(temporary)
        shutil.rmtree(target, ignore_errors=True)
        try:
            temporary.rename(target)
        except OSError:
            if damage(target):  # else another process was first
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _encode(file: Path, corpus: Corpus, vocabulary: Vocabulary, text: Text, dtype: np.dtype):
    """Write the ids of all documents; return their lengths in tokens and the hashes of their texts."""
    lengths: list[int] = []
    hashes: list[bytes] = []
    with open(file, "wb") as opened:
        for chunk in _chunks(corpus.documents()):
            hashes += [
                hashlib.blake2b(document.encode("utf-8", "replace"), digest_size=8).digest() for document in chunk
            ]
            for ids in vocabulary.encode([text.spell(document) for document in chunk]):
                lengths.append(len(ids) + 2)
                opened.write(np.array([vocabulary.start, *ids, vocabulary.end], dtype=dtype).tobytes())
    return np.array(lengths, dtype=np.int64), np.array(hashes, dtype="S8")


def _chunks(documents: Iterator[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    characters = 0
    for document in documents:
        chunk.append(document)
        characters += len(document)
        if characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _held_out(lengths: np.ndarray, hashes: np.ndarray, share: float, name: str) -> np.ndarray:
    """Which documents are kept apart: in the order of their hashes, until they hold the share of tokens."""
    order = np.argsort(hashes, kind="stable")
    before = np.cumsum(lengths[order]) - lengths[order]
    apart = np.zeros(len(lengths), dtype=bool)
    apart[order[before < share * lengths.sum()]] = True
    last = hashes[order[apart[order].sum() - 1]]
    apart |= hashes == last
    if apart.all():
        raise CorpusError(
            f"corpus {name} has too few documents to keep some apart; separate documents by blank lines, or add more."
        )
    return apart
