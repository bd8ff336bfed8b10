"""Environments in worker processes: the same episodes, and faults that stay where they are."""

import asyncio
import dataclasses
import os
import time
from typing import Any

import pytest

import gem_core
from gem_core import Action, AsyncEnv, BaseEnv, Env, EnvSpec, Info, Observation, Step
from gem_core.agent import OracleAgent, RandomAgent, SilentAgent
from gem_core.errors import ConfigError, SandboxError, SnapshotError
from gem_core.factory import EnvFactory
from gem_core.faults import boundary
from gem_core.testing import check_env
from gem_rollout import FaultPolicy, collect
from gem_rollout.episodes.processes import in_processes

pytestmark = pytest.mark.timeout(120)


def played(make_env: Any, make_agent: Any, **options: Any) -> dict[int, Any]:
    found = {}
    for one in collect(make_env, make_agent, seed=3, **options):
        assert one.error is None, one.error
        turns = [
            (turn.observation, turn.action, turn.reward, turn.terminated, turn.truncated, turn.info)
            for turn in one.turns
        ]
        found[one.index] = (
            one.env_id,
            one.reset_info,
            turns,
            one.final_observation,
            one.success,
        )
    return found


class Where(BaseEnv):
    """Says in which process it is; does what an action says."""

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return "start", {"process": os.getpid()}

    def step(self, action: Action) -> Step:
        self.turn += 1
        if action == "die":
            os._exit(3)
        if action == "raise":
            raise LookupError("not there")
        if action == "grade":
            with boundary("grader"):
                raise LookupError("no grade")
        if action == "sandbox":
            raise SandboxError("closed")
        if action == "hang":
            time.sleep(3600)
        return Step(str(self.turn), 1.0, self.turn == 2, False, {"process": os.getpid()})


class Slow(AsyncEnv):
    """Waits a little in each call."""

    async def start(self) -> tuple[Observation, Info]:
        await asyncio.sleep(0.001)
        return "start", {}

    async def step(self, action: Action) -> Step:
        await asyncio.sleep(0.001)
        return Step(f"{self.rng.random()}", 1.0, True, False, {})


class Says(SilentAgent):
    """Says one thing in the first episode, and nothing in others."""

    episode = -1

    def __init__(self, what: str) -> None:
        self.what = what
        type(self).episode = -1

    def reset(self, env: Env) -> None:
        type(self).episode += 1

    def act(self, observation: Observation, info: Info) -> Action:
        return self.what if self.episode == 0 else ""


class TestEpisodes:
    @pytest.mark.slow
    @pytest.mark.parametrize("env_id", ["game:Minesweeper-v0-easy", "game:Wordle-v0-easy"])
    @pytest.mark.parametrize("agent", [RandomAgent, OracleAgent])
    def test_episodes_in_a_worker_are_the_same_as_here(self, env_id: str, agent: Any) -> None:
        def make_env() -> Env:
            return gem_core.make(env_id, wrappers=["concat"])

        one = played(make_env, agent, episodes=4, concurrency=3)
        assert played(in_processes(make_env), agent, episodes=4, concurrency=3) == one

    @pytest.mark.parametrize("fork", [False, True])
    def test_groups_in_a_worker_process_are_the_same_as_here(self, *, fork: bool) -> None:
        def make_env() -> Env:
            return gem_core.make("game:GuessTheNumber-v0-easy")

        options = {"episodes": 6, "episodes_per_group": 3, "fork_groups": fork}
        one = played(make_env, RandomAgent, **options)
        assert played(in_processes(make_env), RandomAgent, **options) == one
        assert len({str(turns) for _, _, turns, *_ in one.values()}) > 2

    @pytest.mark.slow
    def test_asynchronous_environments_in_a_worker_process_play_as_here(self) -> None:
        one = played(Slow, SilentAgent, episodes=5)
        two = played(in_processes(Slow), SilentAgent, episodes=5)
        # Without a spec an episode has the name of a class, which is another one.
        assert {index: one[index][1:] for index in one} == {index: two[index][1:] for index in two}

    def test_episodes_are_played_in_another_process(self) -> None:
        for one in collect(in_processes(Where), SilentAgent, episodes=3):
            processes = {one.reset_info["process"], *(turn.info["process"] for turn in one.turns)}
            assert os.getpid() not in processes


class TestFaults:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("what", "expected"),
        [
            ("raise", ("env", "LookupError")),
            ("grade", ("grader", "LookupError")),
            ("sandbox", ("sandbox", "SandboxError")),
            ("die", ("env", "WorkerDiedError")),
            ("hang", ("env", "DeadlineError")),
        ],
    )
    def test_a_worker_fault_ends_one_episode(self, what: str, expected: tuple[str, str]) -> None:
        run = collect(
            in_processes(Where),
            lambda: Says(what),
            episodes=3,
            concurrency=1,
            policy=FaultPolicy(turn_deadline=3.0 if what == "hang" else None),
        )
        first, *others = run
        assert first.error is not None
        assert (first.error["boundary"], first.error["type"]) == expected
        assert all(one.error is None and len(one.turns) == 2 for one in others)

    def test_an_environment_that_cannot_be_pickled_is_an_error(self) -> None:
        class Unsendable:
            def __reduce__(self) -> Any:
                raise TypeError("no")

        thing = Unsendable()
        with pytest.raises(ConfigError, match="must be picklable"):
            in_processes(lambda: [thing, Where()][1])


class TestTheEnvironment:
    def test_an_environment_in_a_worker_process_has_the_attributes_of_the_real_one(self) -> None:
        env = in_processes(lambda: gem_core.make("game:GuessTheNumber-v0-easy"))()
        assert env.spec is not None
        assert env.spec.id == "game:GuessTheNumber-v0-easy"
        with pytest.raises(AttributeError, match="no_such_thing"):
            _ = env.no_such_thing
        with pytest.raises(SnapshotError, match="not a snapshot"):
            env.restore(b"nonsense")

    @pytest.mark.slow
    def test_an_environment_in_a_worker_process_keeps_the_contract(self) -> None:
        def make_env() -> Env:
            return gem_core.make("game:GuessTheNumber-v0-easy")

        guess = make_env().spec
        assert guess is not None
        spec = dataclasses.replace(
            guess, id="test:Elsewhere-v0", entry_point=in_processes(make_env), kwargs={}
        )
        check_env(spec).raise_for_findings()


class Rows(BaseEnv):
    """Shows a row of many, and says what holds them."""

    row_arguments = ("data",)
    shared = ("data",)

    def __init__(self, *, data: Any) -> None:
        super().__init__()
        self.data = data

    def start(self) -> tuple[Observation, Info]:
        return self.rng.choice(self.data)["text"], {"kind": type(self.data).__name__}

    def step(self, action: Action) -> Step:
        return Step("", 1.0, True, False, {})


class Staying(SilentAgent):
    """Acts in this process, so that workers play steps."""

    movable = False


@pytest.mark.slow
@pytest.mark.parametrize("make_agent", [SilentAgent, Staying])
def test_rows_in_memory_reach_the_workers_in_a_file(make_agent: Any) -> None:
    rows = [{"text": f"{number} " * 2_000} for number in range(300)]
    spec = EnvSpec(id="acme:Rows", entry_point=Rows, kwargs={"data": rows})
    shown, kinds = [], []
    for factory in (EnvFactory(spec=spec), in_processes(EnvFactory(spec=spec))):
        run = sorted(collect(factory, make_agent, seed=3, episodes=4), key=lambda one: one.index)
        shown.append([one.turns[0].observation for one in run])
        kinds.append({one.reset_info["kind"] for one in run})
    assert shown[0] == shown[1]
    assert kinds == [{"list"}, {"FiledRows"}]
