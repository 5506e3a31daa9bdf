import errno
import os
import threading

import pytest

from attngeo.cli import main
from attngeo.files.atomic import atomic_folder, atomic_path, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failure_leaves_the_former_file_and_nothing_beside_it(tmp_path):
    write_text(tmp_path / "a.csv", "former")
    with pytest.raises(SystemExit), atomic_path(tmp_path / "a.csv") as temporary:
        temporary.write_text("half")
        raise SystemExit
    assert (tmp_path / "a.csv").read_text() == "former" and names(tmp_path) == ["a.csv"]


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "target.csv").write_text("former")
    for link, to in {"link.csv": "far/target.csv", "new.csv": "far/later/new.csv"}.items():  # as yet
        (tmp_path / link).symlink_to(to)
        write_text(tmp_path / link, "text")
        assert (tmp_path / link).is_symlink() and (tmp_path / to).read_text() == "text"
    assert names(tmp_path) == ["far", "link.csv", "new.csv"] and names(tmp_path / "far") == ["later", "target.csv"]


@pytest.mark.parametrize("mode", [0o600, 0o444, 0o664])
def test_a_file_keeps_its_mode_also_while_it_is_written(tmp_path, mode):
    file = tmp_path / "a.csv"
    file.write_text("former")
    file.chmod(mode)
    with atomic_path(file) as temporary:
        assert not temporary.stat().st_mode & 0o777 & ~(mode | 0o600)
        temporary.write_text("text")
    assert file.read_text() == "text" and file.stat().st_mode & 0o777 == mode


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, link, said = tmp_path / "pipe.csv", tmp_path / "link.csv", []
    os.mkfifo(pipe)
    link.symlink_to("pipe.csv")
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(link, "text")
    reader.join(60)
    assert said == ["text"] and pipe.is_fifo() and names(tmp_path) == ["link.csv", "pipe.csv"]
    end, begin = os.pipe()
    write_text(f"/dev/fd/{begin}", "text")  # as /dev/stdout
    assert os.read(end, 9) == b"text"


def test_a_folder_stays_and_a_full_disk_is_said_of_the_file_that_was_asked_for(tmp_path, monkeypatch, capsys):
    def full(path, *given, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    target = tmp_path / "a.csv"
    target.mkdir()
    monkeypatch.setattr("attngeo.cli.cli.main", lambda *given, **options: write_text(target, ""))
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main([])
        said = capsys.readouterr().err
        assert end.value.code == 2 and said.startswith(f"attngeo: {target} cannot be used (") and said.count("\n") == 1
        assert names(tmp_path) == ["a.csv"] and not names(target)
        monkeypatch.setattr("pathlib.Path.touch", full)


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    for text in ("former", "new"):
        with atomic_folder(tmp_path / "a") as folder:
            (folder / text).write_text(text)
    with pytest.raises(SystemExit), atomic_folder(tmp_path / "a") as folder:
        (folder / "half").write_text("half")
        raise SystemExit
    assert names(tmp_path) == ["a"] and names(tmp_path / "a") == ["new"]
