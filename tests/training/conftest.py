import pytest
from small_runs import write_text


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A file of text to train on, and a cache of tokens of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNGEO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield write_text(tmp_path_factory.mktemp("text") / "text.txt")
