"""The readers of text, tokenizers and settings, given files that are damaged or made by somebody else."""

import json

import pandas as pd
import pytest
import yaml
from damaged_files import BYTES, KEPT, changed, damage, few, value_or_sentence
from hypothesis import given
from hypothesis import strategies as st
from small_runs import write_text

from attngeo.experiments.training.config import configure, read_values
from attngeo.experiments.training.corpora.registry import open_corpus
from attngeo.experiments.training.corpora.vocabulary import open_vocabulary

DOCUMENTS = [f"the cat {i} sat on the mat" for i in range(9)]
TEXTS = {
    "text.txt": "\n\n".join(DOCUMENTS).encode(),
    "text.jsonl": "\n".join(json.dumps({"text": document}) for document in DOCUMENTS).encode(),
    "text.parquet": pd.DataFrame({"text": DOCUMENTS}).to_parquet(),
}
SETTINGS = {"steps": 3, "lr": 1e-3, "init": "random", "corpus": "embedded"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("name", TEXTS)
@few
@given(replaced=BYTES, kept=KEPT)
def test_text(folder, name, replaced, kept):
    file = folder / name
    file.write_bytes(TEXTS[name])
    damage(file, replaced, kept)
    value_or_sentence(lambda: list(open_corpus(str(file), 10**6).documents()))


@few
@given(row=changed({"text": "the cat", "other": [1]}))
def test_rows_of_text(folder, row):
    file = folder / "rows.jsonl"
    file.write_text(json.dumps(row))
    value_or_sentence(lambda: list(open_corpus(str(file)).documents()))


@pytest.fixture(scope="module")
def text_and_tokenizer(folder):
    text = open_corpus(str(write_text(folder / "words.txt")))
    open_vocabulary("trained", text, size=40).tokenizer.save(str(folder / "tokenizer.json"))
    return text, json.loads((folder / "tokenizer.json").read_text())


@few
@given(data=st.data())
def test_tokenizers(folder, text_and_tokenizer, data):
    text, content = text_and_tokenizer
    file = folder / "changed.json"
    file.write_text(json.dumps(data.draw(changed(content))))
    vocabulary = value_or_sentence(lambda: open_vocabulary(str(file), text))
    ids = value_or_sentence(lambda: vocabulary.encode(["the cat"])) if vocabulary else None
    assert not ids or max(max(ids, default=[]), default=0) < vocabulary.size


@few
@given(written=changed(SETTINGS).map(yaml.safe_dump) | st.text(alphabet="&*a:-[]{}!<>| \n\"'09.~#%@,?", max_size=40))
def test_settings(folder, written):
    file = folder / "settings.yml"
    file.write_text(written)
    value_or_sentence(lambda: configure(read_values(file)))
