"""Corpora by name or path. Corpora on the Hugging Face Hub are read as a stream with `datasets`.

The data sets of the paper were loaded by scripts, which `datasets` no longer runs. Each entry describes a data set that
contains the same or the most similar text today.
"""

import ast
import hashlib
import json
import os
import platform
import re
import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from attngeo.experiments.training.corpora.documents import Corpus, CorpusError, limited, local_corpus
from attngeo.inputs import cause, local_path, read_yaml

EMBEDDED = "embedded"
SHORTEST = 200  # smallest number of characters of a document, because shorter docstrings say little
SKIPPED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data"}
MAX_CHARACTERS = 1_000_000_000  # default for a corpus of the Hub: about 0.5 GB of tokens on disk
SHUFFLE_BUFFER = 10_000  # documents


@dataclass(frozen=True)
class HubCorpus:
    """The location of a corpus on the Hub today, and how it differs from the corpus of the paper (Appendix S2.2)."""

    path: str
    column: str
    remark: str
    config: str | None = None
    data_files: str | None = None  # the file that contains the text, if the repository also has other files
    listing: str = ""  # a file of the repository that lists shards stored elsewhere, one per line
    shards: str = ""  # address of a shard, with {line} for the line of the listing


KNOWN = read_yaml(Path(__file__).with_name("hub.yml"), dict[str, HubCorpus], CorpusError)
NAMES = (EMBEDDED, *KNOWN)


def open_corpus(name: str, max_characters: int | None = None) -> Corpus:
    """Documents of a named corpus, a local file or a folder.

    Args:
        name: "embedded" (no network), "wikipedia", "jigsaw", "redpajama" (streams of the Hub, shuffled with a fixed
            seed), or a path, where environment variables are replaced: ``$ATTNGEO_CORPORA/wikipedia``.
        max_characters: largest number of characters. The default is 1,000,000,000 for corpora of the Hub, and no limit
            for other corpora.

    Raises:
        CorpusError: there is no such corpus, it cannot be read or is empty, or the Hub cannot be reached.
    """
    if name == EMBEDDED:
        return _embedded_corpus(max_characters)
    if name in KNOWN:
        return _hub_corpus(name, KNOWN[name], max_characters or MAX_CHARACTERS)
    path = local_path(os.path.expandvars(name), CorpusError)
    if not name.strip() or not path.exists():
        raise CorpusError(f"corpus {name!r} is unknown; use one of {', '.join(NAMES)}, or a file or folder with text.")
    return local_corpus(path.resolve(), max_characters)


@cache  # reading all modules of Python takes seconds
def _embedded_corpus(max_characters: int | None = None) -> Corpus:
    """The documentation of Python: the topics of the language reference, and the docstrings of each module.

    It has about two million characters, which depend on the version of Python, and needs no network. The digest is that
    of the text.
    """
    documents = tuple(limited(_python_documents(), max_characters))
    digest = hashlib.sha256("\0".join(documents).encode("utf-8", "surrogatepass"))
    source = {"package": "python", "version": platform.python_version()}
    return Corpus(EMBEDDED, digest.hexdigest(), lambda: iter(documents), (source,))


def _python_documents() -> Iterator[str]:
    from pydoc_data import topics

    for _, text in sorted(topics.topics.items()):
        yield text
    folder = Path(sysconfig.get_path("stdlib"))
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.py"))
    for name in names:
        if SKIPPED & set(name.split("/")):
            continue
        file = folder / name
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about source code that is not ours
                tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented))
        document = "\n".join(text for text in texts if text)
        if len(document) >= SHORTEST:
            yield re.sub(r"\n\s*\n", "\n", document)


def _hub_corpus(name: str, known: HubCorpus, limit: int) -> Corpus:
    with _refusing(name, known):
        from huggingface_hub import HfApi

        # the revision that is served now, so that every pass reads the same text
        revision = HfApi().dataset_info(known.path).sha or "main"
    source = {"hub": known.path, "config": known.config or "", "revision": revision, "remark": known.remark}
    key = json.dumps([known.path, known.config, known.data_files, known.listing, revision, limit])

    def documents() -> Iterator[str]:
        with _refusing(name, known):
            rows = _stream(known, revision).shuffle(seed=0, buffer_size=SHUFFLE_BUFFER)
            yield from limited((str(row[known.column] or "") for row in rows), limit)

    return Corpus(name, hashlib.sha256(key.encode()).hexdigest(), documents, (source,))


def _stream(known: HubCorpus, revision: str) -> Any:
    """The rows of a data set on the Hub, as `datasets` streams them."""
    from datasets import load_dataset

    if not known.listing:
        files = {"data_files": known.data_files} if known.data_files else {}
        return load_dataset(known.path, known.config, split="train", streaming=True, revision=revision, **files)
    from huggingface_hub import hf_hub_download

    listing = Path(hf_hub_download(known.path, known.listing, repo_type="dataset", revision=revision))
    lines = listing.read_text("utf-8").split("\n")
    addresses = [known.shards.format(line=line.strip()) for line in lines if line]
    return load_dataset("json", data_files=addresses, split="train", streaming=True)


@contextmanager
def _refusing(name: str, known: HubCorpus) -> Iterator[None]:
    """Report any error of the network, a proxy, the Hub or `datasets` in one sentence."""
    try:
        yield
    except Exception as error:
        reason = f"it has no column {error}" if isinstance(error, KeyError) else cause(error)
        raise CorpusError(
            f"corpus {name} ({known.path} on the Hugging Face Hub) cannot be read ({reason}); check the network and the"
            " packages of 'attngeo[train]', or give a local file or folder."
        ) from error
