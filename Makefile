# Both main targets need nothing but Python 3.11 or newer: they make .venv and install what they use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: torture demo test lab bench lock clean

# Versions are those of requirements.lock, so that two machines run the same; pyproject.toml holds lower bounds.
$(VENV)/.installed: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint requirements.lock --editable '.[local,mcp,cache,scale,dev,oracles]'
	@touch $@

# The main job on two real local models and two scripted players: run, report. What every player does with the English
# cases is played and reported first.
PLAY = $(BIN)/toolbench run --config runs/demo.config.json --output runs/demo $(if $(wildcard runs/demo/attempts.jsonl),--resume)

demo: $(VENV)/.installed runs/demo/report.html
	$(PLAY)
	$(BIN)/toolbench report runs/demo
	@echo "Open runs/demo/report.html in a browser."

# The report of a run that is not complete ends with code 1 and says so on its first screen.
runs/demo/report.html: | $(VENV)/.installed
	$(PLAY) --now lang=en --now condition=auto
	$(BIN)/toolbench report runs/demo || test -f $@
	@echo "A first report is in $@; the Russian cases and the other conditions are being played."

test: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/nbstripout --verify --keep-id --extra-keys "metadata.papermill metadata.widgets cell.metadata.papermill" notebooks/*.ipynb
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# The root is this folder: notebooks and runs are both within reach.
lab: $(VENV)/.installed
	$(BIN)/jupyter lab --LabApp.default_url=/lab/tree/notebooks/07_workbench.ipynb

# The newest versions that fit pyproject.toml, for every supported Python and system.
lock: $(VENV)/.installed
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-annotate --no-header \
		--output-file requirements.lock pyproject.toml

bench: $(VENV)/.installed
	@for script in tests/bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache

# The long profile of tests/torture: 200 kills, 3000 made-up inputs for every reader. Takes an hour.
torture: $(VENV)/.installed
	TORTURE=long $(BIN)/python -m pytest tests/torture --timeout 7200
