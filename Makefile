# One virtual environment, locked; every target sets up what it needs. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN := $(BIN)/python -m
# A worker a core; the tests of one file stay together, as they share servers. AT_ONCE= runs them one after another.
AT_ONCE ?= -n logical --maxprocesses 4 --dist loadfile
LOCALE := kvgate/reports/locale
LANGUAGES := zh_CN

.DEFAULT_GOAL := help
.PHONY: help setup setup-tests setup-rack rack rack-down test-rack test-rack-short demo test lint types imports messages schema client unit test-engine lock bench clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: $(STAMP) ## virtual environment from the lock file

$(STAMP): requirements.lock pyproject.toml
	@echo "kvgate: setting up $(VENV) from requirements.lock (one to three minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kvgate: found $$($(PYTHON) --version), wanted Python 3.11 or newer (make PYTHON=python3.12)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(RUN) pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup-tests: setup ## Debian packages that the tests start (sshd, PostgreSQL, ...)
	@sh tests/setup-packages.sh

demo: setup ## the gates on the embedded rack; everything lands in var/
	$(BIN)/kvgate demo

lint: setup ## ruff: style and formatting
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: setup ## mypy --strict
	$(RUN) mypy

imports: setup ## the directions of the house
	$(BIN)/lint-imports

messages: setup ## extract, update and compile the message catalogues
	@mkdir -p $(LOCALE)
	$(BIN)/pybabel -q extract --no-location --sort-output --omit-header -k say -k read -o $(LOCALE)/kvgate.pot kvgate checks gates
	@for language in $(LANGUAGES); do \
	  verb=init; test ! -f $(LOCALE)/$$language/LC_MESSAGES/kvgate.po || verb="update --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date"; \
	  $(BIN)/pybabel -q $$verb -w 120 -i $(LOCALE)/kvgate.pot -d $(LOCALE) -D kvgate -l $$language || exit; \
	done
	$(BIN)/pybabel compile --statistics -d $(LOCALE) -D kvgate

schema: setup ## write inventories/schema.json, which editors read
	$(RUN) kvgate inventory schema > inventories/schema.json

client: setup ## pack the client and the launcher that are sent to load hosts (checks/serving/program.py, launcher.py)
	$(RUN) kvgate.drivers.program

unit: setup-tests ## the tests alone
	$(RUN) pytest $(AT_ONCE)

ENGINE := var/real-engine
test-engine: setup ## a real vLLM on this machine's processors: populate, evict, restore, measure with every driver (4.6 GB, some minutes)
	@sh lab/real_engine/install.sh $(ENGINE)/venv
	@sh lab/real_engine/tools.sh $(ENGINE)/tools
	@test -e $(ENGINE)/model/config.json || $(ENGINE)/venv/bin/python lab/real_engine/model.py $(ENGINE)/model
	KVGATE_REAL_ENGINE=$(ENGINE) $(RUN) pytest -q -s tests/real_engine

test: lint types imports setup-tests ## everything: linters, types, directions, all tests
	$(RUN) pytest $(AT_ONCE)

lock: ## write requirements.lock anew (needs pip-tools)
	pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --extra dev --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock pyproject.toml

IMAGE := build/rack
MADE_FROM := lab/vm/build.sh lab/vm/initrd.sh lab/vm/configure.sh lab/vm/image-packages.txt $(wildcard lab/vm/guest/*)

setup-rack: setup
	@sh tests/setup-packages.sh lab/vm/packages.txt

$(IMAGE)/kernel: $(MADE_FROM) lab/vm/packages.txt
	@echo "kvgate: building the image of the virtual rack (about four minutes, once)"
	@if [ "$$(id -u)" = 0 ]; then sh lab/vm/build.sh $(IMAGE); else sudo sh lab/vm/build.sh $(IMAGE); fi

rack: setup-rack $(IMAGE)/kernel ## two virtual machines with real kernels and NVMe-oF; writes inventories/vm.yaml
	$(RUN) lab.vm up

rack-down: setup ## end the virtual rack and remove what it left (the image stays in build/)
	$(RUN) lab.vm down

test-rack: rack ## the gates, the faults and a soak on the virtual rack (two hours or so; RESUME=1 goes on); var/test-rack/report.md and .html
	KVGATE_RACK=1 KVGATE_RACK_RESUME=$(RESUME) $(RUN) pytest -q tests/rack; status=$$?; echo "kvgate: var/test-rack/report.md says what came of each part"; exit $$status

test-rack-short: rack ## G1, the timer and a soak of some minutes on the virtual rack: what CI runs where it can
	KVGATE_RACK=short KVGATE_RACK_RESUME=$(RESUME) $(RUN) pytest -q tests/rack

bench/.venv/.installed: bench/requirements.txt
	@echo "kvgate: setting up bench/.venv with what kvgate is measured against"
	$(PYTHON) -m venv bench/.venv
	bench/.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/requirements.txt
	@touch $@

bench: setup bench/.venv/.installed ## measure speed against plain ssh and others (an hour or two); tables go into bench/README.md
	$(RUN) bench.fan_out --write
	$(RUN) bench.fan_out --server rack --samples 3 --write
	$(RUN) bench.gate --write

clean: ## remove what make made (not var/, which holds ledger and evidence)
	rm -rf $(VENV) bench/.venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build *.egg-info
