# One virtual environment, locked; every target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test lint types imports unit lock messages clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@echo "kvgate: setting up $(VENV) from requirements.lock"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
