# Everything from a fresh clone, with Python 3.11 or later and a C++20 compiler: the rest is
# installed into .venv. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
CORE_BUILD := build/core

export CMAKE_BUILD_PARALLEL_LEVEL ?= $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1

CPP_SOURCES := $(shell find cpp bindings -name '*.[ch]pp' -o -name '*.inl')
BUILD_FILES := pyproject.toml CMakeLists.txt \
    $(shell find cpp/include cpp/src bindings -name '*.[ch]pp' -o -name '*.inl')

# --- environment ---------------------------------------------------------------------------

# $(call requirements,TABLE...): what these tables of pyproject.toml list, one a line.
requirements = $(BIN)/python -c 'import functools, sys, tomllib; \
    project = tomllib.load(open("pyproject.toml", "rb")); \
    [print(*functools.reduce(dict.__getitem__, name.split("."), project), sep="\n") \
     for name in sys.argv[1:]]' $(1)

$(STAMPS)/venv: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or later is needed; name it with make PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call requirements,build-system.requires project.optional-dependencies.dev) \
	    | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	@mkdir -p $(@D) && touch $@

# An editable install: Python files are used where they lie, only C++ is built. The build is
# incremental, for it has a folder and (without isolation) an environment that stay.
$(STAMPS)/package: $(STAMPS)/venv $(BUILD_FILES)
	@echo "building polymargin (a few minutes the first time)"
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[plot,test]'
	@mkdir -p $(@D) && touch $@

.PHONY: build
build: $(STAMPS)/package  ## set up .venv and build the package into it

# --- use -----------------------------------------------------------------------------------

.PHONY: demo
demo: build  ## train all machines on real data, plot their convergence
	$(BIN)/python -m polymargin.demo

.PHONY: bench
bench: build  ## a quick round of the benchmarks
	@$(call requirements,project.optional-dependencies.bench) \
	    | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	$(BIN)/python -m benchmarks.linear --quick

.PHONY: docs
docs: build  ## build the documentation into docs/_build/html
	@$(call requirements,project.optional-dependencies.docs) \
	    | $(BIN)/python -m pip install --quiet --requirement /dev/stdin
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

# --- tests ---------------------------------------------------------------------------------

# pytest comes last, so that its summary is the last line.
.PHONY: test
test: lint core-tests python-tests  ## lint, tests of the core (plain, sanitized), tests of Python

.PHONY: lint
lint: $(STAMPS)/package  ## check format, style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES)

.PHONY: core-tests
core-tests: core-plain core-address core-thread  ## tests of the C++ core, also under sanitizers

.PHONY: core-plain core-address core-thread
core-plain: SANITIZE :=
core-address: SANITIZE := address,undefined
core-thread: SANITIZE := thread
core-plain core-address core-thread: core-%: $(STAMPS)/venv
	@echo "core tests: $*"
	@$(BIN)/cmake -S . -B $(CORE_BUILD)-$* -G Ninja \
	    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_BUILD_TYPE=None \
	    -DPOLYMARGIN_PYTHON=OFF -DPOLYMARGIN_TESTS=ON \
	    -DPOLYMARGIN_SANITIZE=$(SANITIZE) --log-level=WARNING
	@$(BIN)/cmake --build $(CORE_BUILD)-$* -- --quiet
	@$(BIN)/ctest --test-dir $(CORE_BUILD)-$* --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: python-tests
python-tests: build  ## tests of the Python package, doctests included
	$(BIN)/python -m pytest

# --- housekeeping --------------------------------------------------------------------------

.PHONY: format
format: $(STAMPS)/venv  ## format all sources
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_SOURCES)

.PHONY: clean
clean:  ## remove .venv and everything built
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
