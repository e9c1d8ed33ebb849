# Both main targets need nothing but Python 3.11 or newer: they make .venv and install what they use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lab check bench clean

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[local,dev,oracles]'
	@touch $@

# The main job on two real local models: run, score, report.
demo: $(VENV)/.installed
	$(BIN)/toolbench run --config runs/demo.config.json --output runs/demo $(if $(wildcard runs/demo/attempts.jsonl),--resume)
	$(BIN)/toolbench report runs/demo
	@echo "Open runs/demo/report.html in a browser."

test: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/nbstripout --verify --keep-id --extra-keys "metadata.papermill metadata.widgets cell.metadata.papermill" notebooks/*.ipynb
	$(BIN)/python -m pytest

lab: $(VENV)/.installed
	$(BIN)/jupyter lab notebooks

bench: $(VENV)/.installed
	@for script in tests/bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
