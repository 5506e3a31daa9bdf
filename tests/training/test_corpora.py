import gzip
import json
import lzma
import re
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from attngeo.experiments.training.choices import Text
from attngeo.experiments.training.corpora import documents as module
from attngeo.experiments.training.corpora import registry
from attngeo.experiments.training.corpora import tokens as tokens_module
from attngeo.experiments.training.corpora.documents import Corpus, CorpusError, limited
from attngeo.experiments.training.corpora.registry import NAMES, open_corpus
from attngeo.experiments.training.corpora.tokens import tokenize
from attngeo.experiments.training.corpora.vocabulary import open_vocabulary

DOCUMENTS = [f"document {i}: a cat sat on mat number {i * i}" for i in range(40)]
LINES = "\n".join(json.dumps({"text": d, "other": i}) for i, d in enumerate(DOCUMENTS)).encode()
ROWS = pd.DataFrame({"id": range(40), "text": DOCUMENTS})
PLAIN = "\n\n".join(DOCUMENTS).encode()
FORMATS = {
    ".txt": PLAIN,
    ".txt.xz": lzma.compress(PLAIN),
    ".jsonl": LINES,
    ".jsonl.gz": gzip.compress(LINES),
    ".plain.jsonl": "\n".join(map(json.dumps, DOCUMENTS)).encode(),
    ".parquet": ROWS.to_parquet(),
    ".category.parquet": ROWS.astype("category").to_parquet(),
}


def memory(documents=DOCUMENTS, digest="digest"):
    return Corpus("memory", digest, lambda: iter(documents))


@pytest.fixture(scope="module")
def vocabulary():
    return open_vocabulary("trained", memory(), size=200)


def test_every_format_gives_the_same_documents(tmp_path):
    for suffix, content in FORMATS.items():
        file = tmp_path / f"text{suffix}"
        file.write_bytes(content)
        corpus = open_corpus(str(file))
        assert list(corpus.documents()) == DOCUMENTS == list(corpus.documents()), suffix
        assert corpus.sources[0]["file"].endswith(file.name) and len(corpus.sources[0]["sha256"]) == 64


def test_a_folder_is_read_in_the_order_of_its_names_and_no_path_enters_the_record(tmp_path, monkeypatch):
    (tmp_path / "b.txt").write_text("title\nbody\n\nlast\n")
    (tmp_path / "a.txt").write_text("one\ntwo\n")  # lines are documents where no line is blank
    rows = ({"comment_text": "x" * 200_000}, {"comment_text": "two\nlines"})
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "README.md").write_text("not text to train on")
    monkeypatch.setenv("SOME_TEXT", str(tmp_path))
    corpus = open_corpus("$SOME_TEXT")
    assert list(corpus.documents()) == ["one", "two", "title\nbody", "last", "x" * 200_000, "two\nlines"]
    assert str(tmp_path.parent) not in json.dumps([corpus.name, corpus.sources])


def test_the_digest_follows_the_content_and_not_the_name(tmp_path):
    for name, documents in (("a", DOCUMENTS), ("b", DOCUMENTS), ("c", ["x"])):
        (tmp_path / f"{name}.txt").write_text("\n\n".join(documents))
    first, second, other = (open_corpus(str(tmp_path / f"{name}.txt")).digest for name in "abc")
    assert first == second != other and open_corpus(str(tmp_path / "a.txt"), 50).digest != first


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 100))
def test_a_limit_cuts_the_characters_and_keeps_the_order(documents, limit):
    whole = "".join(d.strip() for d in documents)
    assert "".join(limited(iter(documents), limit)) == whole[:limit]


BAD = {
    "blank.txt": (b"\n \n", ""),
    "latin.txt": ("caf\xe9".encode("latin-1"), "UTF-8"),
    "broken.xz.txt.xz": (b"not xz", ""),
    "broken.txt.gz": (b"not gzip", ""),
    "broken.parquet": (b"not parquet", ""),
    "other.jsonl": (b'{"a": 1}', "comment_text"),
    "broken.jsonl": (b'{"text": "a"}\n{', ""),
    "number.jsonl": (b'{"text": 5}', "int"),
    "number.parquet": (pd.DataFrame({"text": [5]}).to_parquet(), "int"),
    "picture.png": (b"", r"\.parquet"),
}


def test_bad_files_and_names_are_refused(tmp_path):
    for name, (content, also) in BAD.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CorpusError, match=f"(?=.*{re.escape(name)})(?=.*{also})"):
            list(open_corpus(str(tmp_path / name)).documents())
    (tmp_path / "empty").mkdir()
    for name, said in (("wikpedia", ", ".join(NAMES)), (str(tmp_path / "empty"), "empty")):
        with pytest.raises(CorpusError, match=said):
            open_corpus(name)


def test_a_long_text_without_blank_lines_is_read_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOOKED_AT", 20)
    lines = [f"line {i}" for i in range(10)]
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(lines) + "\n\nlast\n")
    assert list(open_corpus(str(file)).documents()) == [*lines, "last"]


def test_the_embedded_corpus_is_english_prose_and_the_same_each_time():
    first = open_corpus("embedded", 200_000)
    registry._embedded_corpus.cache_clear()
    second = open_corpus("embedded", 200_000)
    documents = list(first.documents())
    assert first.digest == second.digest and documents == list(second.documents())
    assert sum(map(len, documents)) == 200_000
    assert sum(d.count(" the ") for d in documents) > 1000
    assert [source["package"] for source in first.sources] == ["python"]


# the Hub, against a fake


class FakeStream(list):
    def shuffle(self, seed, buffer_size):
        return FakeStream(reversed(self))


@pytest.fixture
def fake_hub(monkeypatch, tmp_path):
    """Stands in for `datasets` and `huggingface_hub`, and notes what was asked."""
    asked, rows = {}, [{"text": d, "comment_text": d, "raw_content": d} for d in DOCUMENTS]

    def load_dataset(path, config=None, **options):
        asked.update(path=path, config=config, **options)
        return FakeStream(rows)

    def hf_hub_download(path, file, **options):
        asked.update(listing=file)
        (tmp_path / "listing.txt").write_text("2023-14/0000/en_head\n2023-14/0000/en_middle\n")
        return str(tmp_path / "listing.txt")

    api = types.SimpleNamespace(dataset_info=lambda path: types.SimpleNamespace(sha="c0ffee"))
    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", hf_hub_download)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    return asked, rows


def test_corpora_of_the_hub_are_streamed_from_their_present_homes(fake_hub):
    asked, _ = fake_hub
    corpus = open_corpus("wikipedia", 100)
    assert "".join(corpus.documents()) == "".join(reversed(DOCUMENTS))[:100]
    options = {"split": "train", "streaming": True, "revision": "c0ffee"}
    assert asked == {"path": "wikimedia/wikipedia", "config": "20231101.en"} | options
    assert corpus.sources[0]["revision"] == "c0ffee"
    assert len(list(open_corpus("jigsaw").documents())) == len(DOCUMENTS) and asked["data_files"] == "train.csv"
    assert next(open_corpus("redpajama").documents()) == DOCUMENTS[-1]
    assert asked["path"] == "json" and asked["listing"] == "listings/en-2023-14-head_middle.txt"
    base = "https://data.together.xyz/redpajama-data-v2/v1.0.0/documents/2023-14/0000"
    assert asked["data_files"] == [f"{base}/en_head.json.gz", f"{base}/en_middle.json.gz"]


def test_a_hub_that_refuses_is_one_sentence(fake_hub, monkeypatch):
    def fails(*a, **k):
        raise ConnectionError("no route to host")

    fake_hub[1][:] = [{"other": "text"}]
    with pytest.raises(CorpusError, match="'text'"):
        list(open_corpus("wikipedia").documents())
    monkeypatch.setattr("datasets.load_dataset", fails)
    with pytest.raises(CorpusError, match="no route to host"):
        list(open_corpus("jigsaw").documents())


# tokens


def test_a_tokenizer_is_the_same_each_time_and_can_be_read_back(vocabulary, tmp_path):
    assert open_vocabulary("trained", memory(), size=200).digest == vocabulary.digest
    vocabulary.tokenizer.save(str(tmp_path / "tokenizer.json"))
    again = open_vocabulary(str(tmp_path), memory())
    assert again.digest == vocabulary.digest and (again.start, again.end, again.mask) == (2, 3, 4)
    spaced = open_vocabulary("trained", memory(), Text.SPACED, 200)
    assert len(spaced.encode([Text.SPACED.spell("a cat sat")])[0]) == len("acatsat")
    assert spaced.size < vocabulary.size <= 200


def test_bad_tokenizers_are_refused(tmp_path):
    for content, said in (
        ("{}", "tokenizer"),
        (Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str(), "start"),
        (Tokenizer(models.WordLevel({"[CLS]": 0, "[SEP]": 2**20}, unk_token="[CLS]")).to_str(), "1,048,576"),
    ):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(CorpusError, match=said):
            open_vocabulary(str(tmp_path), memory())


def test_the_split_is_by_document_and_covers_the_text(vocabulary, tmp_path):
    documents = [*DOCUMENTS, *DOCUMENTS]  # every document twice: both copies must be on one side
    tokens = tokenize(memory(documents), vocabulary, held_out=0.2, folder=tmp_path)
    train, apart = (pieces(ids, vocabulary) for ids in (tokens.train, tokens.held_out))
    assert not set(train) & set(apart)
    assert len(train) == tokens.documents[0] and len(apart) == tokens.documents[1] and sum(tokens.documents) == 80
    assert 0.15 < len(tokens.held_out) / (len(tokens.train) + len(tokens.held_out)) < 0.3
    expected = [tuple(ids) for ids in vocabulary.encode(documents)]
    assert sorted(train + apart) == sorted(expected)
    with pytest.raises(CorpusError, match="memory"):
        tokenize(memory(["only one", "only one"]), vocabulary, folder=tmp_path)


def pieces(ids, vocabulary):
    """Documents of a token stream, by their marks."""
    ends = np.flatnonzero(ids == vocabulary.end)
    starts = np.flatnonzero(ids == vocabulary.start)
    assert len(starts) == len(ends) and (starts < ends).all()
    return [tuple(ids[a + 1 : b].tolist()) for a, b in zip(starts, ends, strict=True)]


def test_the_cache_is_keyed_by_content_and_used(vocabulary, tmp_path, monkeypatch):
    first = tokenize(memory(), vocabulary, folder=tmp_path)
    monkeypatch.setattr(tokens_module, "_write", None)  # a second tokenisation would call it
    again = tokenize(memory(), vocabulary, folder=tmp_path)
    assert isinstance(again.train, np.memmap) and again.train.filename == first.train.filename
    np.testing.assert_array_equal(first.train, again.train)
    for corpus, text in ((memory(), Text.SPACED), (memory(digest="other"), Text.PLAIN)):
        with pytest.raises(TypeError):
            tokenize(corpus, vocabulary, text, folder=tmp_path)


def test_a_cache_that_cannot_be_made_is_named_and_one_that_cannot_be_completed_leaves_nothing(vocabulary, tmp_path):
    def broken():
        yield from DOCUMENTS
        raise CorpusError("the file ends here")

    with pytest.raises(CorpusError, match="ends here"):
        tokenize(Corpus("broken", "x", broken), vocabulary, folder=tmp_path)
    assert not any(path.is_dir() for path in tmp_path.iterdir())
    (tmp_path / "a file").touch()
    with pytest.raises(CorpusError, match=r"a file.*ATTNGEO_CACHE"):
        tokenize(memory(), vocabulary, folder=tmp_path / "a file")
