"""``make`` and ``make_vec``: stacks, parameters per environment, seeds, and what they refuse."""

import copy
import sys
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle
import pytest

import gem_core
from gem_core import (
    Action,
    BaseEnv,
    BaseTool,
    Env,
    EnvSpec,
    Info,
    Observation,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
    Wrapper,
)
from gem_core.api import print_envs
from gem_core.errors import (
    ConfigError,
    EntryPointError,
    InvalidIdError,
    UnknownIdError,
    UnknownKwargError,
    WrapperOrderError,
)
from gem_core.plugins import default_registry
from gem_core.seeding import child_seed
from gem_core.specs import TOOLS
from gem_core.wrappers import EpisodeTracking, HistoryWrapper, TimeLimit, ToolWrapper

# Worker processes get these classes by value: they need not find this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

GAME = "game:GuessTheNumber-v0"
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"env_id": "game:GuesTheNumber-v0"}, UnknownIdError, "Did you mean"),
    ({"env_id": 3}, ConfigError, "must be an id or a mapping with an id; got 3"),
    (
        {"max_turn": 2},
        UnknownKwargError,
        "Did you mean 'max_turns'",
    ),
    ({"max_turns": 0}, ConfigError, "max_turns"),
    ({"wrappers": "concat"}, ConfigError, "wrappers is a list"),
    ({"tools": {"id": "echo"}}, ConfigError, "tools is a list"),
    ({"tools": 3}, ConfigError, "tools is a list"),
    ({"wrappers": [3]}, ConfigError, "must be an id or a mapping with an id; got 3"),
    ({"wrappers": [{"max_steps": 3}]}, ConfigError, "needs an 'id'"),
    ({"wrappers": ["concta"]}, UnknownIdError, "Did you mean 'concat'"),
    ({"tools": ["pyton"]}, UnknownIdError, "pyton"),
    ({"wrappers": [{"id": "time_limit", "steps": 3}]}, UnknownKwargError, "'steps'"),
    ({"tool_use": {"max_uses": 3}}, UnknownKwargError, "'max_uses'"),
    ({"wrappers": ["episode_tracking", "concat"]}, WrapperOrderError, "earlier in the"),
    ({"seed": -1}, ConfigError, "non-negative"),
    ({"seed": True}, ConfigError, "non-negative"),
]
REFUSED_VECTORS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_envs": 0}, ConfigError, "num_envs must be at least 1; got 0"),
    ({"env_ids": []}, ConfigError, "at least one environment"),
    ({"env_ids": [GAME] * 2, "num_envs": 3}, ConfigError, "but there are 2 ids"),
    ({"vec_kwargs": [{}, {}]}, ConfigError, "vec_kwargs is a list of 1 mappings"),
    ({"vec_kwargs": {"max_turns": 3}}, ConfigError, "vec_kwargs"),
    ({"vec_kwargs": [{"max_turn": 3}]}, UnknownKwargError, "Did you mean 'max_turns'"),
    ({"env_ids": [GAME, "game:Nothing"]}, UnknownIdError, "game:Nothing"),
    ({"executor": "fork"}, UnknownIdError, "executor 'fork'"),
    ({"executor": {"id": "serial", "max_workers": 2}}, UnknownKwargError, "max_workers"),
    ({"autoreset": "always"}, ConfigError, "'same_step', 'next_step' or 'off'"),
    ({"on_error": "skip"}, ConfigError, "'raise' or 'truncate'"),
    ({"seed": -3}, ConfigError, "non-negative"),
    ({"wrappers": "concat"}, ConfigError, "wrappers is a list"),
]


class Room(BaseEnv):
    """Shows its parameters."""

    def __init__(self, *, size: int = 3, words: Any = ()) -> None:
        self.size = size
        self.words = words
        self.closed = False

    def start(self) -> tuple[Observation, Info]:
        return f"{self.size} {self.rng.random()}", {}

    def step(self, action: Action) -> Step:
        return Step(f"{action} {self.rng.random()}", 1.0, False, False, {})

    def close(self) -> None:
        self.closed = True


class Echo(BaseTool):
    """Answers ``<echo>``."""

    name = "echo"

    def __init__(self, *, prefix: str = "") -> None:
        self.prefix = prefix

    def instructions(self) -> str:
        return "Write <echo>."

    def parse(self, action: Action) -> ToolCall | None:
        return ToolCall("echo", {}, action) if "<echo>" in action else None

    def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(f"{self.prefix}{call.text}")


class Shout(Wrapper):
    """Puts observations into capitals."""

    def after_step(self, action: Action, step: Step) -> Step:
        return step._replace(observation=step.observation.upper())


class BrokenWrapper(Wrapper):
    """Cannot be made."""

    def __init__(self, env: Env) -> None:
        raise OSError("no log file")


ROOM = EnvSpec(id="test:Room-v0", entry_point=Room, kwargs={"size": 4})


def kinds(env: Any) -> list[type]:
    """Return the classes of a stack from the outside in."""
    found = [type(env)]
    while isinstance(env, Wrapper):
        env = env.env
        found.append(type(env))
    return found


class TestMake:
    def test_gives_an_environment_that_knows_its_spec(self) -> None:
        env = gem_core.make(GAME, max_turns=2)
        assert env.spec is not None
        assert env.spec.id == GAME
        assert env.spec.kwargs["max_turns"] == 2
        assert gem_core.spec(GAME).kwargs["max_turns"] == 10
        assert "2 turns" in env.reset(seed=0)[0]

    def test_make_takes_a_spec(self) -> None:
        env: Any = gem_core.make(ROOM)
        assert (env.size, env.spec) == (4, ROOM)
        assert gem_core.make(ROOM, size=5).size == 5  # type: ignore[attr-defined]

    def test_stacks_tools_then_wrappers_from_the_inside_out(self) -> None:
        env = gem_core.make(
            ROOM,
            tools=[Echo],
            wrappers=["concat", {"id": "time_limit", "max_steps": 7}, Shout, "episode_tracking"],
        )
        assert kinds(env) == [EpisodeTracking, Shout, TimeLimit, HistoryWrapper, ToolWrapper, Room]
        assert env.max_steps == 7  # type: ignore[attr-defined]
        assert env.spec is not None
        assert env.spec.id == "test:Room-v0"

    def test_takes_tools_as_functions_and_arguments_of_their_use(self) -> None:
        env = gem_core.make(ROOM, tools=[lambda: Echo(prefix="> ")], tool_use={"max_tool_uses": 1})
        env.reset(seed=0)
        assert env.step("<echo>").observation.startswith("> <echo>")
        assert env.step("<echo>").info["use_tool"] is False

    def test_takes_tools_as_ids_and_mappings(self) -> None:
        registry = default_registry()
        if not any(spec.id == "test:echo" for spec in registry.list(TOOLS)):
            registry.add(ToolSpec(id="test:echo", entry_point=Echo))
        for tool, prefix in (("test:echo", ""), ({"id": "test:echo", "prefix": "> "}, "> ")):
            env = gem_core.make(ROOM, tools=[tool])
            env.reset(seed=0)
            assert env.step("<echo>").observation == f"{prefix}<echo>"

    def test_needs_no_tools_for_the_tool_wrapper(self) -> None:
        assert kinds(gem_core.make(ROOM, tool_use={})) == [ToolWrapper, Room]

    def test_with_a_seed_repeats_resets_without_one(self) -> None:
        def play(seed: int | None) -> list[str]:
            env = gem_core.make(ROOM, seed=seed)
            return [env.reset()[0], env.step("a").observation, env.reset()[0]]

        assert play(3) == play(3) != play(4)
        assert play(3)[0] == gem_core.make(ROOM).reset(seed=3)[0]
        assert play(None) != play(None)

    def test_an_entry_point_may_return_a_wrapped_environment(self) -> None:
        spec = EnvSpec(id="test:Loud-v0", entry_point=lambda: Shout(Room()))
        env = gem_core.make(spec, seed=3)
        assert env.spec is not None
        assert env.spec.id == "test:Loud-v0"
        assert env.reset()[0] == gem_core.make(spec).reset(seed=3)[0]

    def test_closes_the_environment_when_it_cannot_be_seeded(self) -> None:
        class Unlucky(Room):
            def seed(self, seed: int) -> None:
                raise ValueError(seed)

        room = Unlucky()
        with pytest.raises(ValueError, match="7"):
            gem_core.make(gem_core.EnvSpec(id="t:Room", entry_point=lambda: room), seed=7)
        assert room.closed

    def test_closes_the_environment_when_a_wrapper_cannot_be_made(self) -> None:
        room = Room()
        spec = EnvSpec(id="test:Room-v1", entry_point=lambda: room)
        with pytest.raises(OSError, match="no log file"):
            gem_core.make(spec, wrappers=[BrokenWrapper])
        assert room.closed

    def test_refuses_what_cannot_work(self, subtests: pytest.Subtests) -> None:
        for kwargs, error, message in REFUSED:
            with (
                subtests.test(kwargs=repr(kwargs)),
                pytest.raises(error, match=message),
            ):
                gem_core.make(**{"env_id": GAME, **kwargs})

    def test_make_says_which_module_of_an_entry_point_is_missing(self) -> None:
        spec = EnvSpec(id="test:Lost-v0", entry_point="no_such_module.envs:Lost")
        with pytest.raises(EntryPointError, match=r"'test:Lost-v0'.*no module 'no_such_module'"):
            gem_core.make(spec)


class TestMakeVec:
    def test_makes_one_environment_or_as_many_as_are_asked_for(self) -> None:
        assert gem_core.make_vec(GAME).num_envs == 1
        assert gem_core.make_vec(GAME, num_envs=5).num_envs == 5

    def test_takes_an_id_or_spec_for_each_environment(self) -> None:
        with gem_core.make_vec([GAME, ROOM, GAME]) as vector:
            first, second, third = vector.reset(seed=0)[0]
        assert second.startswith("4 ")
        assert "secret" in first
        assert "secret" in third

    def test_gives_each_environment_its_own_parameters_over_those_of_all(self) -> None:
        vec_kwargs: list[dict[str, Any]] = [{"size": 1}, {}, {"size": 3, "words": ["a"]}]
        with gem_core.make_vec(ROOM, num_envs=3, size=9, vec_kwargs=vec_kwargs) as vector:
            assert [text.split()[0] for text in vector.reset()[0]] == ["1", "9", "3"]

    def test_gives_each_environment_a_seed_by_its_index(self) -> None:
        with gem_core.make_vec(ROOM, num_envs=3, seed=5) as vector:
            observations = vector.reset()[0]
            assert observations == [
                gem_core.make(ROOM, seed=child_seed(5, index)).reset()[0] for index in range(3)
            ]
            assert vector.reset(seed=5)[0] == observations
            assert len(set(observations)) == 3

    def test_without_a_seed_makes_different_environments_each_time(self) -> None:
        one, two = (gem_core.make_vec(ROOM).reset()[0] for _ in range(2))
        assert one != two

    @pytest.mark.parametrize(
        "executor",
        ["serial", "threads", {"id": "threads", "max_workers": 2}, {"id": "processes"}],
    )
    def test_puts_tools_and_wrappers_round_every_environment_under_every_executor(
        self, executor: str | Mapping[str, Any]
    ) -> None:
        with gem_core.make_vec(
            ROOM,
            num_envs=2,
            tools=[Echo],
            wrappers=[Shout, {"id": "time_limit", "max_steps": 2}],
            tool_use={"max_tool_uses": 1},
            executor=executor,
        ) as vector:
            vector.reset(seed=0)
            batch = vector.step(["<echo> hi", "a"])
            assert batch.observations[0].startswith("<ECHO> HI")
            assert batch.observations[1].startswith("A ")
            assert vector.step({1: "b"}).truncated == [True]
            assert vector.step({0: "<echo>"}).infos[0]["final_info"]["use_tool"] is False

    def test_shares_no_tool_and_no_wrapper(self) -> None:
        made: list[Any] = []

        def noted(make: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any) -> Any:
                made.append(make(*args))
                return made[-1]

            return run

        gem_core.make_vec(ROOM, num_envs=2, tools=[noted(Echo)], wrappers=[noted(Shout)])
        assert len({id(one) for one in made}) == len(made) == 4

    def test_make_vec_does_not_change_its_arguments(self) -> None:
        given: dict[str, Any] = {
            "vec_kwargs": [{"size": 1}, {"words": ["a", "b"]}],
            "tools": [Echo],
            "wrappers": [{"id": "time_limit", "max_steps": 3}],
            "tool_use": {"max_tool_uses": 2},
            "executor": {"id": "threads", "max_workers": 1},
        }
        before = copy.deepcopy(given)
        with gem_core.make_vec([ROOM, ROOM], seed=1, **given) as vector:
            vector.reset()
            vector.step(["a", "b"])
        assert given == before
        assert ROOM.kwargs == {"size": 4}

    def test_refuses_what_cannot_work(self, subtests: pytest.Subtests) -> None:
        for kwargs, error, message in REFUSED_VECTORS:
            with (
                subtests.test(kwargs=repr(kwargs)),
                pytest.raises(error, match=message),
            ):
                gem_core.make_vec(**{"env_ids": GAME, **kwargs})


class TestRegister:
    def test_makes_an_id_known_to_make_and_to_lists(self) -> None:
        if "test:Registered-v0" not in gem_core.list_envs("test:*"):
            registered = gem_core.register("test:Registered-v0", Room, size=8)
            assert registered == gem_core.spec("test:Registered-v0")
        assert gem_core.make("test:Registered-v0").reset()[0].startswith("8 ")
        assert gem_core.make_vec("test:Registered-v0", size=2).reset()[0][0].startswith("2 ")
        lines: list[str] = []
        print_envs("test:Registered-*", write=lines.append)
        assert "1" in lines[0]
        assert lines[1].startswith("test:Registered-v0 ")
        assert lines[1].endswith("size=8")

    def test_refuses_an_id_without_a_namespace(self) -> None:
        with pytest.raises(InvalidIdError, match="namespace:rest"):
            gem_core.register("Room-v0", Room)

    def test_lists_nothing_for_a_pattern_that_nothing_matches(self) -> None:
        lines: list[str] = []
        print_envs("nowhere:*", write=lines.append)
        assert len(lines) == 1
