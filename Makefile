# Every target sets up .venv by itself; it needs Python 3.11 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PLUGINS := $(wildcard plugins/*)
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench docs clean

$(STAMP): pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" $(foreach plugin,$(PLUGINS),-e "$(plugin)") $(foreach plugin,$(PLUGINS),-e "$(plugin)[dev]")
	@touch $@

# Plugins are named twice above: with extras only, pip would not find one that another one needs.

demo: $(STAMP)  ## Play a few games with the oracle and the random agent
	@$(BIN)/gem-core run 'envs=[game:GuessTheNumber-v0-easy,game:Mastermind-v0-easy,game:TowerofHanoi-v0-easy,game:Sudoku-v0-easy]' 'agent=[oracle,random]' episodes=100

test: $(STAMP)  ## Run every test
	@$(BIN)/python -m pytest -q -n auto

lint: $(STAMP)  ## ruff, mypy, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(STAMP)  ## Measure side by side with gem-llm
	@$(BIN)/python benchmarks/compare.py

docs: $(STAMP)  ## Write the generated pages of docs/
	@$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) .venv-gem-llm build dist runs .pytest_cache .mypy_cache .ruff_cache
