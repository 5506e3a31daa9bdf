import csv
import gzip
import json
import lzma
import re
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attngeo.errors import ParameterError
from attngeo.training.choices import Text
from attngeo.training.corpora import documents
from attngeo.training.corpora import tokens as tokens_module
from attngeo.training.corpora.blocks import Blocks
from attngeo.training.corpora.documents import Corpus, CorpusError
from attngeo.training.corpora.registry import NAMES, open_corpus
from attngeo.training.corpora.tokens import tokenize
from attngeo.training.corpora.vocabulary import open_vocabulary

DOCUMENTS = [f"document {i}: a cat sat on mat number {i * i}" for i in range(40)]


def memory(documents=DOCUMENTS, digest="digest"):
    return Corpus("memory", digest, lambda: iter(documents))


@pytest.fixture(scope="module")
def vocabulary():
    return open_vocabulary("trained", memory(), size=200)


def write(path, documents):
    """Documents in the format that the suffixes of the path name."""
    name = path.name
    rows = pd.DataFrame({"id": range(len(documents)), "text": documents})
    if ".parquet" in name:
        rows.to_parquet(path)
        return path
    text = {
        ".txt": lambda: "\n\n".join(documents),
        ".jsonl": lambda: "\n".join(json.dumps({"text": d}) for d in documents),
        ".csv": lambda: rows.to_csv(index=False),
    }[path.suffixes[0]]().encode()
    if name.endswith(".xz"):
        text = lzma.compress(text)
    elif name.endswith(".gz"):
        text = gzip.compress(text)
    elif name.endswith(".zst"):
        text = pa.Codec("zstd").compress(text, asbytes=True)
    path.write_bytes(text)
    return path


@pytest.mark.parametrize(
    "suffix", [".txt", ".txt.xz", ".txt.gz", ".txt.zst", ".jsonl", ".jsonl.gz", ".csv", ".parquet"]
)
def test_every_format_gives_the_same_documents(tmp_path, suffix):
    corpus = open_corpus(str(write(tmp_path / f"text{suffix}", DOCUMENTS)))
    assert list(corpus.documents()) == DOCUMENTS == list(corpus.documents())
    assert corpus.sources[0]["file"].endswith(f"text{suffix}") and len(corpus.sources[0]["sha256"]) == 64


def test_a_folder_is_read_in_the_order_of_its_names_and_no_path_enters_the_record(tmp_path):
    write(tmp_path / "b.txt", DOCUMENTS[20:])
    write(tmp_path / "a.jsonl", DOCUMENTS[:20])
    (tmp_path / "README.md").write_text("not text to train on")
    corpus = open_corpus(str(tmp_path))
    assert list(corpus.documents()) == DOCUMENTS
    assert str(tmp_path.parent) not in json.dumps([corpus.name, corpus.sources])


def test_a_path_may_hold_environment_variables(tmp_path, monkeypatch):
    write(tmp_path / "a.txt", DOCUMENTS)
    monkeypatch.setenv("SOME_TEXT", str(tmp_path))
    assert list(open_corpus("$SOME_TEXT/a.txt").documents()) == DOCUMENTS


def test_lines_are_documents_where_no_line_is_blank(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "b.txt").write_text("title\nbody\n\ntitle\nbody\n")
    assert list(open_corpus(str(tmp_path / "a.txt")).documents()) == ["one", "two", "three"]
    assert list(open_corpus(str(tmp_path / "b.txt")).documents()) == ["title\nbody", "title\nbody"]


def test_the_digest_follows_the_content_and_not_the_name(tmp_path):
    first, second, other = (
        write(tmp_path / n, d) for n, d in [("a.txt", DOCUMENTS), ("b.txt", DOCUMENTS), ("c.txt", ["x"])]
    )
    assert open_corpus(str(first)).digest == open_corpus(str(second)).digest != open_corpus(str(other)).digest
    assert open_corpus(str(first), 50).digest != open_corpus(str(first)).digest


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 100))
def test_a_limit_cuts_the_characters_and_keeps_the_order(documents, limit):
    from attngeo.training.corpora.documents import limited

    whole = "".join(d.strip() for d in documents)
    assert "".join(limited(iter(documents), limit)) == whole[:limit]


@pytest.mark.parametrize(
    ("name", "content", "also"),
    [
        ("empty.txt", b"", ""),
        ("blank.txt", b"\n \n", ""),
        ("latin.txt", "caf\xe9".encode("latin-1"), "UTF-8"),
        ("wide.txt", "wide\n".encode("utf-16-le"), "UTF-8"),
        ("broken.xz.txt.xz", b"not xz", ""),
        ("broken.txt.gz", b"not gzip", ""),
        ("broken.txt.zst", b"not zstandard", ""),
        ("broken.parquet", b"not parquet", ""),
        ("other.jsonl", b'{"a": 1}', "comment_text"),
        ("broken.jsonl", b'{"text": "a"}\n{', "line 2"),
        ("other.csv", b"a,b\n1,2\n", "comment_text"),
        ("picture.png", b"", r"\.parquet"),
    ],
)
def test_a_bad_file_is_refused_by_its_name(tmp_path, name, content, also):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=f"(?=.*{re.escape(name)})(?=.*{also})"):
        list(open_corpus(str(tmp_path / name)).documents())


def test_unknown_names_empty_folders_and_odd_limits_are_refused(tmp_path):
    with pytest.raises(CorpusError, match=", ".join(NAMES)):
        open_corpus("wikpedia")
    with pytest.raises(CorpusError, match=re.escape(tmp_path.name)):
        open_corpus(str(tmp_path))
    with pytest.raises(ParameterError, match="max_characters"):
        open_corpus("embedded", 0)


def test_csv_cells_may_be_long_and_hold_line_breaks(tmp_path):
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([["comment_text"], ["x" * 200_000], ["two\nlines"]])
    assert [len(d) for d in open_corpus(str(tmp_path / "a.csv")).documents()] == [200_000, 9]


@pytest.mark.parametrize(
    ("name", "compress", "bomb"),
    [
        *(("a.txt.gz", gzip.compress, bomb) for bomb in (b"a", b"\n", b" ")),
        *(("a.jsonl.xz", lzma.compress, bomb) for bomb in (b"a", b"\n", b'""\n')),
    ],
)
def test_a_bomb_is_read_as_far_as_asked_and_refused_beyond(tmp_path, monkeypatch, name, compress, bomb):
    """Of what a small file unpacks to, here 64 times the bounds, no more is taken than they allow."""
    taken, real = [], documents._lines
    monkeypatch.setattr(documents, "LONGEST", 2**14)
    monkeypatch.setattr(documents, "BLANKEST", 2**12)
    monkeypatch.setattr(documents, "_lines", lambda *given: (taken.append(len(line)) or line for line in real(*given)))
    file = tmp_path / name
    file.write_bytes(compress(b'"the cat"\n\n' * 100) + compress(bomb * 2**14) * 64)
    assert sum(map(len, open_corpus(str(file), 500).documents())) == 500 and sum(taken) < 2000
    with pytest.raises(CorpusError, match=re.escape(str(file))):
        list(open_corpus(str(file)).documents())
    assert sum(taken) <= 2 * 2**14


def test_the_embedded_corpus_is_english_prose_and_the_same_each_time():
    first, second = open_corpus("embedded", 200_000), open_corpus("embedded", 200_000)
    documents = list(first.documents())
    assert first.digest == second.digest and documents == list(second.documents())
    assert sum(map(len, documents)) == 200_000
    assert sum(d.count(" the ") for d in documents) > 1000
    assert {s["package"] for s in first.sources} >= {"python", "numpy", "torch"}


# the Hub, against a fake


class FakeStream(list):
    def shuffle(self, seed, buffer_size):
        return FakeStream(reversed(self))


@pytest.fixture
def fake_hub(monkeypatch, tmp_path):
    """Stands in for `datasets` and `huggingface_hub`, and notes what was asked."""
    asked = {}
    rows = {"text": DOCUMENTS, "comment_text": DOCUMENTS, "raw_content": DOCUMENTS}

    def load_dataset(path, config=None, **options):
        asked.update(path=path, config=config, **options)
        return FakeStream({key: value[i] for key, value in rows.items()} for i in range(len(DOCUMENTS)))

    def hf_hub_download(path, file, **options):
        asked.update(listing=file, listing_of=path)
        (tmp_path / "listing.txt").write_text("2023-14/0000/en_head\n2023-14/0000/en_middle\n")
        return str(tmp_path / "listing.txt")

    api = types.SimpleNamespace(dataset_info=lambda path: types.SimpleNamespace(sha="c0ffee"))
    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", hf_hub_download)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    return asked, rows


def test_wikipedia_is_streamed_from_its_present_home(fake_hub):
    asked, _ = fake_hub
    corpus = open_corpus("wikipedia", 100)
    assert "".join(corpus.documents()) == "".join(reversed(DOCUMENTS))[:100]
    assert asked == {
        "path": "wikimedia/wikipedia",
        "config": "20231101.en",
        "split": "train",
        "streaming": True,
        "revision": "c0ffee",
    }
    assert corpus.sources[0]["revision"] == "c0ffee"


def test_jigsaw_reads_the_training_file_only(fake_hub):
    asked, _ = fake_hub
    assert len(list(open_corpus("jigsaw").documents())) == len(DOCUMENTS)
    assert asked["data_files"] == "train.csv"


def test_redpajama_reads_the_shards_of_the_papers_snapshot(fake_hub):
    asked, _ = fake_hub
    assert next(open_corpus("redpajama").documents()) == DOCUMENTS[-1]
    assert asked["path"] == "json" and asked["listing"] == "listings/en-2023-14-head_middle.txt"
    base = "https://data.together.xyz/redpajama-data-v2/v1.0.0/documents/2023-14/0000"
    assert asked["data_files"] == [f"{base}/en_head.json.gz", f"{base}/en_middle.json.gz"]


def test_lines_of_wikitext_become_articles(fake_hub):
    _, rows = fake_hub
    rows["text"] = ["", " = A = \n", "text of A\n", " = = Section = = \n", "more of A\n", " = B = \n", "text of B\n"]
    rows["text"] += [""] * (len(DOCUMENTS) - len(rows["text"]))
    articles = list(open_corpus("wikitext").documents())
    assert [a.splitlines()[0].strip() for a in articles] == ["= A =", "= B ="]
    assert "more of A" in articles[0]


def test_a_hub_that_refuses_is_one_sentence(fake_hub, monkeypatch):
    _, rows = fake_hub
    rows.pop("text")
    with pytest.raises(CorpusError, match="'text'"):
        list(open_corpus("wikipedia").documents())

    def fails(*a, **k):
        raise ConnectionError("no route to host")

    monkeypatch.setattr("datasets.load_dataset", fails)
    with pytest.raises(CorpusError, match="no route to host"):
        list(open_corpus("jigsaw").documents())


# tokens


def test_spaced_text_has_one_token_per_character(vocabulary):
    spaced = open_vocabulary("trained", memory(), Text.SPACED, 200)
    ids = spaced.encode([Text.SPACED.spell("a cat sat")])[0]
    assert len(ids) == len("acatsat")
    assert spaced.size < vocabulary.size <= 200


def test_a_tokenizer_is_the_same_each_time_and_can_be_read_back(vocabulary, tmp_path):
    assert open_vocabulary("trained", memory(), size=200).digest == vocabulary.digest
    vocabulary.tokenizer.save(str(tmp_path / "tokenizer.json"))
    again = open_vocabulary(str(tmp_path), memory())
    assert again.digest == vocabulary.digest and (again.start, again.end, again.mask) == (2, 3, 4)


def test_bad_tokenizers_are_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CorpusError, match="tokenizer"):
        open_vocabulary(str(tmp_path), memory())
    with pytest.raises(ParameterError, match="5"):
        open_vocabulary("trained", memory(), size=5)
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CorpusError, match="start"):
        open_vocabulary(str(tmp_path), memory())


def test_the_split_is_by_document_and_covers_the_text(vocabulary, tmp_path):
    documents = [*DOCUMENTS, *DOCUMENTS]  # every document twice: both copies must be on one side
    found = tokenize(memory(documents), vocabulary, held_out=0.2, folder=tmp_path)
    train, apart = (pieces(ids, vocabulary) for ids in (found.train, found.held_out))
    assert not set(train) & set(apart)
    assert len(train) == found.documents[0] and len(apart) == found.documents[1] and sum(found.documents) == 80
    assert 0.15 < len(found.held_out) / (len(found.train) + len(found.held_out)) < 0.3
    expected = [tuple(ids) for ids in vocabulary.encode(documents)]
    assert sorted(train + apart) == sorted(expected)


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
    with pytest.raises(TypeError):
        tokenize(memory(), vocabulary, Text.SPACED, folder=tmp_path)
    with pytest.raises(TypeError):
        tokenize(memory(digest="other"), vocabulary, folder=tmp_path)


def test_a_cache_that_cannot_be_made_is_named_with_the_way_out(vocabulary, tmp_path, monkeypatch):
    (tmp_path / "a file").touch()
    monkeypatch.setenv("ATTNGEO_CACHE", str(tmp_path / "a file"))
    with pytest.raises(CorpusError, match=r"a file.*ATTNGEO_CACHE"):
        tokenize(memory(), vocabulary)


def test_a_cache_that_cannot_be_completed_leaves_nothing(vocabulary, tmp_path):
    def broken():
        yield from DOCUMENTS
        raise CorpusError("the file ends here")

    with pytest.raises(CorpusError):
        tokenize(Corpus("broken", "x", broken), vocabulary, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_document_cannot_be_split(vocabulary, tmp_path):
    with pytest.raises(CorpusError, match="memory"):
        tokenize(memory(["only one", "only one"]), vocabulary, folder=tmp_path)


# blocks


@given(st.integers(2, 200), st.integers(2, 20), st.integers(0, 5))
def test_each_pass_over_the_blocks_is_a_permutation_without_padding(count, length, seed):
    if count < length:
        return
    blocks = Blocks(np.arange(count, dtype=np.uint16), length, seed)
    n = len(blocks)
    whole = np.arange(n * length).reshape(n, length)
    for one in range(2):
        seen = blocks.at(np.arange(one * n, (one + 1) * n))
        np.testing.assert_array_equal(seen[np.argsort(seen[:, 0])], whole)


def test_the_order_follows_from_the_seed_and_passes_differ():
    ids = np.arange(1000)
    a, b, other = Blocks(ids, 10, 1), Blocks(ids, 10, 1), Blocks(ids, 10, 2)
    places = np.arange(200)
    np.testing.assert_array_equal(a.at(places), b.at(places))
    assert (a.at(places) != other.at(places)).any()
    assert (a.at(places[:100]) != a.at(places[100:])).any()
    np.testing.assert_array_equal(a.at(places[37:120]), a.at(places)[37:120])
    np.testing.assert_array_equal(Blocks(ids, 10, None).at(places)[:100].ravel(), ids)


def test_a_text_shorter_than_a_block_is_refused():
    with pytest.raises(CorpusError, match=r"100 .*128"):
        Blocks(np.arange(100), 128)
    with pytest.raises(ParameterError, match="1"):
        Blocks(np.arange(100), 1)
