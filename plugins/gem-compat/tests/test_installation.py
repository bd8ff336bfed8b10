"""What importing costs and leaves alone, and what is said where something is missing."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
HEAVY = [
    "aiohttp",
    "bm25s",
    "click",
    "datasets",
    "hydra",
    "mcp",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "reasoning_gym",
    "rich",
    "sympy",
    "torch",
    "transformers",
]


IN_FORKS = """
import json, os, sys, traceback
exec(sys.argv[1])
for code in json.loads(sys.stdin.read()):
    source, target = os.pipe()
    if os.fork() == 0:
        os.dup2(target, 1)
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(0)
    os.close(target)
    with open(source) as file:
        said = file.read().strip()
    os.wait()
    print(json.dumps(said))
"""
"""Runs each of several programs in a fork of an interpreter."""


def run_each(codes, first=""):
    """Return what each of several programs prints, with the traceback of one that fails.

    Args:
        codes: The programs; each starts as if it were the only one.
        first: What is run before all of them, once.
    """
    lines = run(IN_FORKS, first, stdin=json.dumps(codes)).splitlines()
    return [json.loads(line) for line in lines]


def run(code, *arguments, stdin="", **environ):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environ},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_bare_import_is_light():
    code = """
import sys
before = set(sys.modules)
import gem
new = set(sys.modules) - before
print(sorted(name for name in new if name.startswith(("gem", "gem_"))), len(new))
"""
    own, _, count = run(code).rpartition(" ")
    gem = ["gem", "gem.__about__", "gem.errors", "gem.games", "gem.modules", "gem.requirements"]
    assert own == str([*gem, "gem_core", "gem_core.errors", "gem_core.lazy"])
    assert int(count) < 50  # what typing and its like bring


def test_nothing_heavy_is_imported_to_play_a_game(subtests):
    codes = [
        "import gem",
        "import gem; gem.make('game:GuessTheNumber-v0').reset(seed=1)",
        "import gem; gem.make('game:Sudoku-v0-easy').reset(seed=1)",
        "from gem.envs.registration import ENV_REGISTRY; len(ENV_REGISTRY)",
    ]
    shown = f"\nimport sys; print([n for n in {HEAVY} if n in sys.modules])"
    for code, said in zip(codes, run_each([code + shown for code in codes]), strict=True):
        with subtests.test(code):
            assert said == "[]"


def test_modules_are_found_without_an_import_of_their_own(subtests):
    names = [
        "core.Env",
        "envs.registration.ENV_REGISTRY",
        "envs.math_env.MathEnv",
        "envs.game_env.wordle.WordleEnv",
        "tools.python_code_tool.PythonCodeTool",
        "utils.constants.TERMINAL_STATE",
        "vector.vector_env.VectorEnv",
        "wrappers.wrapper_factory.WRAPPER_FACTORY",
    ]
    codes = [f"import gem; print(gem.{name} is not None)" for name in names]
    nothing = "import gem; print(hasattr(gem.envs, 'nothing'), hasattr(gem.envs, '__wrapped__'))"
    *found, not_found = run_each([*codes, nothing])
    for name, said in zip(names, found, strict=True):
        with subtests.test(name):
            assert said == "True"
    assert not_found == "False False"


def test_logging_and_output_are_left_to_the_program():
    code = """
import logging
def state():
    return logging.root.level, list(logging.root.handlers), logging.root.disabled
before = state()
import gem
import gem.envs.registration
from gem.wrappers.wrapper_factory import get_wrapper_fns
vector = gem.make_vec(["game:GuessTheNumber-v0"] * 2, wrappers=get_wrapper_fns("concat"))
vector.reset()
assert state() == before
"""
    assert run(code) == ""


def test_environments_leave_the_global_generators_alone():
    code = """
import random
import numpy
random.seed(0); numpy.random.seed(0)
before = random.getstate(), numpy.random.get_state()[1].tolist()
import gem
for env_id in ("game:Sokoban-v0-easy", "game:Wordle-v0", "math:Sample", "qa:Sample"):
    env = gem.make(env_id, seed=3)
    env.reset(seed=1)
    env.step(env.sample_random_action())
    env.reset()
print((random.getstate(), numpy.random.get_state()[1].tolist()) == before)
"""
    assert run(code) == "True"


def test_it_refuses_to_be_imported_beside_gem_llm(tmp_path):
    folder = tmp_path / "gem_llm-0.0.4.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: gem-llm\nVersion: 0.0.4\n")
    code = """
try:
    import gem
except ImportError as error:
    print(type(error).__name__, error)
"""
    said = run(code, PYTHONPATH=str(tmp_path))
    assert said.startswith(
        "InstallationError gem-compat and gem-llm are both installed (gem_llm-0.0.4"
    )
    assert "pip uninstall" in said
    assert run(code) == ""


MISSING = "import sys; sys.modules[{!r}] = None"
"""As if a package were not installed."""


NEEDED = [
    ("from gem.envs.math_env import MathEnv", "gem-math"),
    ("from gem.utils.math_grader import grade", "gem-math"),
    ("from gem.envs.qa_env import QaEnv", "gem-qa"),
    ("from gem.utils.qa_em import em_check", "gem-qa"),
    ("from gem.envs.code_env import CodeEnv", "gem-code"),
    ("from gem.envs.reasoning_gym import ReasoningGymEnv", "gem-rg"),
    ("from gem.envs.game_env.wordle import WordleEnv", "gem-games"),
    ("from gem.envs.mcpmark import MCPMarkEnv", "gem-tools"),
    ("from gem.tools.python_code_tool import PythonCodeTool", "gem-tools"),
    ("from gem.tools.search_tool import SearchTool", "gem-tools"),
    ("from gem.tools.mcp_tool import MCPTool", "gem-tools"),
    ("from gem.tools.mcp_server.time_mcp import app", "gem-tools"),
    ("from gem.tools.search_engine.retrieval_server import main", "gem-tools"),
    ("from gem.envs.terminal.docker_env import DockerEnv", "gem-terminal"),
    ("from gem.envs.webshop.webshop import WebshopEnv", "gem-web"),
    ("from gem.envs.webshop.preprocess import main", "gem-web"),
    ("import gem; gem.make('webshop:train-text')", "gem-web"),
    ("import gem; gem.make('math:Nowhere')", "gem-math"),
]
"""Statements, and the plugin that each of them needs."""
NEEDED_BY = """
{missing}
try:
    {statement}
except ImportError as error:
    print(type(error).__name__, error)
"""
WITHOUT_TOOLS = f"""
{MISSING.format("gem_tools")}
import gem
from gem.wrappers.wrapper_factory import WRAPPER_FACTORY, get_wrapper_fns
from gem.tools.base_tool import BaseTool
from gem.tools.tool_env_wrapper import ToolEnvWrapper
env = get_wrapper_fns("concat")[0](gem.make("game:Mastermind-v0-easy"))
print(type(env.reset()[0]).__name__)
"""


def test_a_missing_plugin_is_named_only_where_it_is_needed(subtests):
    codes = [
        NEEDED_BY.format(missing=MISSING.format(plugin.replace("-", "_")), statement=statement)
        for statement, plugin in NEEDED
    ]
    *refused, works = run_each([*codes, WITHOUT_TOOLS], "import gem.core, gem_core.api, gem_tasks")
    for (statement, plugin), said in zip(NEEDED, refused, strict=True):
        with subtests.test(statement):
            assert said.startswith("InstallationError")
            assert f"pip install {plugin}" in said
    assert works == "str"


def test_other_missing_modules_are_not_blamed_on_a_plugin():
    from gem.requirements import needs

    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"), needs("gem-math"):
        import nowhere  # noqa: F401
