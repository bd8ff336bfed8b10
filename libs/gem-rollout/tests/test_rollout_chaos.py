"""However a run is set up, and whatever goes wrong: episodes are counted, and all is closed."""

import asyncio
import itertools
import random
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core import Action, AsyncEnv, BaseAgent, BaseEnv, Env, Info, Observation, Step
from gem_core.agent import Generation, Reply
from gem_rollout import Budget, Component, FaultPolicy, Trajectory, collect

pytestmark = pytest.mark.timeout(120)


class Chance:
    """Lets things fail, and counts what is made and closed."""

    def __init__(self, seed: int, faults: float) -> None:
        self.rng = random.Random(seed)
        self.faults = faults
        self.alive: Counter[int] = Counter()
        self.ids = itertools.count()

    def fault(self) -> None:
        if self.rng.random() < self.faults:
            raise self.rng.choice([ValueError, OSError, KeyError, SystemExit])("chance")

    def born(self) -> int:
        number = next(self.ids)
        self.alive[number] += 1
        return number


class Chaotic(BaseEnv):
    shared = ("chance",)

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.number = chance.born()

    def start(self) -> tuple[Observation, Info]:
        self.chance.fault()
        self.turn = 0
        return "start", {}

    def step(self, action: Action) -> Step:
        self.chance.fault()
        self.turn += 1
        return Step("", 1.0, self.turn == 3, False, {})

    def fork(self) -> "Chaotic":
        self.chance.fault()
        twin = super().fork()
        twin.number = self.chance.born()
        return twin

    def close(self) -> None:
        self.chance.alive[self.number] -= 1


class Blocking(Chaotic):
    blocking = True


class Async(AsyncEnv, Chaotic):
    async def start(self) -> tuple[Observation, Info]:  # type: ignore[override]
        await asyncio.sleep(0)
        return Chaotic.start(self)

    async def step(self, action: Action) -> Step:  # type: ignore[override]
        if self.chance.rng.random() < self.chance.faults / 4:
            await asyncio.Event().wait()
        step: Step = Chaotic.step.__wrapped__(self, action)  # type: ignore[attr-defined]
        return step

    fork = Chaotic.fork  # type: ignore[assignment]
    close = Chaotic.close


class Player(BaseAgent):
    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.number = chance.born()

    def reset(self, env: Env) -> None:
        self.chance.fault()

    async def act(self, observation: Observation, info: Info) -> Reply:
        for _ in range(self.chance.rng.randrange(3)):
            await asyncio.sleep(0)
        self.chance.fault()
        return Reply("a", Generation(prompt_tokens=2, completion_tokens=1, cost=0.1))

    def close(self) -> None:
        self.chance.alive[self.number] -= 1


def check_each(found: list[Trajectory], on_error: str) -> None:
    for one in found:
        assert (one.error is None) == (len(one.turns) == 3 and one.turns[-1].terminated)
        assert one.attempts == len(one.failures) + 1
        if one.error is not None:
            assert one.error["boundary"] in {"env", "agent"}
            if on_error == "retry":
                assert one.attempts == 3


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 20)
@given(
    seed=st.integers(0, 10**6),
    faults=st.sampled_from([0.0, 0.02, 0.1, 0.4]),
    kinds=st.lists(st.sampled_from([Chaotic, Blocking, Async]), min_size=1, max_size=3),
    samples=st.integers(1, 4),
    fork=st.booleans(),
    concurrency=st.integers(1, 12),
    on_error=st.sampled_from(["record", "retry", "raise"]),
    leave_after=st.none() | st.integers(0, 30),
    turns=st.none() | st.integers(0, 100),
)
def test_every_episode_is_accounted_for_and_everything_is_closed(
    seed: int,
    faults: float,
    kinds: list[type[Chaotic]],
    samples: int,
    concurrency: int,
    on_error: Any,
    leave_after: int | None,
    turns: int | None,
    *,
    fork: bool,
) -> None:
    chance = Chance(seed, faults)
    policy = FaultPolicy(on_error=on_error, turn_deadline=0.05, min_group=1)
    sources = [
        Component(lambda kind=kind: kind(chance), name=f"{number}")  # type: ignore[misc]
        for number, kind in enumerate(kinds)
    ]
    found: list[Any] = []

    async def main() -> Any:
        run = collect(
            sources,
            lambda: Player(chance),
            episodes=40,
            episodes_per_group=samples,
            fork_groups=fork,
            concurrency=concurrency,
            policy=policy,
            budget=Budget(turns=turns),
        )
        try:
            async for trajectory in run:
                found.append(trajectory)
                if len(found) == leave_after:
                    break
        except (ValueError, OSError, KeyError, SystemExit, TimeoutError):
            assert on_error == "raise"
            assert found[-1].error is not None or any(one.error for one in found)
        finally:
            await run.aclose()
        return run.report

    report = asyncio.run(main())
    total = report.total
    assert report.in_flight == 0
    numbers = [one.index for one in found]
    assert len(set(numbers)) == len(numbers)
    assert report.begun == total.episodes + total.cancelled
    if report.ended_by == "done":
        assert sorted(numbers) == list(range(40))
    if leave_after is None or len(found) < leave_after:
        assert total.episodes == len(found)
        assert sum(total.errors.values()) == sum(one.error is not None for one in found)
        assert total.retries == sum(len(one.failures) for one in found)
        assert total.cancelled == 0 or on_error == "raise"
    assert total.tokens <= total.turns * 3
    check_each(found, on_error)
    # Whatever was made or forked was closed, once; what was left behind in a thread, by that.
    for thread in threading.enumerate():
        if thread.name.startswith("gem-rollout"):
            thread.join()
    assert set(chance.alive.values()) <= {0}
