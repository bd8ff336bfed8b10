"""``VectorEnv``: actions, resets, automatic resets, snapshots, closing."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gem_core
from gem_core import Action, AsyncEnv, BaseEnv, Info, Observation, Step
from gem_core.errors import ConfigError, EnvironmentFault, GemError, UnknownKwargError
from gem_core.seeding import child_seed
from gem_core.specs import EnvSpec
from gem_core.vector import BatchStep, VectorEnv
from gem_core.vector.serial import SerialExecutor

MakeVector = Callable[..., VectorEnv]


class Counter(BaseEnv):
    """Ends after ``length`` steps; does what an action says."""

    def __init__(self, *, length: int = 3) -> None:
        self.length = length
        self.closed = False

    def start(self, *, name: str = "start") -> tuple[Observation, Info]:
        self.turn = 0
        return f"{name} {self.rng.random()}", {"turn": 0}

    def step(self, action: Action) -> Step:
        if action == "raise":
            raise ValueError("boom")
        self.turn += 1
        observation = f"{action} {self.turn} {self.rng.random()}"
        return Step(
            observation, self.turn / 4, self.turn == self.length, False, {"turn": self.turn}
        )

    def sample_random_action(self) -> Action:
        return self.action_rng.choice("abc")

    def close(self) -> None:
        self.closed = True


class Later(AsyncEnv):
    """An asynchronous counter."""

    async def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return f"start {self.rng.random()}", {}

    async def step(self, action: Action) -> Step:
        if action == "raise":
            raise ValueError("boom")
        self.turn += 1
        return Step(f"{action} {self.turn}", 0.5, self.turn == 2, False, {})


@pytest.fixture
def make_vector() -> Iterator[MakeVector]:
    """Make vectors of three counters, or of what is given; all are closed at the end."""
    made: list[VectorEnv] = []

    def make(make_envs: Any = (Counter,) * 3, *, executor: Any = None, **kwargs: Any) -> VectorEnv:
        vector = VectorEnv(make_envs, executor=executor or SerialExecutor(), **kwargs)
        made.append(vector)
        return vector

    yield make
    for vector in made:
        vector.close()


class TestActions:
    def test_a_list_steps_every_environment_in_order(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        batch = vector.step(["a", "b", "c"])
        assert [text.split()[0] for text in batch.observations] == ["a", "b", "c"]
        assert batch.rewards == [0.25] * 3
        assert batch.terminated == batch.truncated == [False] * 3
        assert batch.infos == [{"turn": 1}] * 3

    def test_a_dict_steps_its_keys_in_its_order_and_no_other(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        vector.step({1: "x"})
        batch = vector.step({2: "c", 1: "b"})
        assert [text.split()[:2] for text in batch.observations] == [["c", "1"], ["b", "2"]]
        assert vector.step(["a"] * 3).infos[0] == {"turn": 1}

    def test_more_environments_than_are_handed_on_at_once_stay_in_order(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector([Counter] * 150)
        vector.reset(seed=0)
        batch = vector.step([str(index) for index in range(150)])
        assert [int(text.split()[0]) for text in batch.observations] == list(range(150))
        assert all(len(column) == 150 for column in batch)

    def test_an_empty_set_of_actions_steps_no_environment(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        assert vector.step({}) == BatchStep([], [], [], [], [])

    @pytest.mark.parametrize("call", ["step", "send"])
    @pytest.mark.parametrize(
        ("actions", "message"),
        [
            (["a"], "3 actions or a dict from index to action; got 1 actions"),
            (["a"] * 4, "got 4 actions"),
            ("abc", "got a string"),
            ({3: "a"}, "no environment 3; indices are 0 to 2"),
            ({-1: "a"}, "no environment -1"),
            ({"0": "a"}, "no environment '0'"),
            ({1.0: "a"}, "no environment 1.0"),
        ],
    )
    def test_actions_that_do_not_fit_are_refused_and_nothing_is_stepped(
        self, make_vector: MakeVector, call: str, actions: Any, message: str
    ) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        with pytest.raises(ConfigError, match=message):
            getattr(vector, call)(actions)
        assert vector.step(["a"] * 3).infos == [{"turn": 1}] * 3

    def test_random_actions_come_from_each_environment(self, make_vector: MakeVector) -> None:
        vector, twin = make_vector([Counter] * 20), make_vector([Counter] * 20)
        vector.reset(seed=1)
        twin.reset(seed=1)
        actions = vector.sample_random_actions()
        assert len(actions) == 20
        assert set(actions) == {"a", "b", "c"}
        assert actions == twin.sample_random_actions()


class TestReset:
    def test_an_int_seeds_each_environment_by_its_index(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        observations, infos = vector.reset(seed=5)
        assert observations == [Counter().reset(seed=child_seed(5, i))[0] for i in range(3)]
        assert infos == [{"turn": 0}] * 3
        assert vector.reset(seed=5)[0] == observations
        assert vector.reset(seed=6)[0] != observations

    def test_a_list_gives_each_environment_its_seed(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        first, second, _ = vector.reset(seed=[3, 4, None])[0]
        assert [first, second] == [Counter().reset(seed=seed)[0] for seed in (3, 4)]

    def test_without_a_seed_the_random_streams_go_on(self, make_vector: MakeVector) -> None:
        vector, twin = make_vector(), make_vector()
        for either in (vector, twin):
            either.reset(seed=5)
        assert vector.reset()[0] == twin.reset()[0] != vector.reset(seed=5)[0]

    def test_the_vectors_own_seed_is_used_by_the_first_whole_reset_only(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector(seed=5)
        vector.reset(seed=1, indices=[0])
        first = vector.reset()[0]
        assert first == make_vector().reset(seed=5)[0]
        assert vector.reset()[0] != first

    def test_only_the_indices_are_reset_and_answer_in_their_order(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector()
        all_three = vector.reset(seed=5)[0]
        vector.step(["a"] * 3)
        observations, _ = vector.reset(seed=5, indices=[2, 0])
        assert observations == [all_three[2], all_three[0]]
        assert [info["turn"] for info in vector.step(["a"] * 3).infos] == [1, 2, 1]

    def test_a_list_of_seeds_goes_with_the_indices(self, make_vector: MakeVector) -> None:
        observations, _ = make_vector().reset(seed=[7, 8], indices=[2, 0])
        assert observations == [Counter().reset(seed=seed)[0] for seed in (7, 8)]

    def test_options_are_one_mapping_or_one_for_each(self, make_vector: MakeVector) -> None:
        vector = make_vector()
        same, _ = vector.reset(options={"name": "hello"})
        assert [text.split()[0] for text in same] == ["hello"] * 3
        own, _ = vector.reset(options=[{"name": "x"}, {}], indices=[1, 2])
        assert [text.split()[0] for text in own] == ["x", "start"]

    def test_an_option_that_an_environment_lacks_is_its_fault(
        self, make_vector: MakeVector
    ) -> None:
        with pytest.raises(EnvironmentFault, match="takes no argument 'nmae'") as caught:
            make_vector().reset(options={"nmae": "x"})
        assert isinstance(caught.value.__cause__, UnknownKwargError)

    @pytest.mark.parametrize(
        ("kwargs", "message"),
        [
            ({"seed": [1, 2]}, "3 seeds are needed.*got 2"),
            ({"seed": [1, 2, 3], "indices": [0]}, "1 seeds are needed.*got 3"),
            ({"options": [{}]}, "3 options are needed.*got 1"),
            ({"seed": -1}, "non-negative"),
            ({"seed": 0.5}, "non-negative"),
            ({"indices": [3]}, "no environment 3"),
            ({"indices": [-1]}, "no environment -1"),
            ({"indices": [0, 0]}, "twice|more than once"),
        ],
    )
    def test_what_does_not_fit_is_refused_and_nothing_is_reset(
        self, make_vector: MakeVector, kwargs: dict[str, Any], message: str
    ) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        vector.step(["a"] * 3)
        with pytest.raises(ConfigError, match=message):
            vector.reset(**kwargs)
        assert vector.step(["a"] * 3).infos == [{"turn": 2}] * 3


class TestAutoreset:
    @pytest.mark.parametrize("make_env", [lambda: Counter(length=2), Later])
    def test_same_step_starts_the_next_episode_and_keeps_what_ended(
        self, make_vector: MakeVector, make_env: Any
    ) -> None:
        vector, alone = make_vector([make_env] * 2), make_vector([make_env] * 2, autoreset="off")
        vector.reset(seed=0)
        alone.reset(seed=0)
        vector.step(["a"] * 2)
        alone.step(["a"] * 2)
        ended, last = vector.step(["b"] * 2), alone.step(["b"] * 2)
        firsts, infos = alone.reset()
        assert ended.observations == firsts
        assert (ended.rewards, ended.terminated) == (last.rewards, [True] * 2)
        for info, new, text, old in zip(
            ended.infos, infos, last.observations, last.infos, strict=True
        ):
            assert info == {**new, "final_observation": text, "final_info": old}
        assert vector.step(["c"] * 2).observations == alone.step(["c"] * 2).observations

    @pytest.mark.parametrize("make_env", [lambda: Counter(length=2), Later])
    def test_next_step_ignores_one_action_after_the_end(
        self, make_vector: MakeVector, make_env: Any
    ) -> None:
        vector = make_vector([make_env], autoreset="next_step")
        alone = make_vector([make_env], autoreset="off")
        for either in (vector, alone):
            either.reset(seed=0)
            either.step(["a"])
        assert vector.step(["b"]) == alone.step(["b"])
        firsts, infos = alone.reset()
        assert vector.step(["ignored"]) == BatchStep(firsts, [0.0], [False], [False], infos)
        assert vector.step(["c"]) == alone.step(["c"])

    def test_next_step_owes_no_reset_after_an_explicit_one(self, make_vector: MakeVector) -> None:
        vector = make_vector([lambda: Counter(length=1)], autoreset="next_step")
        vector.reset(seed=0)
        vector.step(["a"])
        vector.reset()
        assert vector.step(["b"]).observations[0].startswith("b 1")

    def test_off_leaves_the_next_episode_to_the_caller(self, make_vector: MakeVector) -> None:
        lengths = (1, 3)
        vector = make_vector(
            [lambda length=length: Counter(length=length) for length in lengths], autoreset="off"
        )
        vector.reset(seed=0)
        batch = vector.step(["a", "a"])
        assert batch.terminated == [True, False]
        assert "final_info" not in batch.infos[0]
        with pytest.raises(EnvironmentFault, match="the episode has ended") as caught:
            vector.step(["a", "a"])
        assert caught.value.completed[1].info == {"turn": 2}
        vector.reset(indices=[0])
        assert [info["turn"] for info in vector.step(["a", "a"]).infos] == [1, 3]

    def test_a_truncated_episode_is_followed_by_the_next_too(self, make_vector: MakeVector) -> None:
        class Cut(Counter):
            def step(self, action: Action) -> Step:
                return super().step(action)._replace(terminated=False, truncated=True)

        vector = make_vector([Cut])
        vector.reset(seed=0)
        batch = vector.step(["a"])
        assert (batch.terminated, batch.truncated) == ([False], [True])
        assert batch.infos[0]["final_info"] == {"turn": 1}

    @pytest.mark.parametrize(
        "options", [{"autoreset": "SameStep"}, {"on_error": "ignore"}, {"seed": -1}]
    )
    def test_unknown_modes_and_bad_seeds_are_refused(
        self, make_vector: MakeVector, options: dict[str, Any]
    ) -> None:
        with pytest.raises(ConfigError, match=repr(next(iter(options.values())))):
            make_vector(**options)

    def test_a_vector_needs_an_environment(self, make_vector: MakeVector) -> None:
        with pytest.raises(ConfigError, match="at least one"):
            make_vector([])


class TestSnapshots:
    @pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
    @pytest.mark.parametrize("moment", range(5))
    def test_a_restored_vector_plays_on_exactly(
        self, make_vector: MakeVector, autoreset: str, moment: int
    ) -> None:
        lengths = (2, 3)
        make_envs = [lambda length=length: Counter(length=length) for length in lengths]
        vector = make_vector(make_envs, autoreset=autoreset)
        vector.reset(seed=0)
        for _ in range(moment):
            vector.step(["a"] * 2)
        snapshot = vector.snapshot()
        played = [vector.step(vector.sample_random_actions()) for _ in range(8)]
        other = make_vector(make_envs, autoreset=autoreset)
        for twin in (vector, other):
            twin.restore(snapshot)
            assert [twin.step(twin.sample_random_actions()) for _ in range(8)] == played

    def test_a_snapshot_of_another_number_of_environments_does_not_fit(
        self, make_vector: MakeVector
    ) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        with pytest.raises(ConfigError, match=r"3 states are needed.*got 2"):
            vector.restore(vector.snapshot()[:2])


class TestClosing:
    def test_close_closes_every_environment_once_and_may_be_called_twice(
        self, make_vector: MakeVector
    ) -> None:
        closed: list[int] = []

        class Noted(Counter):
            def close(self) -> None:
                closed.append(1)

        with make_vector([Noted] * 2) as vector:
            vector.reset()
        vector.close()
        assert closed == [1, 1]

    def test_an_environment_that_cannot_be_closed_says_so_after_the_others_are_closed(
        self, make_vector: MakeVector
    ) -> None:
        class Stuck(Counter):
            def close(self) -> None:
                raise OSError("still busy")

        made = [Stuck(), Counter()]
        vector = make_vector([lambda env=env: env for env in made])
        with pytest.raises(GemError, match="still busy"):
            vector.close()
        assert made[1].closed
        vector.close()

    @pytest.mark.parametrize(
        "call",
        [
            lambda vector: vector.reset(),
            lambda vector: vector.step(["a"] * 3),
            lambda vector: vector.send({0: "a"}),
            lambda vector: vector.recv(),
            lambda vector: vector.snapshot(),
            lambda vector: vector.call("sample_random_action"),
        ],
    )
    def test_a_closed_vector_does_nothing(
        self, make_vector: MakeVector, call: Callable[[VectorEnv], Any]
    ) -> None:
        vector = make_vector()
        vector.reset(seed=0)
        vector.send({1: "a"})
        vector.close()
        with pytest.raises(GemError, match="closed"):
            call(vector)


@pytest.mark.parametrize(
    ("kwargs", "answer"),
    [
        ({"vectorization_mode": "sync"}, "executor="),
        ({"max_episode_steps": 5}, "'time_limit'"),
    ],
)
def test_arguments_of_gymnasium_are_answered_with_what_to_write_here(
    kwargs: dict[str, Any], answer: str
) -> None:
    with pytest.raises(UnknownKwargError, match=answer):
        gem_core.make_vec("game:GuessTheNumber-v0", num_envs=2, **kwargs)


def test_the_options_of_gymnasiums_reset_are_answered_too() -> None:
    env = gem_core.make("game:GuessTheNumber-v0")
    with pytest.raises(UnknownKwargError, match="by its name"):
        env.reset(options={"seed": 1})


class Reusing(BaseEnv):
    """Returns one dict as its info, again and again."""

    def start(self) -> tuple[Observation, Info]:
        self.told = getattr(self, "told", {})
        self.told["turn"] = 0
        return "start", self.told

    def step(self, action: Action) -> Step:
        self.told["turn"] += 1
        return Step("", 0.0, self.told["turn"] == 2, False, self.told)

    def sample_random_action(self) -> Action:
        return "a"


def test_the_final_info_is_of_the_last_step_whatever_the_environment_does_with_its_dict() -> None:
    spec = EnvSpec(id="t:Reusing", entry_point=Reusing)
    with gem_core.make_vec(spec, num_envs=1) as vector:
        vector.reset()
        vector.step(["a"])
        info = vector.step(["a"]).infos[0]
    assert (info["final_info"]["turn"], info["turn"]) == (2, 0)
