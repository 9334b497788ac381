# `make` prints this help; the targets below set up everything they need.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
PREFIX ?= $(HOME)/.local
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- environments --------------------------------------------------------------------------------

$(VENV)/.runtime: requirements/build.txt requirements/runtime.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; try make PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --require-hashes --requirement requirements/build.txt --requirement requirements/runtime.txt
	$(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.development: $(VENV)/.runtime requirements/development.txt
	$(PIP) install --require-hashes --requirement requirements/development.txt
	@touch $@

.PHONY: install
install: ## Install hpa-controller and kubectl-hpa under PREFIX (default ~/.local)
	$(PYTHON) -m venv $(PREFIX)/lib/hpa-controller
	$(PREFIX)/lib/hpa-controller/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement requirements/build.txt --requirement requirements/runtime.txt
	$(PREFIX)/lib/hpa-controller/bin/python -m pip --quiet --disable-pip-version-check install --no-build-isolation --no-deps .
	mkdir -p $(PREFIX)/bin
	ln -sf ../lib/hpa-controller/bin/hpa-controller ../lib/hpa-controller/bin/kubectl-hpa $(PREFIX)/bin/
	@$(PREFIX)/bin/hpa-controller version

# --- everyday ------------------------------------------------------------------------------------

.PHONY: run
run: $(VENV)/.runtime ## Start a cluster that moves, on this machine, with the controller at work (Ctrl-C ends it)
	@$(BIN)/hpa-controller lab $(LAB)

.PHONY: test
test: $(VENV)/.development ## Run the tests that need no cluster (at most three minutes)
	$(BIN)/python -m pytest $(or $(TESTS),--numprocesses=auto --dist=loadscope)

.PHONY: check
check: $(VENV)/.development ## Check formatting, lint, types and the import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: e2e
e2e: $(VENV)/.development e2e-tools ## Run the tests against the real control plane (builds it first; needs Go)
	$(BIN)/python -m pytest $(or $(TESTS),tests/e2e --ignore=tests/e2e/image --ignore=tests/e2e/keda)

.PHONY: image-check
image-check: $(VENV)/.development e2e-tools ## Do the Dockerfile's steps without a container engine (two minutes; needs root or subordinate ids)
	$(BIN)/python -m pytest tests/e2e/image

.PHONY: e2e-long
e2e-long: $(VENV)/.development e2e-tools ## Kill and break things on the real control plane, soak it, run beside KEDA (two hours; needs Go)
	$(BIN)/python -m tests.e2e.faults $(E2E_LONG)
	$(BIN)/python -m tests.e2e.soak $(SOAK)
	$(BIN)/python -m tests.e2e.build keda-operator keda-metrics-apiserver
	$(BIN)/python -m pytest tests/e2e/keda

.PHONY: side-by-side
side-by-side: $(VENV)/.development e2e-tools ## Play all scenarios beside the built-in controller; writes docs/side-by-side.md
	$(BIN)/python -m pytest tests/e2e/side_by_side --side-by-side-report=docs/side-by-side.md

.PHONY: reference
reference: $(VENV)/.development ## Decide beside Kubernetes' own code in random worlds, judge manifests, read rules: 10,000 each (needs Go)
	$(PYTHON) -m tests.e2e.build hpa-reference
	$(BIN)/python -m tests.e2e.reference $(REFERENCE)

.PHONY: e2e-tools
e2e-tools: ## Build what e2e runs, if the cache lacks it (needs Go)
	$(PYTHON) -m tests.e2e.build

.PHONY: bench
bench: $(VENV)/.development ## Measure what things cost, as ratios to a yardstick of the same run
	$(BIN)/python -m tests.bench $(BENCH)

.PHONY: bench-cluster
bench-cluster: $(VENV)/.development e2e-tools ## Measure beside the built-in controller on the real control plane, an hour (needs Go)
	$(BIN)/python -m tests.bench_cluster $(BENCH_CLUSTER)

.PHONY: sweep
sweep: $(VENV)/.development ## Pour bad input by the million over everything that reads (about ten minutes)
	$(BIN)/python -m tests.sweep $(SWEEP)

.PHONY: format
format: $(VENV)/.development ## Format the code and apply safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: lock
lock: $(VENV)/.development ## Resolve the lock files anew
	$(BIN)/uv pip compile $(COMPILE) --output-file requirements/build.txt requirements/build.in
	$(BIN)/uv pip compile $(COMPILE) --output-file requirements/runtime.txt pyproject.toml
	$(BIN)/uv pip compile $(COMPILE) --output-file requirements/development.txt requirements/development.in
COMPILE := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock"

.PHONY: clean
clean: ## Remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
