import os

import jaxtyping
import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

# Other work on the machine makes single examples slow; the tests' own results never depend on time.
# A developer's runs explore new examples, CI repeats the same ones.
settings.register_profile("suite", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("suite")


@pytest.fixture
def as_user():
    """Run a test as a user runs the package: without the suite's shape checks, so that our own refusals are reached."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
