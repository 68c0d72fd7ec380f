# Everything a user or a developer does. Needs Python (3.11 or newer) and make; the rest is
# installed into .venv. PYTHON=... chooses another interpreter than the first one found.
CHECK  := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3.14 python3 python,$(shell \
	$(p) -c '$(CHECK)' 2>/dev/null && echo $(p))))
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTEST_WORKERS ?= 2
export MLFLOW_DISABLE_TELEMETRY := true
# Packages are installed without bytecode, the first import writes it. Where the environment forbids
# that, each process that the tests start would compile what it imports anew (2 to 5 s each).
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup test slurm-test lint types format reproduce smoke thresholds table1 tables report bench ui clean

help:  ## Show this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(STAMP)  ## Create .venv with every pinned dependency (no-op when up to date)

$(STAMP): requirements.txt requirements-spflow.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer was found. Install one (apt install" \
	  "python3.11 python3.11-venv, brew install python@3.11, pyenv install 3.11) or name it:" \
	  "make $(MAKECMDGOALS) PYTHON=/path/to/python"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps -r requirements-spflow.txt
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "Compiling the kernels, once (about a minute)"
	@$(BIN)/python -m fspn.warm
	@touch $@

test: setup lint types  ## Lint, types and all tests
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS)

slurm-test: setup  ## A study on a real Slurm of this machine (root, slurm-wlm, munge), while things are killed
	$(BIN)/python -m pytest tests/slurm/on_slurm.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

format: setup  ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reproduce: setup  ## The paper's synthetic study, six datasets x all models, then the report
	$(BIN)/python -m experiments.run experiment=reproduce

smoke: setup  ## The same in small (10,000 rows, small grids), under 3 minutes
	$(BIN)/python -m experiments.run experiment=smoke

thresholds: setup  ## FSPN over the tau_low x tau_high grid
	$(BIN)/python -m experiments.run experiment=thresholds

table1: setup  ## The paper's Table 1: 20 real benchmarks x thirteen models, then the report
	$(BIN)/python -m experiments.run experiment=table1

tables: setup  ## Real tables: row counts by FSPN beside PostgreSQL, DuckDB, samples and other models
	$(BIN)/python -m experiments.run experiment=tables; status=$$?; \
	$(BIN)/python -m experiments.report.row_counts && exit $$status

report: setup  ## Figures, tables and page from the recorded rows, without training
	$(BIN)/python -m experiments.report

bench: setup  ## Speed of every engine, side by side
	$(BIN)/python -m experiments.bench

ui: setup  ## MLflow's pages on the recorded runs
	$(BIN)/mlflow ui --backend-store-uri sqlite:///results/mlflow.db

clean:  ## Remove build products and caches (results and datasets stay)
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis outputs multirun
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
