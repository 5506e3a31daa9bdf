import pytest
from small_runs import small_config

from attngeo.experiments.training.train import train


@pytest.fixture(scope="session")
def unbroken(text, tmp_path_factory):
    """The folder of one finished run."""
    folder = tmp_path_factory.mktemp("unbroken") / "run"
    train(small_config(text), folder)
    return folder
