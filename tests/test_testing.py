"""The conformance kit finds what it is made to find."""

import random
import subprocess
import sys
import textwrap
from typing import ClassVar

import pytest

from gem_core import AsyncEnv, BaseEnv, BaseTool, EnvSpec, Step, ToolCall, ToolResult
from gem_core.agent import BaseAgent
from gem_core.factory import make_factory
from gem_core.testing import ENV_CHECKS, CheckFailedError, check_env, check_plugin, check_tool


class Coin(BaseEnv):
    """An environment that keeps the contract: call a coin three times."""

    def __init__(self, *, turns: int = 3) -> None:
        self.turns = turns

    def start(self):
        self.turn = 0
        self.sides = [self.rng.choice("ht") for _ in range(self.turns)]
        return "h or t?", {}

    def step(self, action):
        if action not in ("h", "t"):
            return Step("no side", -0.5, True, False, {})
        side = self.sides[self.turn]
        self.turn += 1
        return Step(side, float(action == side), self.turn == self.turns, False, {})

    def sample_random_action(self):
        return self.action_rng.choice("ht")


class Peeker(BaseAgent):
    """Reads the sides from the environment itself."""

    def reset(self, env):
        self.sides = iter(env.sides)

    def act(self, observation, info):
        return next(self.sides)


def report_on(env_class, checks=None, **spec):
    fields = {"return_range": (-0.5, 3.0), "oracle": Peeker, **spec}
    return check_env(
        make_factory(EnvSpec(id="test:Coin", entry_point=env_class, **fields)),
        episodes=10,
        checks=checks,
    )


def findings(env_class, **spec):
    return {finding.check: finding.message for finding in report_on(env_class, **spec).findings}


def test_an_environment_that_keeps_the_contract_has_no_findings():
    report = report_on(Coin)
    assert report.ok, report.findings
    report.raise_for_findings()
    assert report.facts["oracle"] == "3.00"


class AsyncCoin(AsyncEnv):
    def __init__(self, *, turns: int = 3) -> None:
        self.turns = turns

    async def start(self):
        return Coin.start(self)

    async def step(self, action):
        return Coin.step.__wrapped__(self, action)

    def sample_random_action(self):
        return Coin.sample_random_action(self)


@pytest.mark.slow
def test_an_asynchronous_environment_is_checked_in_the_same_way():
    assert report_on(AsyncCoin).ok


class UsesGlobalRandom(Coin):
    def start(self):
        first = super().start()
        self.sides = [random.choice("ht") for _ in range(3)]
        return first


class NeverVaries(Coin):
    def start(self):
        first = super().start()
        self.sides = ["h", "t", "h"]
        return first


class RemembersEpisodes(Coin):
    episodes = 0

    def start(self):
        self.episodes += 1
        return f"episode {self.episodes}", super().start()[1]


class WrongTypes(Coin):
    def step(self, action):
        return super().step(action)._replace(reward="1")


class SamplesFromTheEpisodeStream(Coin):
    def start(self):
        first = super().start()
        self.rng.random()
        return first

    def step(self, action):
        self.sides[self.turn] = self.rng.choice("ht") if action in ("h", "t") else "h"
        return super().step(action)

    def sample_random_action(self):
        return self.rng.choice("ht")


class MalformedRandomActions(Coin):
    def sample_random_action(self):
        return self.action_rng.choice(["h", "t", "heads"])


class ForgetsInSnapshots(Coin):
    shared = ("turn",)


class BreaksOnOddText(Coin):
    def step(self, action):
        int(action or "1") if action not in ("h", "t") else None
        return super().step(action)


class SwallowsArguments(Coin):
    def __init__(self, **anything):
        super().__init__(turns=anything.get("turns", 3))


@pytest.mark.parametrize(
    ("env_class", "check"),
    [
        (UsesGlobalRandom, "randomness"),
        (UsesGlobalRandom, "determinism"),
        (NeverVaries, "variation"),
        (RemembersEpisodes, "determinism"),
        (WrongTypes, "types"),
        (SamplesFromTheEpisodeStream, "randomness"),
        (MalformedRandomActions, "random_agent"),
        (BreaksOnOddText, "odd_actions"),
        (SwallowsArguments, "construction"),
    ],
)
def test_each_fault_is_found_by_its_check(env_class, check):
    assert check in findings(env_class)


class Unsampled(Coin):
    """Samples no actions."""

    sample_random_action = BaseEnv.sample_random_action


class UnsampledAndBad(UsesGlobalRandom):
    """Has three more faults, which the missing method must not hide."""

    sample_random_action = BaseEnv.sample_random_action
    seen: ClassVar[list[str]] = []

    def start(self):
        self.seen.append("episode")
        return super().start()[0], {"seen": len(self.seen)}

    def step(self, action):
        int(action or "0")
        return Step("no", 0.0, True, False, {})


@pytest.mark.parametrize("spec", [{}, {"oracle": None}, {"oracle": None, "examples": ("h", "t")}])
def test_an_environment_that_samples_no_actions_passes_and_one_line_says_so(spec):
    report = report_on(Unsampled, **spec)
    assert report.findings == []
    (line,) = report.unchecked
    assert line.startswith("random_agent: Unsampled has no sample_random_action")


def test_without_sampled_actions_all_other_faults_are_found():
    report = report_on(UnsampledAndBad, oracle=None)
    found = {finding.check for finding in report.findings}
    assert {"determinism", "randomness", "snapshots", "odd_actions", "silent_agent"} <= found
    assert [line.partition(":")[0] for line in report.unchecked] == ["random_agent"]


@pytest.mark.parametrize("actions", [("h", "t"), ()])
def test_examples_are_played_where_no_actions_are_sampled(actions):
    report = report_on(Unsampled, oracle=None, examples=actions, checks=["variation"])
    assert (report.facts["distinct starts of 20"] > 3) == bool(actions)


def test_state_that_forks_share_is_found():
    assert "snapshots" in findings(ForgetsInSnapshots)


def test_a_claim_of_one_start_is_checked_too():
    assert "variation" not in findings(NeverVaries, varies=False)
    assert "variation" in findings(Coin, varies=False)


@pytest.mark.slow
def test_a_wrong_floor_a_wrong_ceiling_and_a_weak_oracle_are_found():
    assert "silent_agent" in findings(Coin, return_range=(-1.0, 3.0))
    assert "oracle" in findings(Coin, return_range=(-0.5, 1.0))
    assert "oracle" in findings(Coin, return_range=(-0.5, 9.0))
    assert "oracle" not in findings(Coin, return_range=(-0.5, 9.0), oracle_return=2.5)


def test_a_broken_entry_point_is_a_finding_and_raises_on_demand():
    spec = EnvSpec(id="test:Gone", entry_point="no_such_module:Env", description="gone")
    report = check_env(spec)
    assert {finding.check for finding in report.findings} == set(ENV_CHECKS) - {"oracle"}
    with pytest.raises(CheckFailedError, match="no_such_module"):
        report.raise_for_findings()


class Upper(BaseTool):
    name = "upper"

    def instructions(self):
        return "Write <upper>text</upper>."

    def parse(self, action):
        start, end = action.find("<upper>"), action.find("</upper>")
        if start < 0 or end < 0:
            return None
        return ToolCall(self.name, {"text": action[start + 7 : end]}, action[: end + 8])

    def run(self, call):
        return ToolResult(call.arguments["text"].upper())


class TakesEverything(Upper):
    def parse(self, action):
        return ToolCall(self.name, {"text": action}, action)


class Fails(Upper):
    def run(self, call):
        return ToolResult("no", ok=False)


class AsyncUpper(Upper):
    async def run(self, call):
        return ToolResult(call.arguments["text"].upper())


@pytest.mark.parametrize("tool", [Upper, AsyncUpper])
def test_a_tool_that_keeps_the_contract_has_no_findings(tool):
    check_tool(tool, calls=["<upper>abc</upper>"]).raise_for_findings()


def test_faults_of_tools_are_found():
    calls = ["<upper>abc</upper>"]
    found = {f.check for f in check_tool(TakesEverything, calls=calls).findings}
    assert {"foreign_actions", "calls"} <= found
    assert {f.check for f in check_tool(Fails, calls=calls).findings} == {"calls"}


@pytest.mark.parametrize("name", ["gem_games", "Gem.Games", "gem-games"])
def test_a_plugin_may_be_named_by_its_distribution(name):
    assert check_plugin(name).subject.startswith("gem-games ")


def test_an_unknown_plugin_gets_near_names():
    with pytest.raises(Exception, match="Did you mean 'gem-games'"):
        check_plugin("gem-game")


@pytest.mark.slow
def test_what_needs_a_missing_package_of_an_extra_is_unchecked_not_wrong(tmp_path, run_python):
    files = {
        "needy_plugin.py": """
            from gem_core import ToolSpec, hookimpl

            @hookimpl
            def gem_register(registry):
                for name in ("optional", "undeclared"):
                    where = f"needy_{name}:Tool"
                    registry.add(ToolSpec(id=name, entry_point=where, description="A tool"))
            """,
        "needy_optional.py": "import absent_package.part",
        "needy_undeclared.py": "import absent_package_too",
        "needy-1.0.dist-info/entry_points.txt": "[gem]\nneedy = needy_plugin\n",
        "needy-1.0.dist-info/RECORD": "needy_optional.py,,\nneedy_undeclared.py,,\n",
        "needy-1.0.dist-info/METADATA": """\
            Metadata-Version: 2.4
            Name: needy
            Version: 1.0
            Provides-Extra: fancy
            Requires-Dist: absent_package[part]>=2; extra == "fancy"
            Requires-Dist: absent_package_too
            """,
    }
    (tmp_path / "needy-1.0.dist-info").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    code = """
from gem_core.testing import check_plugin
report = check_plugin("needy")
print(report.unchecked)
print([finding.check for finding in report.findings])
"""
    unchecked, findings = run_python(code, PYTHONPATH=str(tmp_path)).splitlines()
    assert "tool optional" in unchecked
    assert "needs absent_package (not installed). Run: pip install 'needy[fancy]'" in unchecked
    assert "undeclared" not in unchecked
    assert findings == "['tool undeclared']"


@pytest.mark.slow
def test_the_pytest_plugin_gives_each_check_a_test_of_its_own(tmp_path):
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent(
            """
            import pytest

            @pytest.mark.gem("game:GuessTheNumber-v0-easy", episodes=3)
            def test_contract(gem_check):
                gem_check()
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", tmp_path],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert f"{len(ENV_CHECKS)} passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_pytest_plugin_costs_other_test_runs_nothing():
    code = """
import sys, gem_core.pytest_plugin
print(sorted(name for name in sys.modules if "gem_" in name))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['gem_core', 'gem_core.lazy', 'gem_core.pytest_plugin']"
