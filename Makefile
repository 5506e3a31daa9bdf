# make book   create .venv, execute the chapters (PROFILE=smoke|cpu|gpu) and build book/_build/html
# make pdf    build the book, then all of it as book/_build/pdf/attngeo.pdf, printed by Chromium
# make release  build all of this and the package: dist/attngeo-VERSION-release.zip, with checksums
# make test   create .venv, run the whole suite, a worker a core; ARGS="-k scores" narrows it, ARGS="-n 0" keeps one process
# make lint   style, types, and the contract of the rooms: who may import whom
# make mutants  formulas with one place changed: which no test refuses; ONLY="attngeo.forms.scores.*" narrows it
# make clean  remove what the build made; .venv stays

PYTHON ?= python3
VENV ?= .venv
PROFILE ?= cpu
BIN := $(VENV)/bin

# Real weights and text are found by environment variable; a checkout may have them beside it.
ATTNGEO_WEIGHTS ?= $(wildcard $(abspath ../shared/weights))
ATTNGEO_CORPORA ?= $(wildcard $(abspath ../shared/corpora))
ifneq ($(ATTNGEO_WEIGHTS),)
export ATTNGEO_WEIGHTS
endif
ifneq ($(ATTNGEO_CORPORA),)
export ATTNGEO_CORPORA
endif

# Each worker and each page's kernel imports the same packages: compiled once, not every time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: book pdf release test lint mutants benchmarks clean

book: $(VENV)/.book
	ATTNGEO_PROFILE=$(PROFILE) $(BIN)/jupyter-book build book
	@echo "Open book/_build/html/index.html"

pdf: $(VENV)/.book
	@command -v chromedriver >/dev/null || \
		{ echo "The PDF is printed by Chromium, which is not installed: install chromium and chromedriver."; exit 2; }
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[pdf]'
	$(MAKE) book  # first: what it has read, a second builder does not write for it
	ATTNGEO_PROFILE=$(PROFILE) $(BIN)/jupyter-book build book --builder singlehtml
	$(BIN)/python -m attngeo.book.pdf

release: pdf
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[release]'
	$(BIN)/python -m build
	$(BIN)/python -m attngeo.book.release

test: $(VENV)/.test lint
	$(BIN)/python -m pytest -n logical $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

mutants: $(VENV)/.test
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[mutants]'
	CI=1 OMP_NUM_THREADS=1 $(BIN)/mutmut run --max-children 1 $(if $(ONLY),'$(ONLY)')
	@$(BIN)/mutmut results | sed '/: not checked$$/d'
	@echo "Those that may survive, and why: tests/mutants.md. One of them: $(BIN)/mutmut show NAME"

benchmarks: $(VENV)/.test
	$(BIN)/python -m pytest tests/benchmarks --override-ini=addopts= -p no:cacheprovider $(ARGS)

# The book needs less than the tests do; an environment made for the tests builds the book too.
$(VENV)/.book $(VENV)/.test: $(VENV)/.%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' || \
		{ echo "attngeo needs Python 3.10 to 3.14; name one, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[$*]'
	@touch $@ $(VENV)/.book

clean:
	rm -rf book/_build build mutants *.egg-info
