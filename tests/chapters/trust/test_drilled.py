import pytest

from attngeo.chapters.trust.drilled import READERS, Drill, by_command, by_reader, recorded
from attngeo.records.checkout import CheckoutError


def test_kills_are_counted_by_signal_and_end():
    twice = Drill("train", [("SIGKILL", 0.1, -9), ("SIGINT", 0.2, 130)], "begun anew", True, [], False)
    other = Drill("run", [("SIGTERM", 0.5, -15)], "continued", False, [], False)
    wrong = Drill("run", [("SIGKILL", 0.5, -9)], "continued", True, ["half a file"], True)
    table = by_command([twice, other, wrong, Drill("run", [], "continued", True, [], False)])
    assert list(table.loc["`train`"]) == [1, 0, 1, 1, 1]
    assert list(table.loc["all"]) == [2, 1, 1, 3, 1]


def test_the_recorded_drills_are_whole_and_every_reader_has_its_row():
    kills, fuzz = recorded()
    assert sum(len(one.kills) for one in kills.drills) >= 200
    assert all(one.equal and not one.wrong for one in kills.drills) and fuzz.failed == 0
    assert sorted(fuzz.answers) == sorted(name for names in READERS.values() for name in names)
    assert by_reader(fuzz.answers).loc["all"].sum() == sum(sum(found.values()) for found in fuzz.answers.values())


def test_a_damaged_record_is_one_sentence(tmp_path, monkeypatch):
    for mark in ("notebooks", "data/drills"):
        (tmp_path / mark).mkdir(parents=True)
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "data/drills/kills.json").write_text('{"drills": [{"kind": 1}]}')
    monkeypatch.setenv("ATTNGEO_BOOK", str(tmp_path))
    with pytest.raises(CheckoutError, match=r"kills\.json"):
        recorded()
