# make demo | make test: everything from a fresh machine with python3 (3.11 or newer) and make.
PYTHON ?= python3
BIN := .venv/bin
# One thread per process where processes run in parallel. Compiled files are kept even where the environment forbids it:
# each process that tests start would compile the package anew.
PARALLEL := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# OpenMP threads that wait sleep instead of taking cores from other processes.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test units check bounds study bench pages docs lint format clean

demo: .venv/installed
	$(BIN)/fairlevel demo --out demo

# The linters, of which mypy takes a minute on one core, run beside the tests.
test: .venv/installed
	$(MAKE) --no-print-directory --jobs 2 lint units

units: .venv/installed
	$(PARALLEL) $(BIN)/python -m pytest -m "not study" -n auto --maxprocesses 8 --dist loadfile

check: lint
	$(PARALLEL) $(BIN)/python -m pytest -x -q -n auto --maxprocesses 8 \
		$(addprefix tests/,networks conditional_mean data fronts penalties contracts plots) study/tests/penalties

# The oldest versions of dependencies that pyproject.toml allows, which have wheels for Python 3.11 and 3.12.
bounds:
	$(PYTHON) -m venv .bounds
	.bounds/bin/python tests/lower_bounds.py > .bounds/oldest.txt
	.bounds/bin/python -m pip install --quiet --constraint constraints.txt torch
	.bounds/bin/python -m pip install --quiet --editable . --requirement .bounds/oldest.txt \
		onnxruntime polars pytest pytest-xdist
	$(PARALLEL) .bounds/bin/python -m pytest -q -m "not study" -n auto --maxprocesses 8 --dist loadfile \
		-o filterwarnings=default -p no:cacheprovider $(addprefix tests/,cli/test_command_contract.py \
		cli/test_relevel_command.py cli/test_stored_audit.py cli/test_hostile_words.py contracts metrics \
		releveling/test_relevel_inputs.py estimators/test_scikit_learn_habits.py trees/test_lightgbm_library.py)

study: .venv/installed
	$(BIN)/python -m pytest -m study -s

bench: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --editable "./study[peers]"
	$(BIN)/python -m benchmarks --out benchmarks/results/cpu.json

pages: .venv/installed
	$(PARALLEL) $(BIN)/python docs/support/pages.py $(PAGES)

docs: .venv/installed
	$(BIN)/mkdocs build --strict --site-dir build/site

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/installed: pyproject.toml study/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]" --editable "./study[ray,peers]"
	touch $@

clean:
	rm -rf .venv .bounds demo build dist .mypy_cache .ruff_cache .pytest_cache
