"""A corpus by its name or its path."""

import os

from attngeo.inputs import local_path
from attngeo.training.corpora.documents import Corpus, CorpusError, local_corpus
from attngeo.training.corpora.embedded import NAME as EMBEDDED
from attngeo.training.corpora.embedded import embedded_corpus
from attngeo.training.corpora.hub import KNOWN, hub_corpus

NAMES = (EMBEDDED, *KNOWN)


def open_corpus(name: str, max_characters: int | None = None) -> Corpus:
    """Documents of a named corpus, a local file or a folder.

    Args:
        name: "embedded" (no network), "wikipedia", "jigsaw", "redpajama", "wikitext" (from the Hub), or a path, where
            environment variables are replaced: ``$ATTNGEO_CORPORA/wikipedia``.
        max_characters: stop after that many. Default: all of a local file or folder, 3,000,000 of the embedded corpus,
            1,000,000,000 of the Hub's.

    Raises:
        CorpusError: neither a name nor a path, unreadable, or empty.
    """
    if name == EMBEDDED:
        return embedded_corpus(max_characters)
    if name in KNOWN:
        return hub_corpus(name, max_characters)
    path = local_path(os.path.expandvars(name), CorpusError)
    if not name.strip() or not path.exists():
        raise CorpusError(f"corpus {name!r} is unknown; name one of {', '.join(NAMES)}, or a file or folder of text.")
    return local_corpus(path.resolve(), max_characters)
