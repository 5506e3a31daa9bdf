"""Named corpora of the Hugging Face Hub, read as a stream through `datasets`.

The paper's data sets were loaded by scripts, which `datasets` no longer runs; each entry names what holds the same or
the nearest text today.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from attngeo.inputs import cause, read_yaml
from attngeo.training.corpora.documents import Corpus, CorpusError, limited

MAX_CHARACTERS = 1_000_000_000  # default: what one corpus may take, about 0.5 GB of tokens on disk
SHUFFLE_BUFFER = 10_000  # documents


@dataclass(frozen=True)
class HubCorpus:
    """Where a corpus lives on the Hub today, and how it differs from the paper's (Appendix S2.2)."""

    path: str
    column: str
    remark: str
    config: str | None = None
    data_files: str | None = None  # the file that holds the text, where the repository has others too
    listing: str = ""  # a file of the repository that lists shards kept elsewhere, one per line
    shards: str = ""  # address of a shard, with {line} for the line of the listing
    articles: bool = False  # rows are lines of articles, to be put together again


KNOWN = read_yaml(Path(__file__).with_name("hub.yml"), dict[str, HubCorpus], CorpusError)


def hub_corpus(name: str, max_characters: int | None = None) -> Corpus:
    """A stream of documents of a corpus in `KNOWN`, from the Hub, shuffled with a fixed seed.

    Raises:
        CorpusError: `datasets` is missing, the network or the Hub refuses, or the column is not there.
    """
    known = KNOWN[name]
    limit = max_characters or MAX_CHARACTERS
    with _refusing(name, known):
        from huggingface_hub import HfApi

        revision = HfApi().dataset_info(known.path).sha or "main"  # what is served now, to read the same again
    source = {"hub": known.path, "config": known.config or "", "revision": revision, "remark": known.remark}
    key = json.dumps([known.path, known.config, known.data_files, known.listing, revision, limit])

    def documents() -> Iterator[str]:
        with _refusing(name, known):
            yield from limited(_stream(known, revision), limit)

    return Corpus(name, hashlib.sha256(key.encode()).hexdigest(), documents, (source,))


def _stream(known: HubCorpus, revision: str) -> Iterator[str]:
    from datasets import load_dataset

    if known.listing:
        from huggingface_hub import hf_hub_download

        listing = Path(hf_hub_download(known.path, known.listing, repo_type="dataset", revision=revision))
        urls = [known.shards.format(line=line.strip()) for line in listing.read_text("utf-8").split("\n") if line]
        stream = load_dataset("json", data_files=urls, split="train", streaming=True)
    else:
        options = {"data_files": known.data_files} if known.data_files else {}
        stream = load_dataset(known.path, known.config, split="train", streaming=True, revision=revision, **options)
    if known.articles:
        yield from _articles(str(row[known.column]) for row in stream)
    else:
        yield from (str(row[known.column] or "") for row in stream.shuffle(seed=0, buffer_size=SHUFFLE_BUFFER))


def _articles(lines: Iterator[str]) -> Iterator[str]:
    """Lines of WikiText as articles: a line ``= Title =``, one equality sign on either side, opens one."""
    article: list[str] = []
    for line in lines:
        if re.fullmatch(r"\s*= [^=](.*[^=])? =\s*", line) and article:
            yield "".join(article)
            article = []
        article.append(line)
    yield "".join(article)


@contextmanager
def _refusing(name: str, known: HubCorpus) -> Iterator[None]:
    """Turns whatever the network, a proxy, the Hub or `datasets` raises into one sentence."""
    try:
        yield
    except Exception as error:
        reason = f"it has no column {error}" if isinstance(error, KeyError) else cause(error)
        raise CorpusError(
            f"corpus {name} ({known.path} on the Hugging Face Hub) cannot be read ({reason}); check the network and the"
            " packages of 'attngeo[train]', or give a local file or folder."
        ) from error
