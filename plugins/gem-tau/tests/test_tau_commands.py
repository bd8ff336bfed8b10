"""``gem-core tau check`` and ``gem-core tau users``, on a library that lends books."""

import json
import signal

import pytest
from click.testing import CliRunner
from tau_toy import lending_task

from gem_core import AgentSpec, EnvSpec
from gem_core.env import BaseEnv, Step
from gem_core.plugins import default_registry
from gem_rollout.records.runs import Run
from gem_tau.env import make_dialogue
from gem_tau.outcomes import Outcome
from gem_tau.sources import DrawnTasks, ListedTasks
from gem_tau.users import ScriptedUser

FAIR = lending_task()
FREE = lending_task(id="say-nothing", actions=(), communicate=())
SOURCES = {
    "fair": ListedTasks([FAIR, lending_task(id="lend-again")]),
    "free": ListedTasks([FAIR, FREE]),
    "all-free": ListedTasks(
        [lending_task(id=f"free-{n}", actions=(), communicate=()) for n in range(9)]
    ),
    "judged": ListedTasks([lending_task(id="judged", nl_assertions=("It is polite.",))]),
    "endless": DrawnTasks(lambda seed: lending_task(id=f"drawn-{seed}")),
}


def make_library(
    *,
    tasks="fair",
    user="scripted",
    seat="assistant",
    max_turns=30,
    reward_basis=None,
    judge=None,
    exclude_free=False,
):
    return make_dialogue(
        tasks=SOURCES[tasks],
        user=user,
        seat=seat,
        max_turns=max_turns,
        reward_basis=reward_basis,
        judge=judge,
        exclude_free=exclude_free,
    )


class ClosedLibrary(BaseEnv):
    """An environment without a dialogue."""

    def start(self):
        return "It is closed."

    def step(self, action):
        return Step("It is closed.", 0.0, True, False, {})


class LeavingUser(ScriptedUser):
    """Ends every second dialogue instead of agreeing."""

    episodes = 0

    def reset(self, env):
        self.episodes += 1
        super().reset(env)

    def act(self, observation, info):
        said = super().act(observation, info)
        leaves = "go ahead" in said and self.episodes % 2
        return "I changed my mind. ###STOP###" if leaves else said


class BrokenUser(ScriptedUser):
    def act(self, observation, info):
        raise ConnectionError("the endpoint is away")


class InterruptingUser(ScriptedUser):
    """Presses Ctrl-C in the third episode."""

    episodes = 0

    def reset(self, env):
        InterruptingUser.episodes += 1
        super().reset(env)

    def act(self, observation, info):
        if InterruptingUser.episodes == 3:
            signal.raise_signal(signal.SIGINT)
        return super().act(observation, info)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["gem-core"])


@pytest.fixture(autouse=True, scope="module")
def _library():
    registry = default_registry()
    registry.add(EnvSpec(id="library:Books", entry_point=make_library))
    registry.add(EnvSpec(id="library:Closed", entry_point=ClosedLibrary))
    for name, user in {
        "leaving-user": LeavingUser,
        "broken-user": BrokenUser,
        "interrupting-user": InterruptingUser,
    }.items():
        registry.add(AgentSpec(id=name, entry_point=user))


def run(*words):
    from gem_tau.commands import command

    result = CliRunner().invoke(command, list(words), standalone_mode=False)
    result.exit_code = result.exit_code or result.return_value
    return result


def as_json(*words):
    result = run(*words, "--format", "json")
    assert result.stdout, result.output
    return result.exit_code, json.loads(result.stdout)


def envs(*changes):
    """Return the key ``envs`` for the library with other parameters, as they are in YAML."""
    items = [", ".join(filter(None, ["id: 'library:Books'", each])) for each in changes]
    return f"envs=[{', '.join(f'{{{item}}}' for item in items)}]"


JUDGED = (
    "tasks: judged, judge: {id: scripted, actions: ['[{\"true\": true}]']}, reward_basis: [db, nl]"
)


@pytest.mark.slow
class TestCheck:
    def test_tasks_that_are_fair_or_that_a_judge_decides_pass(self):
        chosen = envs("", "tasks: free, exclude_free: true", JUDGED)
        status, (fair, without_free, judged) = as_json("check", chosen)
        assert status == 0
        assert {**fair, "environment": ""} == {
            "environment": "",
            "ok": True,
            "tasks": 2,
            "played": 2,
            "free": [],
            "undecided": [],
            "oracle_failures": [],
        }
        assert without_free["tasks"] == 1
        assert (judged["undecided"], judged["ok"]) == (["judged"], True)

    def test_unfair_tasks_are_named_in_their_order_with_the_reasons(self):
        chosen = envs("", "tasks: free", "tasks: all-free", "max_turns: 4")
        status, found = as_json("check", chosen)
        reports = {report["environment"].partition("(")[2]: report for report in found}
        assert status == 1
        assert [name for name, report in reports.items() if report["ok"]] == [""]
        everyone = ["silent", "goodbye", "transfer"]
        assert reports["tasks=free)"]["free"] == [{"task": "say-nothing", "agents": everyone}]
        assert [one["task"] for one in reports["tasks=all-free)"]["free"]] == [
            f"free-{n}" for n in range(9)
        ]
        first = reports["max_turns=4)"]["oracle_failures"][0]
        assert first["state"] == "failed"
        assert first["reason"] == "the dialogue reached max_turns"

    def test_unfair_tasks_are_printed_with_the_reasons(self):
        printed = run("check", envs("tasks: free", "max_turns: 4"))
        assert printed.exit_code == 1
        assert "say-nothing: pays silent, goodbye, transfer" in printed.output
        assert "oracle failed (ended by max_turns)" in printed.output
        assert "0 of 2" in printed.output

    def test_200_tasks_of_an_endless_source_are_checked_unless_another_number_is_given(self):
        words = ["check", "library:Books", "env.tasks=endless", "env.max_turns=1"]
        assert as_json(*words, "episodes=7")[1][0]["played"] == 7
        assert as_json(*words)[1][0]["tasks"] == 200

    def test_another_environment_is_refused(self):
        result = run("check", "library:Closed")
        assert "library:Closed is not a dialogue" in result.output
        result = run("check", "library:Books", "env.seat=user")
        assert "leave out env.seat=user" in result.output

    def test_ctrl_c_prints_what_was_found(self):
        InterruptingUser.episodes = 0
        words = ["env.tasks=endless", "env.user=interrupting-user", "concurrency=1"]
        result = run("check", "library:Books", *words, "episodes=9")
        assert result.exit_code == 130
        assert "2 of 2" in result.output
        assert "Interrupted: the oracle did not play 7 tasks." in result.output


@pytest.mark.slow
class TestUsers:
    def test_the_scripted_user_never_fails_and_its_dialogues_are_kept(self):
        status, found = as_json("users", "library:Books", "samples=3", "out=kept")
        (figures,) = found["environments"]
        assert status == 0
        assert (figures["episodes"], figures["failed_by_user"], figures["faults"]) == (6, 0, 0)
        assert figures["share_failed_by_user"] == 0.0
        assert [figures["pass_all"][k]["value"] for k in "123"] == [1.0, 1.0, 1.0]
        assert figures["ended_by"] == {"user: stop": 6}
        kept = list(Run.open(found["run"]).trajectories())
        assert [trajectory.success for trajectory in kept] == [True] * 6
        again = run("users", "library:Books", "out=kept")
        assert again.exit_code == 1
        assert "kept" in again.output

    def test_a_user_that_leaves_is_blamed_with_its_last_message(self):
        words = ["users", "library:Books", "user=leaving-user", "concurrency=1", "samples=2"]
        status, found = as_json(*words)
        (figures,) = found["environments"]
        assert status == 0
        assert figures["failed_by_user"] == 2
        assert figures["share_failed_by_user"] == 0.5
        assert figures["pass_all"]["1"]["value"] == 0.5
        assert figures["pass_all"]["2"]["value"] == 0.0
        assert "I changed my mind." in figures["failures"][0]["last_message"]
        printed = run(*words, "out=other")
        assert "2 (50.0%)" in printed.output
        assert "books/b1/copies is 2 instead of 1" in printed.output

    def test_errors_are_faults_and_not_the_users_failures(self):
        status, found = as_json("users", "library:Books", "user=broken-user")
        (figures,) = found["environments"]
        assert status == 1
        assert (figures["faults"], figures["failed_by_user"]) == (2, 0)
        assert figures["pass_all"]["1"] is None
        assert figures["fault_list"][0]["reason"] == (
            "agent (ConnectionError): the endpoint is away"
        )

    def test_a_user_may_have_parameters(self):
        words = ["user=replay", "user.messages=['Ash, please.', 'No.']"]
        _, found = as_json("users", "library:Books", *words)
        assert found["environments"][0]["failed_by_user"] == 2
        whole = "user={id: replay, messages: ['Ash, please.', 'No.']}"
        assert as_json("users", "library:Books", whole)[1]["environments"] == found["environments"]

    def test_ctrl_c_keeps_what_was_played(self):
        InterruptingUser.episodes = 0
        words = ["env.tasks=endless", "user=interrupting-user", "concurrency=1", "out=kept"]
        result = run("users", "library:Books", *words)
        assert result.exit_code == 130
        assert len(list(Run.open("kept").trajectories())) == 2

    def test_unknown_users_are_refused_with_near_names(self):
        result = run("users", "library:Books", "user=scriptd")
        assert result.exit_code == 1
        assert "scripted" in result.output


def tally(size, *outcomes):
    """Return the tally of episodes, each given by its group, its number and its state."""
    from gem_tau.users_command import Tally

    found = [Outcome(f"task-{one[0]}", *one[:2], 0, one[2], "", "", "") for one in outcomes]
    return Tally("x", size, found)


class TestPassAll:
    @pytest.mark.slow
    def test_it_is_the_share_of_subsets_of_k_episodes_that_all_succeed(self):
        states = {0: ["paid", "paid", "failed"], 1: ["paid", "paid", "paid"]}
        found = tally(6, *((g, s, states[g][s]) for g in states for s in range(3)))
        assert found.pass_all(2)["value"] == pytest.approx((1 / 3 + 1) / 2)
        assert found.pass_all(3)["value"] == 0.5

    def test_faults_are_left_out(self):
        found = tally(3, (0, 0, "paid"), (0, 1, "fault"), (1, 0, "fault"))
        assert found.pass_all(1) == {
            "value": 1.0,
            "low": found.pass_all(1)["low"],
            "high": 1.0,
            "tasks": 1,
        }
        assert found.pass_all(2) is None
