# make book   create .venv, execute the chapters (PROFILE=smoke|cpu|gpu) and build book/_build/html
# make test   create .venv, run the whole suite; ARGS="-k scores" narrows it
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

.PHONY: book test lint benchmarks clean

book: $(VENV)/.installed
	ATTNGEO_PROFILE=$(PROFILE) $(BIN)/jupyter-book build book
	@echo "Open book/_build/html/index.html"

test: $(VENV)/.installed lint
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

benchmarks: $(VENV)/.installed
	$(BIN)/python -m pytest tests/benchmarks --override-ini=addopts= -p no:cacheprovider $(ARGS)

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "attngeo needs Python 3.10 to 3.13; name one, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	@touch $@

clean:
	rm -rf book/_build build *.egg-info
