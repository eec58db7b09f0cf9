# make demo | make test: everything from a fresh machine with python3 (3.11 or newer) and make.
PYTHON ?= python3
BIN := .venv/bin
# One thread per process where processes run in parallel. Compiled files are kept even where the environment forbids it:
# each process that tests start would compile the package anew.
PARALLEL := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# OpenMP threads that wait sleep instead of taking cores from other processes.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test units check study bench pages docs lint format clean

demo: .venv/installed
	$(BIN)/fairlevel demo --out demo

# The linters, of which mypy takes a minute on one core, run beside the tests.
test: .venv/installed
	$(MAKE) --no-print-directory --jobs 2 lint units

units: .venv/installed
	$(PARALLEL) $(BIN)/python -m pytest -m "not study" -n auto --maxprocesses 8 --dist loadfile

check: lint
	$(PARALLEL) $(BIN)/python -m pytest -x -q -n auto --maxprocesses 8 \
		$(addprefix tests/,networks conditional_mean data fronts penalties contracts plots)

study: .venv/installed
	$(BIN)/python -m pytest -m study -s

bench: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[peers]"
	$(BIN)/python -m benchmarks --out benchmarks/results/cpu.json
	FAIRLEVEL_NATIVE=off $(BIN)/python -m benchmarks --only fbo-400,fbo-2000,fbo-8000 \
		--out benchmarks/results/cpu-without-compiler.json

pages: .venv/installed
	$(PARALLEL) $(BIN)/python docs/support/pages.py $(PAGES)

docs: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	$(BIN)/mkdocs build --strict --site-dir build/site

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch $@

clean:
	rm -rf .venv demo build dist .mypy_cache .ruff_cache .pytest_cache
