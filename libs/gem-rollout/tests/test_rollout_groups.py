"""Groups from one start state, and mixtures of environments."""

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import Action, AsyncEnv, BaseAgent, BaseEnv, Env, Info, Observation, Step
from gem_core.agent import RandomAgent, SilentAgent
from gem_core.errors import ConfigError
from gem_core.mixture import MixtureEnv
from gem_core.seeding import child_seed
from gem_rollout import Component, FaultPolicy, Report, Trajectory, collect
from gem_tasks.env import Grade, TaskEnv


class Dice(BaseEnv):
    """Shows a number and ends after three throws; what it shows hangs on nothing but its seed."""

    resets = forks = closed = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.resets = cls.forks = cls.closed = 0

    def start(self) -> tuple[Observation, Info]:
        type(self).resets += 1
        self.turn = 0
        return f"start {self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(f"{action} {self.rng.random()}", 1.0, self.turn == 3, False, {})

    def sample_random_action(self) -> Action:
        return str(self.action_rng.randrange(1000))

    def fork(self) -> "Dice":
        type(self).forks += 1
        return super().fork()

    def close(self) -> None:
        type(self).closed += 1


class BlockingDice(Dice):
    blocking = True


class Clock(Dice):
    """Two resets with the same seed are not alike: only a fork gives the same start."""

    ticks = itertools.count()

    def start(self) -> tuple[Observation, Info]:
        super().start()
        self.tick = next(self.ticks)
        return f"tick {self.tick}", {"tick": self.tick}

    def step(self, action: Action) -> Step:
        step: Step = super().step(action)
        return step._replace(observation=f"tick {self.tick}")


class AsyncDice(AsyncEnv, Dice):
    async def start(self) -> tuple[Observation, Info]:  # type: ignore[override]
        await asyncio.sleep(0)
        return Dice.start(self)

    async def step(self, action: Action) -> Step:  # type: ignore[override]
        await asyncio.sleep(0)
        step: Step = Dice.step.__wrapped__(self, action)  # type: ignore[attr-defined]
        return step

    fork = Dice.fork  # type: ignore[assignment]
    close = Dice.close
    sample_random_action = Dice.sample_random_action


KINDS = [Dice, BlockingDice, AsyncDice]


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    for kind in (*KINDS, Clock):
        kind.resets = kind.forks = kind.closed = 0


class Slow(BaseAgent):
    """Plays random actions, some later than others."""

    def reset(self, env: Env) -> None:
        self.env = env
        self.waits = iter([0, 2, 1, 0, 3])

    async def act(self, observation: Observation, info: Info) -> Action:
        for _ in range(next(self.waits)):
            await asyncio.sleep(0)
        return self.env.sample_random_action()


class TestAGroup:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("fork", [False, True])
    @pytest.mark.parametrize(("agent", "concurrency"), [(RandomAgent, 1), (Slow, 5)])
    def test_the_episodes_of_a_group_begin_alike_and_then_follow_their_actions(
        self, kind: type[Dice], agent: type[BaseAgent], concurrency: int, *, fork: bool
    ) -> None:
        run = collect(
            kind,
            agent,
            episodes=24,
            episodes_per_group=4,
            fork_groups=fork,
            concurrency=concurrency,
            seed=5,
        )
        groups: dict[int, list[Trajectory]] = defaultdict(list)
        for one in run:
            assert one.error is None
            assert (one.group, one.sample) == divmod(one.index, 4)
            assert one.seed == child_seed(5, one.group)
            groups[one.group].append(one)
        for group in groups.values():
            assert sorted(one.sample for one in group) == [0, 1, 2, 3]
            assert len({one.turns[0].observation for one in group}) == 1
            # The same throws for all, and other actions for each.
            throws = {tuple(t.observation.split()[1] for t in one.turns[1:]) for one in group}
            assert len(throws) == 1
            assert len({one.turns[0].action for one in group}) > 1
        assert len({group[0].turns[0].observation for group in groups.values()}) == 6
        assert kind.resets == (6 if fork else 24)
        if fork:
            assert kind.forks == 6 * 4
        assert kind.closed >= kind.forks

    def test_a_group_has_the_same_random_actions_in_every_run(self) -> None:
        def play(concurrency: int) -> dict[int, list[Action]]:
            run = collect(Dice, Slow, episodes=12, episodes_per_group=3, concurrency=concurrency)
            return {one.index: [turn.action for turn in one.turns] for one in run}

        assert play(1) == play(7)

    def test_forks_begin_alike_where_a_seed_is_not_enough(self) -> None:
        run = collect(
            Clock, Slow, episodes=12, episodes_per_group=4, fork_groups=True, concurrency=5
        )
        starts = defaultdict(set)
        for one in run:
            starts[one.group].add(one.reset_info["tick"])
            assert {turn.observation for turn in one.turns} == {f"tick {one.reset_info['tick']}"}
        assert [len(ticks) for ticks in starts.values()] == [1, 1, 1]
        assert Clock.resets == 3

    def test_a_group_of_forks_is_provisioned_once(self) -> None:
        made: list[Dice] = []

        def make_env() -> Dice:
            made.append(Dice())
            return made[-1]

        run = collect(make_env, RandomAgent, episodes=8, episodes_per_group=8, fork_groups=True)
        found = {one.sample: one.setup_seconds for one in run}
        assert len(made) == Dice.resets == 1
        assert min(found.values()) > 0

    def test_a_group_can_be_completed_later(self) -> None:
        def play(numbers: Any) -> dict[int, Any]:
            run = collect(
                Dice, Slow, episodes=numbers, episodes_per_group=4, fork_groups=True, seed=2
            )
            return {one.index: [turn.action for turn in one.turns] for one in run}

        whole = play(8)
        assert {**play([0, 1, 6]), **play([7, 5, 2, 3, 4])} == whole
        assert Dice.closed >= Dice.forks

    def test_a_group_of_forks_begins_with_the_first_reset_that_succeeds(self) -> None:
        class Fails(Dice):
            def start(self) -> tuple[Observation, Info]:
                first = super().start()
                if type(self).resets == 1:
                    raise OSError("not now")
                return first

        run = collect(Fails, RandomAgent, episodes=4, episodes_per_group=4, fork_groups=True)
        errors = {one.index: one.error for one in run}
        assert [errors[index] is None for index in range(4)] == [False, True, True, True]
        assert Fails.resets == 2

    def test_a_group_of_forks_records_that_its_environment_cannot_be_forked(self) -> None:
        class Unforkable(Dice):
            def fork(self) -> Dice:
                raise gem_core.GemError("there is only one")

        run = collect(Unforkable, RandomAgent, episodes=2, episodes_per_group=2, fork_groups=True)
        for one in run:
            assert one.error is not None
            assert (one.error["boundary"], one.error["message"]) == ("env", "there is only one")
        assert Unforkable.closed == 2

    def test_a_retry_in_a_group_of_forks_begins_at_the_start_state(self) -> None:
        numbers = itertools.count()

        class Flaky(RandomAgent):
            def act(self, observation: Observation, info: Info) -> Action:
                if next(numbers) in {1, 4}:
                    raise ConnectionError("lost")
                return super().act(observation, info)

        run = collect(
            Clock,
            Flaky,
            episodes=4,
            episodes_per_group=4,
            fork_groups=True,
            policy=FaultPolicy(on_error="retry"),
        )
        found = list(run)
        assert all(one.error is None for one in found)
        assert sum(one.attempts for one in found) == 6
        assert len({one.reset_info["tick"] for one in found}) == 1

    @pytest.mark.parametrize(("least", "dropped"), [(None, 0), (1, 1), (2, 2), (3, 2), (4, 3)])
    def test_a_group_with_too_few_good_episodes_is_counted_and_kept(
        self, least: int | None, dropped: int
    ) -> None:
        bad = {0, 1, 2, 3, 4, 6, 7, 11}  # 0 good ones of the first group, then 1, 3 and 4

        class Fails(BaseAgent):
            def reset(self, env: Env) -> None:
                self.fails = next(numbers) in bad

            def act(self, observation: Observation, info: Info) -> Action:
                if self.fails:
                    raise ConnectionError("lost")
                return "a"

        numbers = itertools.count()
        policy = FaultPolicy(min_group=least)
        run = collect(Dice, Fails, episodes=16, episodes_per_group=4, policy=policy)
        assert sum(one.error is not None for one in run) == len(bad)
        assert run.report.total.dropped_groups == dropped


class Other(Dice):
    """Another game."""


class Rows(TaskEnv):
    """Tasks in their own order."""

    def __init__(self) -> None:
        rows = [{"text": f"row {number}"} for number in range(50)]
        super().__init__(columns={"text": str}, data=rows, shuffle=False)

    def question(self, row: dict[str, Any]) -> Observation:
        return str(row["text"])

    def grade(self, action: str) -> Grade:
        return Grade(0.0, correct=False)

    def solution(self) -> str:
        return ""


SOURCES = [
    Component(Dice, 3.0, "dice"),
    Component(Other, 1.0, "other"),
    Component(AsyncDice, 0.0, "no"),
]


def components_of(run: Any) -> dict[int, str]:
    return {one.index: one.component for one in run}


class TestAMixture:
    @pytest.mark.slow
    @settings(max_examples=50 if thorough() else 8)
    @given(
        seed=st.integers(0, 999),
        concurrency=st.integers(1, 6),
        samples=st.integers(1, 3),
        shuffle=st.randoms(use_true_random=False),
    )
    def test_a_mixture_is_the_same_for_the_same_seed_in_any_order_at_any_concurrency(
        self, seed: int, concurrency: int, samples: int, shuffle: random.Random
    ) -> None:
        numbers = list(range(30))
        whole = components_of(
            collect(SOURCES, Slow, episodes=30, seed=seed, episodes_per_group=samples)
        )
        shuffle.shuffle(numbers)
        parts = components_of(
            collect(
                SOURCES,
                Slow,
                episodes=numbers,
                seed=seed,
                concurrency=concurrency,
                episodes_per_group=samples,
            )
        )
        assert parts == whole
        assert {whole[n] for n in numbers} <= {"dice", "other"}
        for number in numbers:
            assert whole[number] == whole[number - number % samples]

    @pytest.mark.slow
    def test_a_mixture_has_the_shares_of_its_weights(self) -> None:
        run = collect(SOURCES, SilentAgent, episodes=1000, seed=1)
        counts = Counter(components_of(run).values())
        assert 700 < counts["dice"] < 800
        assert {name: env.episodes for name, env in run.report.envs.items()} == counts

    def test_a_mixture_names_its_components_by_keys_ids_or_numbers(self) -> None:
        named = {"a": Component(Dice), "b": Component(Other)}
        assert set(components_of(collect(named, SilentAgent, episodes=40)).values()) == {"a", "b"}
        unnamed = [Component(Dice), Component(Other)]
        found = set(components_of(collect(unnamed, SilentAgent, episodes=40)).values())
        assert found == {"component-0", "component-1"}

    def test_a_component_of_a_mixture_begins_with_its_first_rows(self) -> None:
        components = {"rows": Component(Rows), "dice": Component(Dice)}
        run = collect(components, SilentAgent, episodes=60, concurrency=3)
        asked = [one.turns[0].observation for one in run if one.component == "rows"]
        assert sorted(asked) == sorted(f"row {number}" for number in range(len(asked)))

    @pytest.mark.parametrize("fork_groups", [False, True])
    def test_a_mixture_plays_the_requested_episodes(self, *, fork_groups: bool) -> None:
        def play(names: tuple[str, ...]) -> dict[tuple[str, int], tuple[int, Observation]]:
            run = collect(
                {"a": Component(Dice), "b": Component(AsyncDice)},
                Slow,
                episodes=((name, number) for name in names for number in range(6)),
                episodes_per_group=3,
                fork_groups=fork_groups,
                seed=4,
                concurrency=5,
            )
            played = {(t.component, t.index): (t.group, t.turns[0].observation) for t in run}
            assert {name: env.episodes for name, env in run.report.envs.items()} == dict.fromkeys(
                names, 6
            )
            return played

        both = play(("a", "b"))
        assert set(both) == {(name, number) for name in "ab" for number in range(6)}
        assert {key: both[key] for key in both if key[0] == "b"} == play(("b",))
        for (_, number), (group, _) in both.items():
            assert group == number // 3
        for name in "ab":
            starts = {start for (own, _), (_, start) in both.items() if own == name}
            assert len(starts) == 2, "a group has one start"

    def test_a_mixture_of_many_components_holds_few_environments(self) -> None:
        held: set[int] = set()
        most = 0

        class Held(BaseEnv):
            def __init__(self) -> None:
                nonlocal most
                held.add(id(self))
                most = max(most, len(held))

            def start(self) -> tuple[Observation, Info]:
                return "", {}

            def step(self, action: Action) -> Step:
                return Step("", 1.0, True, False, {})

            def close(self) -> None:
                held.discard(id(self))

        components = {str(number): Component(Held) for number in range(200)}
        found = list(collect(components, SilentAgent, episodes=400, concurrency=4))
        assert len({one.component for one in found}) > 100
        assert most <= 4 + 64
        assert not held

    def test_an_unknown_component_ends_a_mixture_with_an_error(self) -> None:
        run = collect({"dice": Component(Dice)}, SilentAgent, episodes=[("dice", 0), ("dise", 0)])
        with pytest.raises(ConfigError, match=r"no component 'dise'\. Did you mean 'dice'"):
            list(run)

    @pytest.mark.parametrize(
        "components",
        [
            [],
            {},
            [Component(Dice, -1.0), Component(Other)],
            [Component(Dice, 0.0)],
            [Component(Dice, float("inf"))],
            [Component(Dice, name="a"), Component(Other, name="a")],
        ],
    )
    def test_an_invalid_mixture_is_refused(self, components: Any) -> None:
        with pytest.raises(ConfigError):
            collect(components, SilentAgent, episodes=1)


class Fewest:
    """Prefers the component that has had the fewest good episodes."""

    def __init__(self, names: list[str]) -> None:
        self.good = dict.fromkeys(names, 0)
        self.told: list[int] = []

    def weights(self, report: Report) -> Mapping[str, float]:
        fewest = min(self.good, key=lambda name: self.good[name])
        return {name: float(name == fewest) for name in self.good}

    def update(self, trajectory: Trajectory) -> None:
        self.told.append(trajectory.index)
        self.good[trajectory.component] += trajectory.error is None


class TestASampler:
    @pytest.mark.parametrize("samples", [1, 2])
    def test_a_sampler_chooses_each_component_by_the_results_so_far(self, samples: int) -> None:
        sampler = Fewest(["a", "b"])
        components = {"a": Component(Dice, 100.0), "b": Component(Other, 1.0)}
        run = collect(
            components,
            SilentAgent,
            episodes=20,
            episodes_per_group=samples,
            sampler=sampler,
            concurrency=1,
        )
        found = components_of(run)
        assert Counter(found.values()) == {"a": 10, "b": 10}
        assert sorted(sampler.told) == list(range(20))
        for number in range(0, 20, samples):
            assert len({found[number + sample] for sample in range(samples)}) == 1

    @pytest.mark.parametrize("weights", [{"c": 1.0}, {}, {"a": -1.0}, {"a": 0.0}])
    def test_an_invalid_choice_of_a_sampler_ends_the_run(self, weights: dict[str, float]) -> None:
        class Wrong(Fewest):
            def weights(self, report: Report) -> Mapping[str, float]:
                return weights

        components = {"a": Component(Dice), "b": Component(Other)}
        with pytest.raises(ConfigError, match=r"no component 'c'|weights"):
            list(collect(components, SilentAgent, episodes=2, sampler=Wrong(["a", "b"])))


def test_random_actions_of_a_mixture_environment_differ_within_a_group() -> None:
    def make_env() -> Env:
        return MixtureEnv({"a": Component(Dice)})

    run = collect(make_env, RandomAgent, episodes=4, episodes_per_group=4)
    assert len({one.turns[0].action for one in run}) > 1
