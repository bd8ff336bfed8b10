"""What importing gem-core costs and leaves alone."""

import ast
import importlib
import inspect
import json
from importlib import metadata
from typing import Any

import pytest

import gem_core

HEAVY = [
    "asyncio",
    "click",
    "cloudpickle",
    "datasets",
    "hydra",
    "numpy",
    "omegaconf",
    "orjson",
    "pydantic",
    "rich",
    "torch",
    "transformers",
    "typer",
]
CODE = f"""
import json, logging, random, sys

def log():
    return logging.root.level, list(logging.root.handlers), logging.root.disabled

random.seed(0)
before, state, facts = log(), random.getstate(), dict()

def note(name):
    facts[name] = [module for module in {HEAVY} if module in sys.modules]

import gem_core
facts["modules"] = sorted(name for name in sys.modules if "gem_" in name)
note("import")
gem_core.make("game:GuessTheNumber-v0-easy")
note("make")
packages = dict.fromkeys(name.partition(".")[0] for name in sys.modules)
facts["packages"] = sorted(name for name in packages if name.startswith("gem_"))
facts["metadata"] = "importlib.metadata" in sys.modules
gem_core.list_envs()
note("list")
env = gem_core.make(
    "game:GuessTheNumber-v0-easy", tools=[], wrappers=["concat", "time_limit", "episode_tracking"]
)
env.reset(seed=1)
env.step(env.sample_random_action())
env.fork()
note("play")
facts["random"] = random.getstate() == state
facts["root logger"] = before == log()
logger = logging.getLogger("gem_core")
facts["logger"] = logger.level, logger.propagate, [type(one).__name__ for one in logger.handlers]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts(run_python: Any) -> Any:
    """What a program finds that imports gem-core, makes an environment, lists and plays."""
    return json.loads(run_python(CODE))  # so nothing else is printed


@pytest.mark.slow
@pytest.mark.parametrize("after", ["import", "make", "list", "play"])
def test_nothing_heavy_is_imported_to_play(facts: Any, after: str) -> None:
    assert facts[after] == []


def test_making_a_game_imports_no_other_distribution_and_no_metadata(facts: Any) -> None:
    assert facts["packages"] == ["gem_core", "gem_games"]
    assert not facts["metadata"]


def test_the_bare_import_reads_no_other_module_of_the_package(facts: Any) -> None:
    assert facts["modules"] == ["gem_core", "gem_core.lazy"]


def test_logging_is_left_to_the_program(facts: Any) -> None:
    assert facts["root logger"]
    assert facts["logger"] in ([0, True, []], [0, True, ["NullHandler"]])


def test_the_global_generators_are_left_alone(facts: Any) -> None:
    assert facts["random"]


class TestThePackage:
    def test_every_name_resolves_to_what_its_module_exports(self) -> None:
        home = {name: module for module, names in gem_core._MODULES.items() for name in names}
        assert set(gem_core.__all__) == {*home, "__version__"} <= set(dir(gem_core))
        for name, module in home.items():
            assert getattr(gem_core, name) is getattr(
                importlib.import_module(f"gem_core.{module}"), name
            )

    def test_type_checkers_see_the_names_that_are_there_at_run_time(self) -> None:
        blocks = ast.parse(inspect.getsource(gem_core)).body
        imports = [node for one in blocks if isinstance(one, ast.If) for node in one.body]
        seen = {alias.name for node in imports for alias in getattr(node, "names", ())}
        assert seen == {*gem_core.__all__} - {"__version__"}

    def test_the_names_that_do_not_move_are_there(self) -> None:
        promised = (
            "Env BaseEnv Wrapper Step Tool ToolCall ToolResult Agent Spec "
            "EnvSpec ToolSpec WrapperSpec hookimpl make make_vec register list_envs find_envs "
            "GemError"
        )
        assert set(promised.split()) <= set(gem_core.__all__)

    def test_a_typo_is_an_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match="module 'gem_core' has no attribute 'mkae'"):
            _ = gem_core.mkae

    def test_the_version_is_that_of_the_distribution(self) -> None:
        assert gem_core.__version__ == metadata.version("gem-core")
