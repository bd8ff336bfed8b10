# Every target sets up .venv by itself; it needs Python 3.11 or newer, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when they are first imported, which is few of those installed.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE
# First our distributions without their dependencies; then the dependencies, by our names.
EDITABLE := $(PIP) --no-deps --no-build-isolation
# The distributions beside the core: each a folder with a pyproject.toml.
PARTS := $(patsubst %/pyproject.toml,%,$(wildcard libs/*/pyproject.toml plugins/*/pyproject.toml))
WITH_DEV := $(shell grep -l '^dev = ' $(PARTS:%=%/pyproject.toml))
SHOWN := $(filter libs/%,$(PARTS)) plugins/gem-games

# What training needs; torch=='<version>+cpu' or the like where the default build is too large.
TORCH ?= torch
WITH_TORCH = $(BIN)/python -c 'import torch, gguf' 2>/dev/null || $(PIP) '$(TORCH)' 'gem-agents[local]'
NOW := $(shell date +%Y-%m-%d-%H-%M-%S)
TRAINED := runs/demo-train/$(NOW)
PLAYED := runs/demo-llm/$(NOW)
GUESS := env=game/GuessTheNumber-v0-easy
# More arguments for pytest: make test ARGS="-k seed -x"
ARGS ?=
# Tests of one module mostly run in one worker, so that they share what the module has started.
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal

# A worker more would take longer to collect the tests than it then saves.
CORES := $(shell nproc 2>/dev/null || echo 2)
# The core, the libraries, and the plugins that others build on.
QUICK := tests libs $(addprefix plugins/gem-,agents code eval games math qa sandbox serve terminal tools)

.PHONY: demo demo-llm demo-train real-model test test-core test-adapters test-gateway-sdks test-gateway-engines test-harness quick lint bench baselines docs site clean

$(VENV)/.base:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) 'pip>=26' 'hatchling>=1.27' 'editables>=0.5' # pip of Python 3.11 takes a minute more
	@touch $@

$(VENV)/.demo: $(VENV)/.base pyproject.toml $(SHOWN:%=%/pyproject.toml)
	@echo "Setting up $(VENV) with the core and the games ..."
	@$(EDITABLE) -e . $(SHOWN:%=-e %)
	@$(PIP) gem-core $(notdir $(SHOWN))
	@touch $@

$(VENV)/.installed: $(VENV)/.base pyproject.toml $(PARTS:%=%/pyproject.toml)
	@echo "Setting up $(VENV) with everything ..."
	@$(EDITABLE) -e . $(PARTS:%=-e %)
	@$(PIP) "gem-core[dev]" $(notdir $(PARTS)) $(patsubst %,"%[dev]",$(notdir $(WITH_DEV:%/pyproject.toml=%)))
	@touch $(VENV)/.demo $@

demo: $(VENV)/.demo  ## Play a few games with the oracle and the random agent
	@$(BIN)/gem-core run 'envs=[game:GuessTheNumber-v0-easy,game:Mastermind-v0-easy,game:TowerofHanoi-v0-easy,game:Sudoku-v0-easy]' 'agent=[oracle,random]' episodes=100

demo-llm: $(VENV)/.installed  ## Fetch a small language model, play a game with it, and show the episodes
	@$(WITH_TORCH)
	@$(BIN)/gem-core get-model smollm2
	@$(BIN)/gem-core eval $(GUESS) 'agent=[random,smollm2,oracle]' episodes=20 out=$(PLAYED)
	@$(BIN)/gem-core view $(PLAYED) --html $(PLAYED)/episodes.html

demo-train: $(VENV)/.installed  ## Train a tiny model from nothing: a warm start, then ReBN
	@$(WITH_TORCH)
	@$(BIN)/gem-core make-model game:GuessTheNumber-v0-easy out=$(TRAINED)/random
	@$(BIN)/gem-core train sft model=$(TRAINED)/random $(GUESS) 'skill=[0.1,0.1,1]' episodes=4000 batch_size=8 steps=500 lr=3e-3 out=$(TRAINED)/warm
	@$(BIN)/gem-core train algo=rebn algo.gamma=0.9 model=$(TRAINED)/warm/model $(GUESS) steps=120 optim.lr=1e-3 optim.schedule=linear sampling.max_new_tokens=8 eval.every=120 eval.episodes=200 out=$(TRAINED)/rebn
	@$(BIN)/gem-core compare $(TRAINED)/rebn/eval/000000 $(TRAINED)/rebn/eval/000120
	@$(BIN)/gem-core view $(TRAINED)/rebn --html $(TRAINED)/curves.html

test: $(VENV)/.installed  ## Run every test
	@$(PYTEST) $(ARGS)

quick: $(VENV)/.installed  ## Run the fast tests of the core, the libraries and the plugins that others build on
	@$(PYTEST) -n $(CORES) -m 'not slow' $(QUICK) $(ARGS)

test-core: $(VENV)/.installed  ## Run the tests of the core
	@$(PYTEST) tests $(ARGS)

ADAPTERS ?=
NEWEST ?=
test-adapters:  ## Test the adapters with their frameworks: make test-adapters ADAPTERS="trl verl"
	@PYTHON='$(PYTHON)' TORCH='$(TORCH)' NEWEST='$(NEWEST)' ARGS='$(ARGS)' tests/ci/adapters.sh $(ADAPTERS)

test-gateway-sdks:  ## Test the gateway with the SDKs of agent programs
	@PYTHON='$(PYTHON)' ARGS='$(ARGS)' tests/ci/gateway_sdks.sh

ENGINES ?= vllm sglang
test-gateway-engines:  ## Test the gateway with the HTTP servers of vLLM and SGLang, on a CPU
	@for engine in $(ENGINES); do PYTHON='$(PYTHON)' TORCH='$(TORCH)' ARGS='$(ARGS)' tests/ci/gateway_engine.sh $$engine || exit; done

PROGRAMS ?=
test-harness: $(VENV)/.installed  ## Let agent programs play episodes: make test-harness PROGRAMS="codex mini"
	@PYTHON='$(PYTHON)' BIN='$(BIN)' ARGS='$(ARGS)' tests/ci/harness.sh $(PROGRAMS)

test-%: $(VENV)/.installed  ## Run the tests of one distribution: make test-gem-games
	@test -d "$(firstword $(wildcard libs/$* plugins/$*))" || { echo "There is no distribution '$*'; choose from core, $(notdir $(PARTS))" >&2; exit 2; }
	@$(PYTEST) $(wildcard libs/$* plugins/$*) $(ARGS)

lint: $(VENV)/.installed  ## ruff, mypy, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.installed  ## Measure side by side with gem-llm
	@$(BIN)/python benchmarks/run.py compare

baselines: $(VENV)/.installed  ## Play and train the baselines of docs/baselines.md
	@$(WITH_TORCH)
	@$(BIN)/python benchmarks/run.py baselines

SEEDS ?= 1
ALGOS ?= rebn
TASKS ?= guess
# Minutes after which a call stops; the next one goes on.
MINUTES ?= inf
# Where the page and its figures are written; docs/ has those of published runs.
OUTPUT ?= runs/real-model
real-model: $(VENV)/.installed  ## Train a pretrained model on one GPU: make real-model SEEDS=3 ALGOS="rebn grpo"
	@$(WITH_TORCH)
	@$(BIN)/gem-core get-model smollm2
	@$(BIN)/python benchmarks/run.py real-model --seeds $(SEEDS) --algos $(ALGOS) --tasks $(TASKS) --minutes $(MINUTES) --output $(OUTPUT)

docs: $(VENV)/.installed  ## Write the generated pages of docs/
	@$(BIN)/python docs/generate_known.py
	@$(BIN)/python docs/generate_architecture.py
	@$(BIN)/python docs/generate_games.py
	@$(BIN)/python docs/generate_catalogue.py
	@$(BIN)/python docs/generate_notebooks.py

site: $(VENV)/.installed  ## Build the documentation site in build/site
	@$(BIN)/python -c 'import mkdocstrings' 2>/dev/null || $(PIP) 'gem-core[site]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean:
	rm -rf $(VENV) .venv-adapters .venv-harness .venv-gem-llm build dist runs .pytest_cache .mypy_cache .ruff_cache
