"""Environments: seeding, the life of an episode, snapshots, forks, asynchronous steps."""

import asyncio
import copy
import doctest
import inspect
import math
import pickle
import random
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core.env
from gem_core import Action, AsyncEnv, BaseEnv, Env, EnvSpec, Info, Observation, Step, Wrapper
from gem_core.errors import (
    ConfigError,
    EpisodeEndedError,
    GemError,
    ReturnValueError,
    RewardError,
    SnapshotError,
    UnknownKwargError,
)
from gem_core.mixture import Component, MixtureEnv
from gem_core.wrappers import EpisodeTracking, HistoryWrapper, TimeLimit, ToolWrapper

EXAMPLES = settings(max_examples=300 if thorough() else 25)
ACTIONS = st.lists(st.sampled_from(["left", "right", "stay"]), max_size=12)
SEEDS = st.integers(0, 2**63)


class Walk(BaseEnv):
    """Every chance that an episode can have: in start, in observations and in rewards."""

    def __init__(self, *, length: int = 30) -> None:
        self.length = length

    def start(self, *, at: int = 0) -> tuple[Observation, Info]:
        self.turn, self.position = 0, at
        self.trace: list[Action] = []
        return f"at {at}", {"luck": self.rng.random()}

    def step(self, action: Action) -> Step:
        self.turn += 1
        self.trace.append(action)
        self.position += self.rng.randint(-3, 3)
        info = {"trace": list(self.trace)}
        observation = f"{action} to {self.position}"
        return Step(observation, self.rng.random(), self.turn == self.length, False, info)

    def sample_random_action(self) -> Action:
        return self.action_rng.choice(["left", "right", "stay"])


class Scripted(BaseEnv):
    """Ends as it is told: each step returns what it was constructed with."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def start(self) -> tuple[Observation, Info]:
        return "go", {}

    def step(self, action: Action) -> Step:
        return cast("Step", self.result)


class SlowWalkEnv(AsyncEnv):
    """The same walk, asynchronously."""

    def start(self) -> Any:
        async def later() -> tuple[Observation, Info]:
            await asyncio.sleep(0)
            self.turn = 0
            return "at 0", {"luck": self.rng.random()}

        return later()

    async def step(self, action: Action) -> Step:  # type: ignore[override]
        await asyncio.sleep(0)
        self.turn += 1
        return Step(f"{action} {self.rng.random()}", 1.0, self.turn == 3, False, {})


SlowWalk: Any = SlowWalkEnv


def stack() -> Any:
    """Return a walk with every kind of wrapper round it."""
    env: Any = TimeLimit(Walk(), max_steps=20)
    env = HistoryWrapper(cast("Any", ToolWrapper(env)), include_action=True, max_history_length=3)
    return EpisodeTracking(env)


def mixture() -> Any:
    """Return two kinds of walks, one of them wrapped."""
    return MixtureEnv({"short": Component(Walk), "wrapped": Component(stack, weight=2.0)})


EVERY_KIND = pytest.mark.parametrize("make_env", [Walk, stack, mixture])


def play(env: Env, actions: list[Action]) -> list[Step]:
    return [env.step(action) for action in actions]


class TestSeeds:
    @pytest.mark.slow
    @EVERY_KIND
    @EXAMPLES
    @given(seed=SEEDS, actions=ACTIONS, before=ACTIONS)
    def test_a_seed_repeats_the_episode_whatever_came_before(
        self, make_env: Callable[[], Env], seed: int, actions: list[str], before: list[str]
    ) -> None:
        fresh, used = make_env(), make_env()
        used.reset()
        play(used, before)
        first, again = fresh.reset(seed=seed), used.reset(seed=seed)
        assert again[0] == first[0]
        assert again[1]["luck"] == first[1]["luck"]
        steps, repeated = play(fresh, actions), play(used, actions)
        assert [step[:4] for step in steps] == [step[:4] for step in repeated]

    def test_resets_without_a_seed_go_on_with_a_repeatable_stream(self) -> None:
        one, two = Walk(), Walk()
        lucks = []
        for env in (one, two):
            env.reset(seed=7)
            lucks.append([env.reset()[1]["luck"] for _ in range(4)])
        assert lucks[0] == lucks[1]
        assert len(set(lucks[0])) == 4

    def test_an_unseeded_environment_is_not_the_same_each_time(self) -> None:
        assert Walk().reset()[1] != Walk().reset()[1]

    def test_a_seed_in_make_seeds_the_stream(self) -> None:
        spec = EnvSpec(id="test:Walk", entry_point=Walk)
        one, two = gem_core.make(spec, seed=3), gem_core.make(spec, seed=3)
        assert one.reset() == two.reset()
        assert one.reset() == two.reset()
        assert one.reset() != gem_core.make(spec, seed=4).reset()

    @pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
    def test_what_is_no_seed_is_refused(self, seed: Any) -> None:
        with pytest.raises(ConfigError, match="non-negative int"):
            Walk().reset(seed=seed)

    @EVERY_KIND
    def test_the_global_generator_is_left_alone(self, make_env: Callable[[], Env]) -> None:
        before = random.getstate()
        env = make_env()
        env.reset(seed=1)
        play(env, ["left", env.sample_random_action()])
        env.fork().step("left")
        env.reset()
        assert random.getstate() == before

    @pytest.mark.slow
    @EVERY_KIND
    @EXAMPLES
    @given(seed=SEEDS, actions=ACTIONS)
    def test_sampling_an_action_never_changes_the_episode(
        self, make_env: Callable[[], Env], seed: int, actions: list[str]
    ) -> None:
        plain, asked = make_env(), make_env()
        plain.reset(seed=seed)
        asked.reset(seed=seed)
        for action in actions:
            asked.sample_random_action()
            assert asked.step(action) == plain.step(action)

    def test_sampled_actions_repeat_with_the_seed(self) -> None:
        env, samples = Walk(), []
        for _ in range(2):
            env.reset(seed=11)
            samples.append([env.sample_random_action() for _ in range(20)])
        assert samples[0] == samples[1]

    @EXAMPLES
    @given(seed=SEEDS)
    def test_sampled_actions_know_nothing_of_the_chances_of_the_episode(self, seed: int) -> None:
        env = Walk()
        env.seed(seed)
        assert env.action_rng.random() != env.rng.random()

    def test_an_environment_without_sampling_says_so(self) -> None:
        with pytest.raises(NotImplementedError, match="Scripted has no sample_random_action"):
            Scripted(None).sample_random_action()


class TestEpisodes:
    @EVERY_KIND
    def test_a_step_before_reset_raises(self, make_env: Callable[[], Env]) -> None:
        env = make_env()
        with pytest.raises(EpisodeEndedError, match=r"no episode has been started.*reset"):
            env.step("left")

    @pytest.mark.parametrize("flags", [(True, False), (False, True)])
    def test_a_step_after_the_end_raises_until_reset(self, flags: tuple[bool, bool]) -> None:
        env = Scripted(Step("end", 1.0, *flags, {}))
        env.reset()
        env.step("a")
        with pytest.raises(EpisodeEndedError, match="the episode has ended"):
            env.step("a")
        env.reset()
        assert env.step("a").observation == "end"

    def test_a_step_after_a_reset_that_failed_raises(self) -> None:
        class Broken(Walk):
            def start(self, *, at: int = 0) -> tuple[Observation, Info]:
                if at:
                    raise RuntimeError("no such place")
                return super().start()

        env = Broken()
        env.reset()
        with pytest.raises(RuntimeError, match="no such place"):
            env.reset(at=1)
        with pytest.raises(EpisodeEndedError):
            env.step("left")

    def test_an_episode_that_is_terminated_and_truncated_at_once_is_an_error(self) -> None:
        env = Scripted(Step("end", 1.0, True, True, {}))
        env.reset()
        with pytest.raises(GemError, match=r"Scripted.step.*both true"):
            env.step("a")

    def test_a_plain_tuple_becomes_a_step(self) -> None:
        env = Scripted(("there", 0.5, False, True, {"key": 1}))
        env.reset()
        step = env.step("a")
        assert isinstance(step, Step)
        assert step == Step("there", 0.5, False, True, {"key": 1})
        with pytest.raises(EpisodeEndedError):
            env.step("a")

    def test_flags_of_another_type_count_as_what_they_are(self) -> None:
        env = Scripted(("on", 0.5, 0, 0, {}))
        env.reset()
        env.step("a")
        assert env.step("a").observation == "on"

    @pytest.mark.parametrize(
        ("first", "message"),
        [
            ("hi", r"returned 'hi' \(str\); it returns a pair"),
            (None, r"returned None \(NoneType\); it returns a pair"),
            (("hi", {}, 1), r"returned \('hi', {}, 1\) \(tuple\); it returns a pair"),
            (("hi", None), r"returned info=None \(NoneType\); info is a dict"),
            ((5, {}), r"returned observation=5 \(int\); observation is text"),
        ],
    )
    def test_what_start_must_not_return_is_named(self, first: Any, message: str) -> None:
        class Starts(Scripted):
            def start(self) -> Any:
                return first

        with pytest.raises(ReturnValueError, match=f"Starts.start {message}"):
            Starts(None).reset()

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            ("hello", r"returned 'hello' \(str\); it returns a Step\(observation, reward"),
            (None, r"returned None \(NoneType\); it returns a Step"),
            (
                ("on", 1.0, False, {}),
                r"returned \('on', 1.0, False, {}\) \(tuple\); it returns a S",
            ),
            (Step(5, 0.0, False, False, {}), r"returned observation=5 \(int\)"),
            (Step("on", "1", False, False, {}), r"returned reward='1' \(str\); a reward is a fin"),  # type: ignore[arg-type]
            (Step("on", None, False, False, {}), r"returned reward=None \(NoneType\)"),  # type: ignore[arg-type]
            (Step("on", math.nan, False, False, {}), r"returned reward=nan \(float\)"),
            (Step("on", -math.inf, True, False, {}), r"returned reward=-inf \(float\)"),
            (Step("on", 0.0, None, False, {}), r"returned terminated=None \(NoneType\); termin"),  # type: ignore[arg-type]
            (Step("on", 0.0, False, "no", {}), r"returned truncated='no' \(str\)"),  # type: ignore[arg-type]
            (Step("on", 0.0, False, False, None), r"returned info=None \(NoneType\)"),  # type: ignore[arg-type]
        ],
    )
    def test_what_step_must_not_return_is_named(self, result: Any, message: str) -> None:
        env = Scripted(result)
        env.reset()
        with pytest.raises((ReturnValueError, RewardError), match=f"Scripted.step {message}"):
            env.step("a")

    @pytest.mark.parametrize("reward", [1, True, Fraction(1)])
    def test_a_reward_of_another_type_of_number_becomes_a_float(self, reward: Any) -> None:
        env = Scripted(Step("on", reward, False, False, {}))
        env.reset()
        step = env.step("a")
        assert (type(step.reward), step.reward) == (float, 1.0)

    def test_numpy_scalars_become_plain_values(self) -> None:
        numpy = pytest.importorskip("numpy")
        for reward in (numpy.float32(0.5), 0.5):
            env = Scripted(Step("on", reward, numpy.bool_(True), numpy.bool_(False), {}))
            env.reset()
            step = env.step("a")
            assert step == ("on", 0.5, True, False, {})
            assert [*map(type, step)] == [str, float, bool, bool, dict]

    def test_a_subclass_may_lift_the_end_that_its_base_returned(self) -> None:
        class Endless(Walk):
            def step(self, action: Action) -> Step:
                return super().step(action)._replace(terminated=False)

        env = Endless(length=1)
        env.reset()
        play(env, ["left", "left"])

    def test_a_step_from_a_mixin_is_guarded_too(self) -> None:
        class Mixin:
            def step(self, action: Action) -> Step:
                return Step(action, 0.0, True, False, {})

        class Mixed(Mixin, BaseEnv):
            def start(self) -> tuple[Observation, Info]:
                return "go", {}

        with pytest.raises(EpisodeEndedError):
            Mixed().step("a")

    def test_a_subclass_may_add_an_end(self) -> None:
        class Short(Walk):
            def step(self, action: Action) -> Step:
                return super().step(action)._replace(truncated=True)

        env = Short()
        env.reset()
        env.step("left")
        with pytest.raises(EpisodeEndedError):
            env.step("left")

    def test_an_error_in_a_step_leaves_the_episode_running(self) -> None:
        class Picky(Walk):
            def step(self, action: Action) -> Step:
                if action == "bad":
                    raise ValueError("bad")
                return super().step(action)

        env = Picky()
        env.reset()
        with pytest.raises(ValueError, match="bad"):
            env.step("bad")
        assert env.step("left").info["trace"] == ["left"]

    @EVERY_KIND
    def test_close_may_be_called_twice_and_ends_a_with_block(
        self, make_env: Callable[[], Env]
    ) -> None:
        closed = []

        class Noisy(Wrapper):
            def close(self) -> None:
                closed.append(self)
                super().close()

        with Noisy(make_env()) as env:
            env.reset(seed=1)
        assert closed == [env]
        env.close()

    @EVERY_KIND
    def test_every_kind_of_environment_follows_the_protocol(
        self, make_env: Callable[[], Env]
    ) -> None:
        assert isinstance(make_env(), Env)

    def test_a_step_unpacks_as_five_values(self) -> None:
        observation, reward, terminated, truncated, info = Step("o", 1.0, True, False, {"a": 1})
        assert (observation, reward, terminated, truncated, info) == (
            "o",
            1.0,
            True,
            False,
            {"a": 1},
        )

    def test_the_example_of_base_env_runs(self) -> None:
        results = doctest.testmod(gem_core.env)
        assert results.attempted > 0
        assert results.failed == 0


class TestArguments:
    def test_an_option_reaches_start_through_every_wrapper(self) -> None:
        env = stack()
        assert env.reset(seed=1, at=9)[0].startswith("at 9")

    def test_a_wrong_option_is_named_with_a_near_one(self) -> None:
        class Task(Walk):
            def start(self, *, index: int = 0) -> tuple[Observation, Info]:  # type: ignore[override]
                return super().start(at=index)

        with pytest.raises(UnknownKwargError, match=r"'indx'. Did you mean 'index'\?"):
            Task().reset(indx=1)

    def test_a_wrong_option_leaves_the_running_episode(self) -> None:
        env = Walk()
        env.reset(seed=1)
        with pytest.raises(UnknownKwargError):
            env.reset(wrong=1)
        assert env.step("left").info["trace"] == ["left"]

    def test_a_wrong_option_beside_a_seed_changes_nothing(self) -> None:
        env, other = Walk(), Walk()
        env.reset(seed=1)
        other.reset(seed=1)
        with pytest.raises(UnknownKwargError):
            env.reset(seed=2, wrong=1)
        assert env.step("left") == other.step("left")

    def test_an_environment_without_parameters_refuses_them(self) -> None:
        class Plain(BaseEnv):
            def start(self) -> tuple[Observation, Info]:
                return "go", {}

            def step(self, action: Action) -> Step:
                return Step(action, 0.0, True, False, {})

        with pytest.raises(TypeError):
            Plain(typo=1)
        with pytest.raises(UnknownKwargError):
            gem_core.make(EnvSpec(id="test:Plain", entry_point=Plain), typo=1)

    def test_the_generator_is_there_without_a_call_of_the_base_constructor(self) -> None:
        assert isinstance(Walk().rng, random.Random)
        assert Walk().rng is not Walk().rng


class TestSnapshots:
    @pytest.mark.slow
    @EVERY_KIND
    @EXAMPLES
    @given(seed=SEEDS, before=ACTIONS, astray=ACTIONS, after=ACTIONS)
    def test_an_episode_plays_on_exactly_from_a_snapshot(
        self,
        make_env: Callable[[], Env],
        seed: int,
        before: list[str],
        astray: list[str],
        after: list[str],
    ) -> None:
        env = make_env()
        env.reset(seed=seed)
        play(env, before[:6])
        saved = env.snapshot()
        expected = play(env, after[:6])
        samples = [env.sample_random_action() for _ in range(3)]
        env.reset()
        play(env, astray[:6])
        for target in (env, make_env()):
            target.restore(saved)
            assert play(target, after[:6]) == expected
            assert [target.sample_random_action() for _ in range(3)] == samples

    @pytest.mark.slow
    @EVERY_KIND
    @EXAMPLES
    @given(seed=SEEDS, before=ACTIONS, astray=ACTIONS, after=ACTIONS)
    def test_a_fork_plays_on_exactly_and_independently(
        self,
        make_env: Callable[[], Env],
        seed: int,
        before: list[str],
        astray: list[str],
        after: list[str],
    ) -> None:
        env = make_env()
        env.reset(seed=seed)
        play(env, before[:6])
        fork, other = env.fork(), env.fork()
        play(other, astray[:6])
        assert type(fork) is type(env)
        assert play(fork, after[:6]) == play(env, after[:6])
        assert fork.reset()[0] == env.reset()[0]

    @EVERY_KIND
    def test_a_fork_of_an_ended_episode_has_ended_too(self, make_env: Callable[[], Env]) -> None:
        env = TimeLimit(make_env(), max_steps=1)
        env.reset(seed=1)
        env.step("left")
        with pytest.raises(EpisodeEndedError):
            env.fork().step("left")

    @EVERY_KIND
    def test_a_spawned_environment_has_no_episode_and_a_stream_of_its_own(
        self, make_env: Callable[[], Env]
    ) -> None:
        env = make_env()
        env.reset(seed=1)
        spawned, seeded = env.spawn(), env.spawn(seed=1)
        with pytest.raises(EpisodeEndedError, match="no episode has been started"):
            spawned.step("left")
        lucks = [e.reset()[1]["luck"] for e in (spawned, seeded, env.spawn(seed=1), env.spawn())]
        assert lucks[1] == lucks[2]
        assert len(set(lucks)) == 3

    @EVERY_KIND
    def test_spawning_with_the_same_state_is_forking(self, make_env: Callable[[], Env]) -> None:
        env = make_env()
        env.reset(seed=1)
        env.step("left")
        assert env.spawn(same_state=True).step("right") == env.step("right")

    @EVERY_KIND
    @pytest.mark.parametrize(
        "copy_of",
        [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],  # noqa: S301 - its own
    )
    def test_the_ordinary_ways_to_copy_work_too(
        self, make_env: Callable[[], Env], copy_of: Callable[[Env], Env]
    ) -> None:
        env = make_env()
        env.reset(seed=1)
        env.step("left")
        twin = copy_of(env)
        assert play(twin, ["right", "stay"]) == play(env, ["right", "stay"])

    def test_an_attribute_that_cannot_be_saved_is_named(self) -> None:
        env = Walk()
        env.reset(seed=1)
        env.lock = threading.Lock()  # type: ignore[attr-defined]
        for save in (env.snapshot, env.fork, env.spawn):
            with pytest.raises(SnapshotError, match=r"Walk cannot be saved: its attribute 'lock'"):
                save()

    def test_an_attribute_of_a_wrapper_that_cannot_be_saved_is_named_by_snapshot(self) -> None:
        env = TimeLimit(Walk(), max_steps=3)
        env.reset(seed=1)
        env.lock = threading.Lock()  # type: ignore[attr-defined]
        with pytest.raises(SnapshotError, match="'lock'"):
            env.snapshot()

    def test_an_attribute_of_a_wrapper_that_cannot_be_saved_is_named_by_fork(self) -> None:
        env = TimeLimit(Walk(), max_steps=3)
        env.reset(seed=1)
        env.lock = threading.Lock()  # type: ignore[attr-defined]
        with pytest.raises(SnapshotError, match="'lock'"):
            env.fork()

    def test_a_shared_attribute_is_shared_and_not_saved(self) -> None:
        class Dataset(Walk):
            shared: ClassVar[tuple[str, ...]] = ("rows", "lock")

            def __init__(self) -> None:
                super().__init__()
                self.rows = list(range(1000))
                self.lock = threading.Lock()

        env = Dataset()
        env.reset(seed=1)
        fork = env.fork()
        assert fork.rows is env.rows
        assert fork.lock is env.lock
        assert len(env.snapshot()) < len(Walk().snapshot()) + 500
        other = Dataset()
        rows = other.rows
        other.restore(env.snapshot())
        assert other.rows is rows
        assert other.step("left") == env.step("left")

    def test_a_fork_has_the_spec_of_the_original(self) -> None:
        env = gem_core.make("game:GuessTheNumber-v0-easy", wrappers=["concat"])
        env.reset(seed=1)
        for twin in (env.fork(), env.spawn()):
            assert twin.spec is env.spec is not None

    @pytest.mark.parametrize("snapshot", [b"", b"nonsense", pickle.dumps(5), pickle.dumps("ab")])
    def test_what_is_no_snapshot_is_refused_and_nothing_changes(self, snapshot: bytes) -> None:
        env, twin = Walk(), Walk()
        env.reset(seed=1)
        twin.reset(seed=1)
        with pytest.raises(SnapshotError):
            env.restore(snapshot)
        assert env.step("left") == twin.step("left")

    @pytest.mark.parametrize(
        ("make_env", "make_other"),
        [
            (Walk, lambda: Scripted(None)),
            (stack, Walk),
            (stack, lambda: EpisodeTracking(Walk())),
            (lambda: TimeLimit(Walk(), max_steps=9), lambda: TimeLimit(Scripted(0), max_steps=9)),
            (lambda: ToolWrapper(Walk()), lambda: ToolWrapper(Scripted(0))),
            (mixture, lambda: MixtureEnv({"elsewhere": Component(Walk)})),
            (
                lambda: MixtureEnv({"a": Component(Walk)}),
                lambda: MixtureEnv({"a": Component(stack)}),
            ),
        ],
    )
    def test_a_snapshot_of_something_else_is_refused_and_nothing_changes(
        self, make_env: Callable[[], Env], make_other: Callable[[], Env]
    ) -> None:
        env, twin, other = make_env(), make_env(), make_other()
        for one in (env, twin, other):
            one.reset(seed=1)
        play(env, ["left"])
        play(twin, ["left"])
        with pytest.raises(SnapshotError):
            env.restore(other.snapshot())
        assert play(env, ["left", "stay"]) == play(twin, ["left", "stay"])
        assert env.reset() == twin.reset()

    def test_a_snapshot_is_as_large_as_the_state_and_not_as_the_history_of_resets(self) -> None:
        env = stack()
        sizes = []
        for _ in range(3):
            env.reset(seed=1)
            play(env, ["left"] * 5)
            sizes.append(len(env.snapshot()))
        assert max(sizes) - min(sizes) < 100


class TestAsync:
    def test_every_wrapper_works_on_an_asynchronous_environment(self) -> None:
        async def episode() -> list[Any]:
            env: Any = SlowWalk()
            for wrapper in (
                lambda e: TimeLimit(e, max_steps=5),
                ToolWrapper,
                lambda e: HistoryWrapper(e, include_action=True),
                EpisodeTracking,
            ):
                env = wrapper(env)
            first = await env.reset(seed=1)
            steps = [await env.step("one"), await env.step("two"), await env.step("three")]
            with pytest.raises(EpisodeEndedError):
                await env.step("four")
            return [first, *steps]

        first, *steps = asyncio.run(episode())
        assert first[0] == "at 0\n"
        assert steps[-1].observation.startswith("at 0\none\none 0.")
        assert [step.info["step_counter"] for step in steps] == [1, 2, 3]
        assert [step.terminated for step in steps] == [False, False, True]
        assert steps[-1].info["cumulative_rewards"] == 3.0
        assert steps[-1].info["use_tool"] is False

    def test_what_a_synchronous_stack_returns_is_no_awaitable(self) -> None:
        env = stack()
        assert not inspect.isawaitable(env.reset(seed=1))
        assert isinstance(env.step("left"), Step)

    def test_an_asynchronous_step_before_reset_raises_at_once(self) -> None:
        with pytest.raises(EpisodeEndedError):
            SlowWalk().step("left")

    def test_forks_of_an_asynchronous_environment_play_on(self) -> None:
        async def episode() -> None:
            env: Any = EpisodeTracking(SlowWalk())
            await env.reset(seed=1)
            await env.step("one")
            fork = env.fork()
            restored = EpisodeTracking(SlowWalk())
            restored.restore(env.snapshot())
            expected = await env.step("two")
            assert await fork.step("two") == expected
            assert await cast("Any", restored.step("two")) == expected

        asyncio.run(episode())

    def test_a_mixture_of_synchronous_and_asynchronous_components_awaits_only_the_latter(
        self,
    ) -> None:
        async def episodes() -> set[str]:
            env: Any = MixtureEnv({"sync": Component(Walk), "async": Component(SlowWalk)})
            seen = set()
            for seed in range(12):
                first = env.reset(seed=seed)
                _, info = await first if inspect.isawaitable(first) else first
                step = env.step("left")
                step = await step if inspect.isawaitable(step) else step
                assert step.info["component"] == info["component"]
                seen.add(info["component"])
            return seen

        assert asyncio.run(episodes()) == {"sync", "async"}
