"""What every test finds: an environment of the suite's own, strict shapes, and one worker for what shares a fixture."""

import gc
import os

gc.disable()  # until what is imported is frozen: a training begins with a collection, which would search it all
# Before anything is imported, since huggingface_hub and torch read theirs when they are. What the caller has set is for
# the caller's own runs; the folder of real weights and the text of the paper stand aside, under names that workers
# inherit, for `weights` and `paper`.
for _name in ("WEIGHTS", "PAPER"):
    if f"ATTNGEO_{_name}" in os.environ:
        os.environ[f"SUITE_{_name}"] = os.environ[f"ATTNGEO_{_name}"]
OF_THE_CALLER = ("ATTNGEO_", "HF_", "HUGGINGFACE_", "TRANSFORMERS_", "DATASETS_", "ACCELERATE_", "GIT_")
TERMINAL = ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "COLUMNS", "LINES")
for _name in list(os.environ):
    if _name.startswith(OF_THE_CALLER) or _name.lower().endswith("_proxy") or _name in TERMINAL:
        del os.environ[_name]
os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "OMP_NUM_THREADS": "1"}

import shutil
import signal
from pathlib import Path
from unittest import mock

import jaxtyping
import pytest
from checked_types import checked
from hypothesis import Phase, settings
from xdist.scheduler import LoadScopeScheduling

jaxtyping.jaxtyped = checked  # by which the hook of `--jaxtyping-packages` decorates
# Other work on the machine makes single examples slow; the tests' own results never depend on time.
# A developer's runs explore new examples, CI repeats the same ones.
# What refuses a mutant (`make mutants`) need not be made small first.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    phases=set(Phase) - ({Phase.shrink, Phase.explain} if "MUTANT_UNDER_TEST" in os.environ else set()),
)
settings.load_profile("suite")

WALK = "used_by_everybody["
ORACLE = "own_probabilities["  # many, and none shares anything
JUDGING = ("tests/chapters/", "tests/claims/")  # each claim is judged once, for all that is asked of it


class Together(LoadScopeScheduling):
    """Gives one worker what shares a fixture or a sample: a file, or all that asks for judged claims; in order.

    Each part of the walk through the book goes to whichever is done first, last of all.
    """

    def __init__(self, config, log=None):
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid):
        alone = WALK in nodeid or ORACLE in nodeid
        return "claims" if nodeid.startswith(JUDGING) else nodeid if alone else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config, log):
    return Together(config, log)


def pytest_collection_modifyitems(items):
    """The book first: its build takes longest, and runs beside the rest."""
    gc.freeze()
    gc.enable()
    items.sort(key=lambda item: (WALK in item.name, item.get_closest_marker("book") is None))


def pytest_runtest_setup():
    """Every test draws samples of its own while mutmut (`make mutants`) learns which tests reach which function."""
    if os.environ.get("MUTANT_UNDER_TEST") == "stats":
        from notebook_code import result

        result.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A cache of tokens of the suite's own: the caller's home may not exist."""
    os.environ["ATTNGEO_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """What the tests of a file have imported is not searched by the collections of garbage of later ones."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def as_found():
    """Undo what a test changes in the environment, which kernels of chapters inherit, and in the handling of Ctrl-C.

    ``dask_jobqueue`` handles Ctrl-C anew when it is imported, in whichever test is the first to do so.
    """
    handler = signal.getsignal(signal.SIGINT)
    with mock.patch.dict(os.environ):
        yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A file of text to train on."""
    from small_runs import write_text  # once shapes are checked

    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture
def as_user():
    """Run a test as a user runs the package: without the suite's shape checks, so that our own refusals are reached."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def attngeo(capsys):
    """A command's exit code, what it printed, and what it said on stderr."""

    def call(*words) -> tuple[int, str, str]:
        from attngeo.cli import main  # once shapes are checked

        with pytest.raises(SystemExit) as ended, mock.patch.dict(os.environ):  # `run` sets what its kernels inherit
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


@pytest.fixture(scope="session")
def weights():
    """The caller's folder of pretrained weights (``ATTNGEO_WEIGHTS``)."""
    if not (folder := os.environ.get("SUITE_WEIGHTS")):
        pytest.skip("ATTNGEO_WEIGHTS is not set: no pretrained weights to read")
    return Path(folder)


@pytest.fixture(scope="session")
def paper():
    """The text of the paper and that of its web page, one after the other (``ATTNGEO_PAPER``, paths as in ``PATH``)."""
    if not (files := os.environ.get("SUITE_PAPER")):
        pytest.skip("ATTNGEO_PAPER is not set: no text of the paper to read")
    return "\n".join(Path(file).read_text("utf-8") for file in files.split(os.pathsep))


@pytest.fixture(scope="session")
def browser():
    """Chromium that can reach no address: whatever a page needs must lie beside it."""
    binary = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not (binary and driver):
        if os.environ.get("CI"):
            pytest.fail("Chromium and chromedriver are not installed; the book cannot be opened.")
        pytest.skip("Chromium and chromedriver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    of_a_test = "headless=new no-sandbox disable-gpu disable-dev-shm-usage window-size=1280,1600"
    offline = ("disable-background-networking", "allow-file-access-from-files", "host-resolver-rules=MAP * ~NOTFOUND")
    for flag in (*of_a_test.split(), *offline):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    chrome.set_page_load_timeout(180)  # on a busy machine
    chrome.set_script_timeout(180)
    yield chrome
    chrome.quit()
