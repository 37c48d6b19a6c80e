# Two commands: `make demo` and `make test`. CONTRIBUTING.md says what the others are for.
.DEFAULT_GOAL := help
PY := .venv/bin/python
SECONDS ?= 600

.PHONY: help setup system-packages demo test test-lab soak lint types docs reference format lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

setup: ## the Python part alone, into .venv (no sudo, no QEMU)
	@scripts/setup

system-packages: ## Debian packages for the lab; asks sudo, or prints the line to run
	@scripts/system-packages demo

demo: setup system-packages ## two blank virtual machines become ready nodes (KEEP=1 leaves them running, KILL=SEED kills each run once)
	@scripts/until-done $(PY) -m metalwright.demo $(if $(filter-out 0,$(KEEP)),--keep) $(if $(KILL),--kill $(KILL))

test: setup ## lint, types, contracts, documentation, then the tests
	@scripts/system-packages test
	@scripts/until-done scripts/test

test-lab: setup ## the long tests (ONLY=FILE: a part; ONLY=open: what has not passed yet); writes docs/reference/lab-report.json
	@scripts/system-packages test
	@scripts/until-done $(PY) -m scripts.lab_report $(ONLY)

soak: setup system-packages ## random kills and faults for SECONDS=600; adds the run to bench/results/soak.json
	@METALWRIGHT_SOAK_SECONDS="$(SECONDS)" METALWRIGHT_SOAK_REPORT=bench/results/soak.json scripts/until-done $(PY) -m pytest -m soak tests/simulator/provision

lint: setup ## ruff and the import contracts
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/lint-imports

types: setup ## mypy, strict
	@.venv/bin/mypy

docs: setup ## the documentation, strictly, into build/docs
	@scripts/build-docs

reference: setup ## write the generated pages of docs/reference
	@$(PY) -m scripts.generate_reference

format: setup ## format the code and sort imports
	@.venv/bin/ruff check --fix-only --quiet .
	@.venv/bin/ruff format .

lock: setup ## write requirements.lock anew from pyproject.toml
	@scripts/lock

clean: ## remove everything that was made here (.venv, caches, builds, demo)
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist demo
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
