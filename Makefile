# make demo | make test: everything from a fresh machine with python3 (3.11 or newer) and make.
# .core holds what `pip install fairlevel` brings, .venv also PyTorch and the study.
PYTHON ?= python3
BIN := .venv/bin
# One thread per process where processes run in parallel. Compiled files are kept even where the environment forbids it:
# each process that tests start would compile the package anew.
PARALLEL := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# OpenMP threads that wait sleep instead of taking cores from other processes.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test units core networks ci check bounds study bench pages docs lint format clean

demo: .core/installed
	.core/bin/fairlevel demo --out demo

# The linters, of which mypy takes a minute on one core, run beside the tests.
test: .venv/installed .core/tested
	$(MAKE) --no-print-directory --jobs 2 lint units

units: core networks

# Without PyTorch; files of tests that need it are left out.
core: .core/tested
	$(PARALLEL) .core/bin/python -m pytest tests src -m "not study" -n auto --maxprocesses 8 --dist loadfile

# The files that were left out, and those of the study.
networks: .venv/installed
	$(PARALLEL) $(BIN)/python -m pytest -m "not study" --needing-torch -n auto --maxprocesses 8 --dist loadfile

# What continuous integration runs: the tests, and the oldest dependencies.
ci: test bounds

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
		releveling/test_relevel_inputs.py estimators/test_scikit_learn_habits.py members)

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
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test,networks]" --editable "./study[ray,peers]"
	touch $@

.core/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .core
	.core/bin/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

.core/tested: .core/installed
	.core/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	touch $@

clean:
	rm -rf .venv .core .bounds demo build dist .mypy_cache .ruff_cache .pytest_cache
