"""The command line in this process."""

import pytest

from attngeo.cli import main


@pytest.fixture
def attngeo(capsys):
    """A command's exit code, what it printed, and what it said on stderr."""

    def call(*words) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        return ended.value.code or 0, *capsys.readouterr()

    return call


@pytest.fixture
def refused(attngeo, as_user):
    """The one sentence in which a command ends that cannot be done."""

    def call(*words) -> str:
        code, out, err = attngeo(*words)
        assert (code, out) == (2, "") and err.startswith("attngeo: ") and err.count("\n") == 1, (words, out, err)
        return err

    return call
