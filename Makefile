# Every target sets itself up first; `make setup` is idempotent and does nothing when nothing changed.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STATE ?= .orchestrator

.PHONY: setup demo check test test-faults lock lock-gpu generate clean help

help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: .venv/installed .assets/ready ## install everything into .venv and make the demo's model and data

.venv/installed: requirements-cpu.lock pyproject.toml
	@$(PYTHON) scripts/preflight.py
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing the locked packages into .venv (about 3 GB, 3 minutes) …"
	@$(PIP) install -qq --no-deps -r requirements-cpu.lock || $(PYTHON) scripts/preflight.py --explain-install-failure
	@$(PIP) install -qq --no-deps --no-build-isolation -e .
	@touch $@

.assets/ready: .venv/installed $(wildcard jobs/assets/*.py jobs/assets.py)
	@$(BIN)/python -m jobs.assets --dir .assets
	@touch $@

demo: setup ## the whole story on this machine: about 10 minutes after installation
	@$(BIN)/orchestrator demo

check: .venv/installed ## lint, format, types, import contracts, fast tests: about a minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -n 2 -m "not slow and not ray and not engine and not faults and not gpu"

test: setup ## every test but the slow kills
	$(BIN)/python -m pytest -m "not faults and not gpu"

test-faults: setup ## slow tests that really kill nodes, drivers and controllers
	$(BIN)/python -m pytest -m faults

lock: ## resolve the CPU lock file anew
	$(PYTHON) scripts/lock.py cpu

lock-gpu: ## resolve a lock file for machines with NVIDIA GPUs
	$(PYTHON) scripts/lock.py gpu

generate: .venv/installed ## write the generated files (the catalog's JSON Schema and reference, cluster.yaml) anew
	$(BIN)/python -m orchestrator.catalog.json_schema > docs/catalog.schema.json.new
	mv docs/catalog.schema.json.new docs/catalog.schema.json
	$(BIN)/python -m orchestrator.catalog.reference docs/catalog.md

clean: ## end this checkout's cluster and remove its state (not .venv, not .assets)
	-$(BIN)/orchestrator down
	rm -rf $(STATE) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
