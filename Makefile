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
# Modules are compiled when they are first imported.
export PIP_NO_COMPILE ?= 1

CPP_SOURCES := $(shell find cpp bindings -name '*.[ch]pp' -o -name '*.inl')
BUILD_FILES := pyproject.toml CMakeLists.txt \
    $(shell find cpp/include cpp/src bindings -name '*.[ch]pp' -o -name '*.inl')

# --- environment ---------------------------------------------------------------------------

# $(call requirements,TABLE...): what these tables of pyproject.toml list, one a line.
requirements = $(BIN)/python -c 'import functools, sys, tomllib; \
    project = tomllib.load(open("pyproject.toml", "rb")); \
    [print(*functools.reduce(dict.__getitem__, name.split("."), project), sep="\n") \
     for name in sys.argv[1:]]' $(1)
pip_install = $(BIN)/python -m pip install --quiet

$(STAMPS)/venv: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or later is needed; name it with make PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call requirements,build-system.requires dependency-groups.build) \
	    | $(pip_install) --requirement /dev/stdin
	@mkdir -p $(@D) && touch $@

# $(call install_package,LEVELS): an editable install, in which Python files are used where they
# lie and only C++ is built. The build is incremental, for it has a folder and (without isolation)
# an environment that stay. No other package comes with it: those are built in isolation, as
# everywhere.
install_package = $(pip_install) --no-build-isolation --no-deps --editable . \
    --config-settings=cmake.define.POLYMARGIN_LEVELS=$(1)

# What this processor needs, to have it soon; once all levels are there, they are kept up to date.
ifeq ($(wildcard $(STAMPS)/package),)
$(STAMPS)/native: $(STAMPS)/venv $(BUILD_FILES)
	@echo "building polymargin (a minute on two cores)"
	@$(call install_package,native)
	@touch $@
else
$(STAMPS)/native: $(STAMPS)/package
	@touch $@
endif

$(STAMPS)/package: $(STAMPS)/venv $(BUILD_FILES)
	@echo "building polymargin for all SIMD levels (a few minutes the first time)"
	@$(call install_package,all)
	@touch $@

# Extras of the package that is installed already, and with them what it depends on itself.
$(STAMPS)/extra-%: $(STAMPS)/native pyproject.toml
	@echo "installing packages: $*"
	@$(pip_install) 'polymargin[$*]'
	@touch $@

$(STAMPS)/tools: $(STAMPS)/venv
	@$(call requirements,dependency-groups.dev) | $(pip_install) --requirement /dev/stdin
	@touch $@

.PHONY: build
build: $(STAMPS)/package $(STAMPS)/extra-all  ## set up .venv and build the package into it

# --- use -----------------------------------------------------------------------------------

.PHONY: demo
demo: $(STAMPS)/native $(STAMPS)/extra-plot  ## our machines beside scikit-learn's on real data, a table and demo.png
	$(BIN)/python -m polymargin.demo

.PHONY: bench
bench: $(STAMPS)/package $(STAMPS)/extra-bench  ## a quick round of the benchmarks
	$(BIN)/python -m benchmarks.linear --quick

.PHONY: docs
docs: $(STAMPS)/package $(STAMPS)/extra-docs  ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

# --- tests ---------------------------------------------------------------------------------

# pytest comes last, so that its summary is the last line.
.PHONY: test
test: lint core-tests fuzz-briefly python-tests  ## lint, core tests (plain, sanitized), brief fuzzing, tests of Python

.PHONY: lint
lint: $(STAMPS)/native $(STAMPS)/tools $(STAMPS)/extra-test  ## check format, style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES)

.PHONY: core-tests
core-tests: core-plain core-address core-thread  ## tests of the C++ core, also under sanitizers

.PHONY: core-plain core-address core-thread
core-plain: SANITIZE :=
core-plain: LIBRARY := ON
core-address core-thread: LIBRARY := OFF
core-address: SANITIZE := address,undefined
core-thread: SANITIZE := thread
core-plain core-address core-thread: core-%: $(STAMPS)/venv
	@echo "core tests: $*"
	@$(BIN)/cmake -S . -B $(CORE_BUILD)-$* -G Ninja \
	    -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DCMAKE_BUILD_TYPE=None \
	    -DPOLYMARGIN_PYTHON=OFF -DPOLYMARGIN_TESTS=ON -DPOLYMARGIN_LIBRARY=$(LIBRARY) \
	    -DPOLYMARGIN_SANITIZE=$(SANITIZE) --log-level=WARNING
	@$(BIN)/cmake --build $(CORE_BUILD)-$* -- --quiet
	@$(BIN)/ctest --test-dir $(CORE_BUILD)-$* --output-on-failure --no-tests=error -j $(JOBS)

# Reports are tested in a browser, which comes from the system's packages where this user may
# install them; without one those tests are skipped and say so.
.PHONY: browser
browser:
	@command -v chromium chromium-browser >/dev/null || { \
	    test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	    && echo "installing chromium for the tests of reports" \
	    && { apt-get update && DEBIAN_FRONTEND=noninteractive \
	         apt-get install --yes --no-install-recommends chromium; } >build/browser.log 2>&1 \
	    || echo "no browser: the tests of reports will be skipped" >&2; }

# Machines of tests are network namespaces, for root alone; without them those tests are skipped.
.PHONY: network
network:
	@PATH=$$PATH:/usr/sbin:/sbin; { command -v ip && command -v tc; } >/dev/null || { \
	    test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	    && echo "installing iproute2 for the tests of several machines" \
	    && { apt-get update && DEBIAN_FRONTEND=noninteractive \
	         apt-get install --yes --no-install-recommends iproute2; } >build/network.log 2>&1 \
	    || echo "no iproute2: the tests of several machines will be skipped" >&2; }

# Readers and model files against mutated input. Options are those of libFuzzer.
FUZZ_SECONDS ?= 300
.PHONY: fuzz fuzz-briefly
fuzz-briefly: FUZZ_SECONDS := 15
fuzz fuzz-briefly: $(STAMPS)/fuzz
	@if $(BIN)/python -c 'import atheris' 2>/dev/null; then \
	    for target in readers models; do \
	        echo "fuzzing $$target for $(FUZZ_SECONDS) s"; \
	        $(BIN)/python tests/fuzz/fuzz_$$target.py -max_total_time=$(FUZZ_SECONDS) \
	            -verbosity=0 -print_final_stats=1 2>build/fuzz-$$target.log \
	        || { tail -n 40 build/fuzz-$$target.log >&2; exit 1; }; \
	    done; \
	else echo "atheris is not there for this Python: no fuzzing" >&2; fi
fuzz:  ## fuzz readers and model files for FUZZ_SECONDS each

$(STAMPS)/fuzz: $(STAMPS)/package $(STAMPS)/extra-test
	@$(pip_install) 'polymargin[fuzz]' || echo "atheris could not be installed" >&2
	@touch $@

.PHONY: python-tests
python-tests: $(STAMPS)/package $(STAMPS)/extra-test browser network  ## tests of the Python package, doctests included
	$(BIN)/python -m pytest --numprocesses=$(JOBS) --dist=worksteal

# A few minutes: not part of `make test`.
.PHONY: sklearn-versions
sklearn-versions: $(STAMPS)/native $(STAMPS)/extra-test  ## the estimators with the oldest and the newest scikit-learn
	$(BIN)/python tests/sklearn_versions.py

# --- housekeeping --------------------------------------------------------------------------

.PHONY: format
format: $(STAMPS)/tools  ## format all sources
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CPP_SOURCES)

.PHONY: clean
clean:  ## remove .venv and everything built
	rm -rf $(VENV) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
