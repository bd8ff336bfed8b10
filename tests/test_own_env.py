"""An environment that is not in a package yet: a class in a module or a file of the user's."""

import json
import re
import sys
from pathlib import Path

import pytest
from cli import gem

import gem_core
from gem_core.errors import EntryPointError, UnknownIdError
from gem_core.registry import Registry
from gem_core.specs import ENVS
from gem_core.testing import check_env
from gem_rollout.records.runs import Run

DICE = '''
from dataclasses import dataclass

from gem_core import BaseEnv, Step
from {sides} import SIDES


@dataclass
class Throw:
    eyes: int


class DiceEnv(BaseEnv):
    """Guess a die, twice."""

    def __init__(self, *, sides: int = SIDES) -> None:
        self.sides = sides

    def start(self):
        self.throw, self.turn = Throw(self.rng.randint(1, self.sides)), 0
        return f"Guess 1 to {{self.sides}}.", {{}}

    def step(self, action):
        self.turn += 1
        right = action == str(self.throw.eyes)
        return Step("no", float(right), right or self.turn == 2, False, {{"correct": right}})

    def sample_random_action(self):
        return str(self.action_rng.randint(1, self.sides))


def broken():
    return 3


class Bare:
    def reset(self, seed=None):
        return "", {{}}

    def step(self, action):
        return "", 0.0, True, False, {{}}


class Half(BaseEnv):
    def start(self):
        return "", {{}}


NUMBER = 3
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a module, whose name is of this test alone, and one beside it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    name = re.sub(r"\W", "_", f"dice_{tmp_path.name}")
    (tmp_path / f"{name}.py").write_text(DICE.format(sides=f"sides_of_{name}"))
    (tmp_path / f"sides_of_{name}.py").write_text("SIDES = 6\n")
    yield name
    for module in [one for one in sys.modules if name in one]:
        del sys.modules[module]


@pytest.fixture(params=["{}:DiceEnv", "./{}.py:DiceEnv"])
def own(here, request):
    return request.param.format(here)


def test_an_environment_is_named_by_its_module_or_file(own):
    env = gem_core.make(own, sides=3)
    assert env.reset(seed=0)[0] == "Guess 1 to 3."
    assert env.spec.id == own
    assert check_env(own).findings == []


def test_a_file_is_found_by_any_path_and_its_package_is_kept(here, tmp_path, monkeypatch):
    package = tmp_path / "a folder" / f"package_{here}"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "sides.py").write_text("SIDES = 4\n")
    (package / "dice.py").write_text(DICE.format(sides=".sides"))
    relative = f"a folder/{package.name}/dice.py"
    for path in (relative, f"./{relative}", str(package / "dice.py")):
        env = gem_core.make(f"{path}:DiceEnv")
        assert type(env.unwrapped).__module__ == f"{package.name}.dice"
        assert env.reset(seed=0)[0] == "Guess 1 to 4."
    spec = gem_core.spec(f"{relative}:DiceEnv")
    monkeypatch.chdir("/")
    assert spec.make().sides == 4


def test_commands_play_it(own):
    said = gem("play", own, "--seed", "1", stdin=":random\n:help\n:quit\n").stdout
    assert "Guess 1 to 6." in said
    assert said.count("Type an action") == 1
    assert "boxed" not in said
    assert f"gem-core play {own}" in gem("show", own).stdout
    assert "1 checked, 0 with problems" in gem("check", own).stdout
    done = gem("run", own, "env.sides=2", "episodes=5", "out=run", "--format", "json")
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["environment"], row["episodes"], row["errors"]) == (own, 5, 0)
    assert row["success"] is not None


@pytest.mark.slow
def test_workers_resume_and_replay_play_it(own):
    words = ("run", own, "env.sides=2", "out=run", "executor=processes", "executor.max_workers=1")
    assert gem(*words, "episodes=2").returncode == 0
    assert gem(*words, "episodes=4", "resume=true").returncode == 0
    run = json.loads(Path("run/run.json").read_text())
    assert run["config"]["env"] == {"id": own, "sides": 2}
    said = gem("replay", "run").stdout
    assert "all 4 episodes have the same course" in said


@pytest.mark.slow
def test_several_and_mixtures_may_have_it(own):
    done = gem(
        "eval", f"envs=[game:GuessTheNumber-v0-easy,{{id: {own}, sides: 2}}]", "agent=random",
        "episodes=2", "out=run", "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{own}(sides=2)" in done.stdout
    done = gem("run", f"+env@mixture.a={own}", "mixture.a.sides=2", "episodes=2", "out=mixture")
    assert "mixture:a" in done.stdout


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("DiceEnvv", "has no 'DiceEnvv'. Did you mean 'DiceEnv'"),
        ("NUMBER", "is int, not a class or function"),
        ("Throw", "Throw is not an environment; derive it from gem_core.BaseEnv"),
        ("Half", "Half has no method step"),
        ("broken", "class int, which is not an environment"),
        ("Bare", "class Bare, which is not an environment; derive it from gem_core.BaseEnv"),
    ],
)
def test_what_is_no_environment_is_one_clear_line(here, attribute, message):
    for place in (here, f"./{here}.py"):
        done = gem("play", f"{place}:{attribute}")
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_module_or_file_that_is_not_there_is_said_beside_near_ids(here):
    for env_id, message in (
        ("./nowhere.py:Env", f"There is no file '{Path.cwd()}/nowhere.py'.$"),
        ("nowhere:Env", f"There is no module 'nowhere', neither in '{Path.cwd()}' nor installed"),
        (f"{here}.py", rf"Name the class in the file too: '{here}.py:MyClass'"),
        ("mtah:Sample", "Did you mean 'math:Sample'.* There is no module 'mtah'"),
    ):
        with pytest.raises(UnknownIdError, match=message):
            gem_core.make(env_id)


def test_an_id_is_never_taken_for_a_module(here, tmp_path):
    (tmp_path / "game.py").write_text("raise AssertionError")
    for env_id in ("game:Sudoku", "math:Sampel", "code:interact"):
        with pytest.raises(UnknownIdError, match=r"Did you mean|There are"):
            gem_core.make(env_id)
    assert gem_core.make("game:Sudoku-v0-easy").spec.source


def test_why_a_file_cannot_be_imported_is_told(here, tmp_path):
    (tmp_path / f"{here}_broken.py").write_text("\nx = undefined\n")
    with pytest.raises(EntryPointError, match=rf"NameError: .*\({here}_broken.py, line 2\)"):
        gem_core.make(f"./{here}_broken.py:Env")
    (tmp_path / f"{here}_script.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(EntryPointError, match=rf"SystemExit: 0 \({here}_script.py, line 2\)"):
        gem_core.make(f"./{here}_script.py:Env")
    (tmp_path / "json.py").write_text("")
    with pytest.raises(EntryPointError, match="the name 'json' belongs to another module"):
        gem_core.make("./json.py:Env")
    assert str(tmp_path) == sys.path[-1]


def test_check_prints_what_several_checks_found_once(here):
    done = gem("check", f"./{here}.py:broken")
    assert done.returncode == 1
    assert done.stdout.count("class int") == 1
    assert "construction, types, determinism" in done.stdout


@pytest.mark.parametrize("env_id", ["math:Nowhere-v0", "code:Nowhere-v0"])
def test_a_namespace_of_a_plugin_that_is_not_installed_is_no_module(env_id):
    """There are modules of Python with these names."""
    with pytest.raises(UnknownIdError, match=f"Unknown environment '{env_id}'"):
        Registry().find(ENVS, env_id)


COIN = """
from gem_core import BaseEnv, Step


class CoinEnv(BaseEnv):
    def start(self):
        return "Heads or tails?", {}

    def step(self, action):
        return Step("It was heads.", 0.0, True, False, {})
"""


@pytest.mark.slow
def test_a_run_is_not_continued_and_compared_silently_with_another_environment(tmp_path):
    """The id is the same, the file is another one or has changed."""
    file = tmp_path / "tossed_coin.py"
    file.write_text(COIN)
    words = ["eval", "./tossed_coin.py:CoinEnv", "agent=silent", "out=run"]
    assert gem(*words, "episodes=2", cwd=tmp_path).returncode == 0
    assert gem(*words, "episodes=3", "resume=true", cwd=tmp_path).returncode == 0
    file.write_text(COIN.replace("Heads or tails?", "Tails or heads?"))
    for command in ("eval", "run"):
        done = gem(command, *words[1:], "episodes=4", "resume=true", cwd=tmp_path)
        assert done.returncode == 1
        assert f"{file} was changed" in done.stderr
    assert len(list(Run.open(tmp_path / "run").trajectories())) == 3
    assert gem(*words, "episodes=3", "out=other", cwd=tmp_path).returncode == 0
    compared = gem("compare", "run", "other", cwd=tmp_path)
    assert "./tossed_coin.py:CoinEnv" in compared.stdout + compared.stderr
    assert "changed" in compared.stdout + compared.stderr
