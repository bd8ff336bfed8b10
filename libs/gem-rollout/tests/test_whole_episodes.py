"""Whole episodes in worker processes: equal episodes, deadlines, what may move and what may not."""

import asyncio
import dataclasses
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import cloudpickle
import pytest

from gem_core import Action, AsyncEnv, BaseEnv, EnvSpec, Info, Observation, Step
from gem_core.agent import BaseAgent, OracleAgent, RandomAgent, ScriptedAgent, SilentAgent
from gem_core.errors import ConfigError
from gem_core.factory import make_factory
from gem_core.plugins import default_registry
from gem_core.specs import AGENTS
from gem_rollout import Component, FaultPolicy, collect
from gem_rollout.episodes.processes import in_processes
from gem_workers import WorkerPool

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]
# Worker processes get these classes by value: they need not find this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(preload=["gem_rollout.episodes.whole_episodes"], max_workers=2) as made:
        yield made


class Acts(BaseEnv):
    """Does what an action says, and says in which process it is."""

    task_count = 7

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"{self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        if action == "hang":
            time.sleep(3600)
        if action == "raise":
            raise LookupError("not there")
        if action == "die":
            os._exit(3)
        return Step(f"{self.rng.random()}", 1.0, self.turn == 3, False, {"process": os.getpid()})


class Slow(AsyncEnv):
    """Waits in each call."""

    async def start(self) -> tuple[Observation, Info]:
        await asyncio.sleep(0.001)
        return "start", {}

    async def step(self, action: Action) -> Step:
        await asyncio.sleep(0.001)
        return Step(f"{self.rng.random()}", 1.0, True, False, {})


class Broken(Acts):
    """Cannot be made."""

    def __init__(self) -> None:
        raise LookupError("no data")


class Waits(BaseAgent):
    """Waits for a model that is only here."""

    def act(self, observation: Observation, info: Info) -> Action:
        return ""


class Movable(Waits):
    """Says that it may be copied."""

    movable = True


def played(make_env: Any, make_agent: Any, **options: Any) -> dict[int, Any]:
    """Return the episodes of a run without their times."""
    found = {}
    for one in collect(make_env, make_agent, seed=3, **options):
        fields = dataclasses.asdict(one)
        del fields["setup_seconds"], fields["started_at"]
        for turn in fields["turns"]:
            turn["info"].pop("process", None)
            for name in [name for name in turn if name.endswith("_seconds")]:
                del turn[name]
        found[one.index] = fields
    return found


@pytest.mark.parametrize(
    ("make_env", "make_agent"),
    [
        (make_factory("game:GuessTheNumber-v0-easy"), RandomAgent),
        (make_factory("game:GuessTheNumber-v0-easy"), OracleAgent),
        (Slow, SilentAgent),
    ],
)
def test_whole_episodes_in_a_worker_are_those_of_this_process(
    pool: WorkerPool, make_env: Any, make_agent: Any
) -> None:
    """Every field is equal except the times, also in groups and mixtures."""
    there = in_processes(make_env, pool=pool)
    options = {"episodes": 12, "episodes_per_group": 3}
    assert played(there, make_agent, **options) == played(make_env, make_agent, **options)
    mixtures: list[Any] = [
        {name: Component(one) for name, one in (("a", two), ("b", make_env))}
        for two in (make_env, there)
    ]
    assert played(mixtures[0], make_agent, episodes=8) == played(
        mixtures[1], make_agent, episodes=8
    )


def test_an_episode_that_fails_is_recorded_and_the_next_one_goes_on(pool: WorkerPool) -> None:
    """An error, a death and a deadline end one episode each."""
    make_env = in_processes(Acts, pool=pool)
    policy = FaultPolicy(turn_deadline=3.0)
    for action, error, turns in (("raise", "LookupError", 1), ("hang", "DeadlineError", 1)):
        agent = partial(ScriptedAgent, ["", action])
        found = played(make_env, agent, episodes=1, policy=policy)
        assert (found[0]["error"]["type"], len(found[0]["turns"])) == (error, turns)
    run = collect(make_env, partial(ScriptedAgent, ["die"]), episodes=1)
    assert [one.error["type"] for one in run if one.error] == ["WorkerDiedError"]
    run = collect(make_env, SilentAgent, episodes=4)
    assert [one.error for one in run] == [None] * 4
    assert run.report.task_counts == {"Acts": 7}


def test_a_deadline_of_the_episode_holds_in_a_worker(pool: WorkerPool) -> None:
    """The report counts it as late."""
    make_env = in_processes(Acts, pool=pool)
    policy = FaultPolicy(episode_deadline=0.5)
    run = collect(make_env, partial(ScriptedAgent, ["hang"]), episodes=1, policy=policy)
    (one,) = run
    assert one.error is not None
    assert one.error["type"] == "DeadlineError"
    assert run.report.env("Acts").stragglers == 1


def test_a_retry_has_a_new_environment(pool: WorkerPool) -> None:
    """The trajectory has the errors of the attempts."""
    policy = FaultPolicy(on_error="retry", retries=1)
    make_env = in_processes(Acts, pool=pool)
    (one,) = collect(make_env, partial(ScriptedAgent, ["raise"]), episodes=1, policy=policy)
    assert (one.attempts, len(one.failures)) == (2, 1)


def test_an_environment_that_cannot_be_made_in_a_worker_ends_the_run(pool: WorkerPool) -> None:
    """The first failure is a mistake in the configuration."""
    with pytest.raises(LookupError, match="no data"):
        list(collect(in_processes(Broken, pool=pool), SilentAgent, episodes=1))


def test_a_movable_agent_that_cannot_be_sent_is_an_error(pool: WorkerPool) -> None:
    """Its arguments cannot be pickled."""
    agent = partial(ScriptedAgent, [threading.Lock()])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="movable must be picklable"):
        list(collect(in_processes(Acts, pool=pool), agent, episodes=1))


def test_an_agent_moves_only_if_its_class_says_so(pool: WorkerPool) -> None:
    """A model, a person and most agents of users stay where they are."""
    find = default_registry().find
    here: Any = in_processes(Acts, pool=pool)
    for agent in (RandomAgent, Movable, partial(Movable), find(AGENTS, "oracle").make):
        assert here.whole_episodes(agent) is not None
    for agent in (Waits, lambda: Movable(), find(AGENTS, "human").make):  # noqa: PLW0108
        assert here.whole_episodes(agent) is None


def test_the_factory_keeps_its_spec() -> None:
    """Commands read the id from it."""
    spec = EnvSpec(id="test:Acts", entry_point=Acts)
    assert in_processes(make_factory(spec)).spec == spec
    assert in_processes(Acts).spec is None
