import errno
import os
import re
import threading

import pytest

from attngeo.cli import main
from attngeo.errors import AttngeoError
from attngeo.files.atomic import atomic_path, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failure_leaves_the_former_file_and_nothing_beside_it(tmp_path):
    write_text(tmp_path / "a.csv", "former")
    with pytest.raises(KeyError), atomic_path(tmp_path / "a.csv") as temporary:
        temporary.write_text("half")
        raise KeyError
    assert (tmp_path / "a.csv").read_text() == "former" and names(tmp_path) == ["a.csv"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "target.csv").write_text("former")
    (tmp_path / "link.csv").symlink_to("far/target.csv")
    (tmp_path / "new.csv").symlink_to("far/later/new.csv")  # leads nowhere yet
    write_text(tmp_path / "link.csv", "text")
    write_text(tmp_path / "new.csv", "text")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "new.csv").is_symlink()
    assert (tmp_path / "far" / "target.csv").read_text() == "text"
    assert (tmp_path / "far" / "later" / "new.csv").read_text() == "text"
    assert names(tmp_path) == ["far", "link.csv", "new.csv"] and names(tmp_path / "far") == ["later", "target.csv"]


def test_links_in_a_circle_are_one_sentence_and_stay(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    with pytest.raises(AttngeoError, match=r"a\.csv cannot be written .*; name another file"):
        write_text(tmp_path / "a.csv", "text")
    assert names(tmp_path) == ["a.csv", "b.csv"] and (tmp_path / "a.csv").is_symlink()


@pytest.mark.parametrize("mode", [0o640, 0o600, 0o444, 0o664])
def test_a_file_keeps_its_mode_also_while_it_is_written(tmp_path, mode):
    file = tmp_path / "a.csv"
    file.write_text("former")
    file.chmod(mode)
    with atomic_path(file) as temporary:
        assert not temporary.stat().st_mode & 0o777 & ~(mode | 0o600)
        temporary.write_text("text")
    assert file.read_text() == "text" and file.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_not_replaced(tmp_path, linked):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    (tmp_path / "link.csv").symlink_to("pipe.csv")
    said = []
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(tmp_path / "link.csv" if linked else pipe, "text")
    reader.join(60)
    assert said == ["text"] and pipe.is_fifo() and names(tmp_path) == ["link.csv", "pipe.csv"]


def test_a_folder_stays(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(OSError, match=re.escape(f"'{tmp_path / 'a.csv'}'")) as refused:
        write_text(tmp_path / "a.csv", "text")
    assert refused.value.errno == errno.EISDIR and names(tmp_path) == ["a.csv"] and not names(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "code, way_out", [(errno.EACCES, "choose another"), (errno.ENOSPC, "free some space or choose")]
)
def test_a_folder_that_takes_no_files_is_said_with_a_way_out(tmp_path, monkeypatch, capsys, code, way_out):
    """Of the file that was asked for, not of the temporary one beside it."""

    def refusing(path, *given, **options):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr("pathlib.Path.touch", refusing)
    monkeypatch.setattr("attngeo.cli.cli.main", lambda *given, **options: write_text(tmp_path / "x.csv", ""))
    with pytest.raises(SystemExit) as end:
        main([])
    said = capsys.readouterr().err
    assert end.value.code == 2 and said.count("\n") == 1
    assert said.startswith(f"attngeo: {tmp_path / 'x.csv'} cannot be used (") and f"; {way_out}" in said
