# Every target sets up .venv by itself; it needs Python 3.11 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PLUGINS := $(wildcard plugins/*)
STAMP := $(VENV)/.installed

# What training needs; torch=='<version>+cpu' or the like where the default build is too large.
TORCH ?= torch
TRAINED := runs/demo-train/$(shell date +%Y-%m-%d-%H-%M-%S)
GUESS := env=game/GuessTheNumber-v0-easy

.PHONY: demo demo-train test lint bench docs clean

$(STAMP): pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" $(foreach plugin,$(PLUGINS),-e "$(plugin)") $(foreach plugin,$(PLUGINS),-e "$(plugin)[dev]")
	@touch $@

# Plugins are named twice above: with extras only, pip would not find one that another one needs.

demo: $(STAMP)  ## Play a few games with the oracle and the random agent
	@$(BIN)/gem-core run 'envs=[game:GuessTheNumber-v0-easy,game:Mastermind-v0-easy,game:TowerofHanoi-v0-easy,game:Sudoku-v0-easy]' 'agent=[oracle,random]' episodes=100

demo-train: $(STAMP)  ## Train a tiny model from nothing: a warm start, then ReBN
	@$(BIN)/python -c 'import torch' 2>/dev/null || $(BIN)/python -m pip install --quiet '$(TORCH)'
	@$(BIN)/gem-core make-model $(TRAINED)/random --env game:GuessTheNumber-v0-easy
	@$(BIN)/gem-core train sft model=$(TRAINED)/random $(GUESS) 'skill=[0.1,0.1,1]' episodes=4000 batch_size=8 steps=500 lr=3e-3 out=$(TRAINED)/warm
	@$(BIN)/gem-core train algo=rebn algo.gamma=0.9 model=$(TRAINED)/warm/model $(GUESS) steps=120 optim.lr=1e-3 optim.schedule=linear sampling.max_new_tokens=8 eval.every=120 eval.episodes=200 out=$(TRAINED)/rebn
	@$(BIN)/gem-core compare $(TRAINED)/rebn/eval/000000 $(TRAINED)/rebn/eval/000120
	@$(BIN)/gem-core view $(TRAINED)/rebn/eval/000000 $(TRAINED)/rebn/eval/000120 --html $(TRAINED)/episodes.html

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
