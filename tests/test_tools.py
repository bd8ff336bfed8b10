"""The tool wrapper: who gets an action, what a call costs and earns, what the history keeps."""

import asyncio
import functools
import re
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem_core
from gem_core import Action, BaseEnv, BaseTool, Info, Observation, Step, Tool, ToolCall, ToolResult
from gem_core.calls.tags import TOOLS_HEADING
from gem_core.errors import ConfigError, EpisodeEndedError, SnapshotError
from gem_core.factory import make_factory
from gem_core.specs import EnvSpec
from gem_core.tool import Function
from gem_core.wrappers import EpisodeTracking, HistoryWrapper, TimeLimit, ToolWrapper
from gem_core.wrappers.tools import BUDGET_SPENT


class Question(BaseEnv):
    """Three answers, then it is over; counts its own turns."""

    def start(self, *, idx: int = 0) -> tuple[Observation, Info]:
        self.turn = 0
        return f"Question {idx}.", {"suffix": "Answer:"}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(f"heard {action}", 0.5, self.turn == 3, False, {"turn": self.turn})

    def sample_random_action(self) -> Action:
        return self.action_rng.choice(["<add>1</add>", "<fail>x</fail>", "an answer"])


class TagTool(BaseTool):
    """Calls are ``<name>argument</name>``."""

    shared: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def instructions(self) -> str:
        return f"Write <{self.name}>...</{self.name}>."

    def parse(self, action: Action) -> ToolCall | None:
        match = re.search(rf"<{self.name}>(.*?)</{self.name}>", action)
        return match and ToolCall(self.name, {"text": match[1]}, action[: match.end()])


class Adder(TagTool):
    """Adds up numbers over an episode; anything else fails."""

    def __init__(self, name: str = "add") -> None:
        super().__init__(name)
        self.total, self.closed = 0, 0
        self.log: list[str] = []

    def run(self, call: ToolCall) -> ToolResult:
        text = call.arguments["text"]
        self.log.append(text)
        if not text.lstrip("-").isdigit():
            return ToolResult(f"{text!r} is no number.", ok=False, info={"why": "text"})
        self.total += int(text)
        return ToolResult(f"total {self.total}", info={"total": self.total})

    def reset(self) -> None:
        self.total, self.log = 0, []

    def close(self) -> None:
        self.closed += 1


class AsyncAdder(Adder):
    blocking = True

    async def run(self, call: ToolCall) -> ToolResult:  # type: ignore[override]
        await asyncio.sleep(0)
        if call.arguments["text"] == "crash":
            raise OSError("the line is dead")
        return super().run(call)


class Failing(TagTool):
    """Every call raises."""

    def __init__(self, name: str = "fail") -> None:
        super().__init__(name)

    def run(self, call: ToolCall) -> ToolResult:
        raise ZeroDivisionError(f"cannot do {call.arguments['text']}")


def question(*tools: Any, **options: Any) -> Any:
    env = ToolWrapper(Question(), tools=tools, **options)
    env.reset(seed=1)
    return env


def counters(step: Step) -> tuple[int, int]:
    return step.info["tool_use_counter"], step.info["tool_success_counter"]


class TestReset:
    def test_the_instructions_follow_the_question(self) -> None:
        env = ToolWrapper(Question(), tools=[Adder()])
        observation, info = env.reset(seed=1)
        assert observation == "Question 0.\nWrite <add>...</add>."
        assert info == {
            "suffix": "Answer:",
            "tool_use_counter": 0,
            "tool_success_counter": 0,
            "prev_ep_tool_use_counter": 0,
            "prev_ep_tool_success_counter": 0,
            "use_tool": False,
        }

    def test_several_tools_get_a_heading(self) -> None:
        env = ToolWrapper(Question(), tools=[Adder(), Failing()])
        lines = env.reset()[0].splitlines()
        assert lines == [
            "Question 0.",
            TOOLS_HEADING,
            "Write <add>...</add>.",
            "Write <fail>...</fail>.",
        ]

    def test_without_tools_the_observation_stays(self) -> None:
        assert ToolWrapper(Question()).reset()[0] == "Question 0."

    def test_options_and_seeds_of_reset_reach_the_environment(self) -> None:
        assert ToolWrapper(Question()).reset(seed=1, idx=4)[0] == "Question 4."

    def test_the_last_episodes_counters_are_kept_and_the_tools_forget(self) -> None:
        env = question(Adder())
        for action in ("<add>1</add>", "<add>x</add>", "<add>2</add>"):
            env.step(action)
        info = env.reset()[1]
        assert (info["prev_ep_tool_use_counter"], info["prev_ep_tool_success_counter"]) == (3, 2)
        assert (info["tool_use_counter"], info["tool_success_counter"]) == (0, 0)
        assert env.step("<add>5</add>").observation == "total 5"
        assert env.reset()[1]["prev_ep_tool_use_counter"] == 1

    def test_the_instructions_go_into_the_text_of_a_dict(self) -> None:
        class Picture(Question):
            def start(self, *, idx: int = 0) -> tuple[Observation, Info]:
                _, info = super().start(idx=idx)
                return {"image": b"pixels", "text": "What is it?"}, info

        observation, _ = ToolWrapper(Picture(), tools=[Adder()]).reset()
        assert observation == {"image": b"pixels", "text": "What is it?\nWrite <add>...</add>."}


class TestCalls:
    def test_a_call_is_answered_and_the_environment_takes_no_turn(self) -> None:
        env = question(Adder())
        step = env.step("I think <add>4</add> and so on")
        assert step == Step(
            "total 4",
            0.0,
            False,
            False,
            {
                "total": 4,
                "parsed_action": "I think <add>4</add>",
                "tool_type": "add",
                "use_tool": True,
                "tool_use_counter": 1,
                "tool_success_counter": 1,
            },
        )
        assert env.turn == 0

    def test_a_call_that_was_only_thought_of_is_none(self) -> None:
        thought = "<think>perhaps <add>4</add></think>"
        for action in (f"{thought} no", "<add>4</add> or not</think> no", "<think><add>4</add>"):
            assert not question(Adder()).step(action).info["use_tool"]
        step = question(Adder()).step(f"{thought} so <add>5</add> and so on")
        assert step.observation == "total 5"
        assert step.info["parsed_action"] == f"{thought} so <add>5</add>"

    def test_an_action_without_a_call_reaches_the_environment_unchanged(self) -> None:
        env = question(Adder())
        step = env.step("just <add 4")
        assert step == Step(
            "heard just <add 4",
            0.5,
            False,
            False,
            {"turn": 1, "use_tool": False, "tool_use_counter": 0, "tool_success_counter": 0},
        )

    @pytest.mark.parametrize(
        ("rewards", "success", "failure"),
        [
            ({}, 0.0, 0.0),
            ({"tool_reward": 0.25}, 0.25, 0.25),
            ({"tool_reward": 0.25, "tool_success_reward": 0.5}, 0.75, 0.25),
            ({"tool_success_reward": 0.5}, 0.5, 0.0),
            ({"tool_execute_error_reward": -0.5}, 0.0, -0.5),
        ],
    )
    def test_rewards_of_calls(
        self, rewards: dict[str, float], success: float, failure: float
    ) -> None:
        env = question(Adder(), **rewards)
        assert env.step("<add>1</add>").reward == success
        assert env.step("<add>one</add>").reward == failure
        assert env.step("answer").reward == 0.5

    def test_a_failed_call_counts_as_a_use_and_not_as_a_success(self) -> None:
        env = question(Adder())
        step = env.step("<add>one</add>")
        assert step.observation == "'one' is no number."
        assert counters(step) == (1, 0)
        assert step.info["use_tool"] is True
        assert step.info["why"] == "text"
        assert env.turn == 0

    def test_the_first_tool_that_succeeds_wins_and_no_later_one_runs(self) -> None:
        first, second = Adder("one"), Adder("two")
        env = question(first, second)
        step = env.step("<two>2</two> <one>1</one>")
        assert step.info["tool_type"] == "one"
        assert second.log == []
        assert counters(step) == (1, 1)

    def test_a_later_success_is_preferred_to_an_earlier_failure(self) -> None:
        env = question(Failing(), Adder(), tool_success_reward=1.0)
        step = env.step("<fail>x</fail> <add>2</add>")
        assert (step.observation, step.reward) == ("total 2", 1.0)
        assert step.info["tool_type"] == "add"
        assert counters(step) == (1, 1)

    def test_an_error_is_kept_if_no_later_tool_is_called(self) -> None:
        env = question(Adder("first"), Adder("second"))
        step = env.step("<first>one</first>")
        assert step.observation == "'one' is no number."
        assert step.info["tool_type"] == "first"
        assert env.turn == 0

    def test_of_several_errors_the_first_is_shown(self) -> None:
        env = question(Adder("first"), Adder("second"))
        step = env.step("<second>two</second><first>one</first>")
        assert step.observation == "'one' is no number."
        assert counters(step) == (1, 0)

    def test_an_error_raised_by_a_tool_is_recorded_and_the_episode_goes_on(self) -> None:
        env = question(Failing())
        step = env.step("<fail>this</fail>")
        assert "'fail' failed: ZeroDivisionError: cannot do this" in step.observation
        record = step.info["error"]
        assert (record["boundary"], record["type"]) == ("tool", "ZeroDivisionError")
        assert record["message"] == "cannot do this"
        assert "Traceback" in record["traceback"]
        assert counters(step) == (1, 0)
        assert env.step("answer").observation == "heard answer"

    def test_what_the_environment_raises_is_not_the_tools_fault(self) -> None:
        class Broken(Question):
            def step(self, action: Action) -> Step:
                raise LookupError(action)

        env = ToolWrapper(Broken(), tools=[Adder()])
        env.reset()
        with pytest.raises(LookupError, match="answer"):
            env.step("answer")

    @pytest.mark.slow
    @settings(deadline=None)
    @given(st.lists(st.sampled_from(["<add>1</add>", "<add>x</add>", "answer"]), max_size=12))
    def test_counters_count_in_any_order(self, actions: list[str]) -> None:
        env = question(Adder(), max_tool_uses=4)
        uses = successes = turns = 0
        for action in actions:
            if turns == 3:
                break
            step = env.step(action)
            if "<" in action and uses < 4:
                uses += 1
                successes += "1" in action
            else:
                turns += 1
            assert counters(step) == (uses, successes)
            assert env.turn == turns


class TestBudget:
    def test_the_last_call_says_so_after_a_blank_line(self) -> None:
        env = question(Adder(), max_tool_uses=2)
        assert env.step("<add>1</add>").observation == "total 1"
        assert env.step("<add>1</add>").observation == f"total 2\n\n{BUDGET_SPENT}"

    def test_a_failed_call_uses_the_budget_up_too(self) -> None:
        env = question(Failing(), max_tool_uses=1)
        assert env.step("<fail>a</fail>").observation.endswith(f"\n\n{BUDGET_SPENT}")

    def test_after_the_budget_actions_go_to_the_environment_whole(self) -> None:
        env = question(Adder(), max_tool_uses=1)
        env.step("<add>1</add>")
        step = env.step("<add>1</add> and more")
        assert step.observation == "heard <add>1</add> and more"
        assert step.info["use_tool"] is False
        assert counters(step) == (1, 1)

    def test_a_budget_of_none_means_no_limit(self) -> None:
        env = question(Adder(), max_tool_uses=None)
        steps = [env.step("<add>1</add>") for _ in range(50)]
        assert steps[-1].observation == "total 50"

    def test_a_budget_of_0_gives_every_action_to_the_environment(self) -> None:
        step = question(Adder(), max_tool_uses=0).step("<add>1</add>")
        assert step.observation == "heard <add>1</add>"
        assert step.info["use_tool"] is False

    def test_a_reset_gives_the_budget_back(self) -> None:
        env = question(Adder(), max_tool_uses=1)
        env.step("<add>1</add>")
        env.reset()
        assert env.step("<add>1</add>").info["use_tool"] is True


class TestEnd:
    def test_a_call_before_reset_is_a_step_without_an_episode(self) -> None:
        tool = Adder()
        env = ToolWrapper(Question(), tools=[tool])
        with pytest.raises(EpisodeEndedError, match="no episode has been started"):
            env.step("<add>1</add>")
        assert tool.log == []

    def test_a_call_after_the_end_is_a_step_after_the_end(self) -> None:
        env = question(Adder())
        for _ in range(3):
            last = env.step("answer")
        assert last.terminated
        with pytest.raises(EpisodeEndedError, match="has ended"):
            env.step("<add>1</add>")
        with pytest.raises(EpisodeEndedError):
            env.fork().step("<add>1</add>")

    def test_a_time_limit_inside_counts_answers_and_outside_calls_too(self) -> None:
        inside: Any = ToolWrapper(_limited(Question(), 1), tools=[Adder()])
        outside: Any = _limited(ToolWrapper(Question(), tools=[Adder()]), 1)
        for env, truncated in ((inside, False), (outside, True)):
            env.reset()
            assert env.step("<add>1</add>").truncated is truncated
        assert inside.step("answer").truncated
        for env in (inside, outside):
            with pytest.raises(EpisodeEndedError):
                env.step("<add>1</add>")

    def test_closing_closes_every_tool_and_the_environment_even_if_one_fails(self) -> None:
        class Stuck(Adder):
            def close(self) -> None:
                super().close()
                raise OSError("stuck")

        closed = []

        class Door(Question):
            def close(self) -> None:
                closed.append("env")

        tools = [Adder("a"), Stuck("b"), Adder("c")]
        env = ToolWrapper(Door(), tools=tools)
        with pytest.raises(OSError, match="stuck"):
            env.close()
        assert [tool.closed for tool in tools] == [1, 1, 1]
        assert closed == ["env"]


def _limited(env: Any, max_steps: int) -> Any:
    return TimeLimit(env, max_steps=max_steps)


class TestCopies:
    @pytest.fixture
    def env(self) -> Any:
        env: Any = question(Adder(), AsyncSafe(), Failing(), max_tool_uses=6)
        env = EpisodeTracking(_limited(HistoryWrapper(env, include_action=True), 20))
        env.reset(seed=1)
        env.step("<add>3</add>")
        return env

    ACTIONS: ClassVar[list[str]] = ["<add>4</add>", "<fail>x</fail>", "<safe>2</safe>", "answer"]

    def test_a_fork_has_its_own_tools_in_the_same_state(self, env: Any) -> None:
        fork = env.fork()
        expected = [env.step(action) for action in self.ACTIONS]
        assert expected[0].observation.endswith("total 7\n")
        assert [_plain(fork.step(action)) for action in self.ACTIONS] == [
            _plain(step) for step in expected
        ]
        fork.env.env.env.tools[0].log.append("only here")
        assert "only here" not in env.env.env.env.tools[0].log

    def test_a_snapshot_has_the_tools_in_it(self, env: Any) -> None:
        saved = env.snapshot()
        expected = [_plain(env.step(action)) for action in self.ACTIONS]
        env.reset()
        env.restore(saved)
        assert [_plain(env.step(action)) for action in self.ACTIONS] == expected

    def test_a_spawned_stack_starts_with_counters_at_0(self, env: Any) -> None:
        spawned = env.spawn()
        with pytest.raises(EpisodeEndedError):
            spawned.step("<add>1</add>")
        info = spawned.reset()[1]
        assert [value for name, value in info.items() if name.startswith("prev_ep_")] == [0] * 4

    def test_a_fork_of_a_tool_keeps_the_attributes_declared_as_shared(self) -> None:
        class Connected(Adder):
            shared: ClassVar[tuple[str, ...]] = ("line",)

            def __init__(self) -> None:
                super().__init__()
                self.line = object()

        env = question(Connected())
        fork = env.fork()
        assert fork.tools[0] is not env.tools[0]
        assert fork.tools[0].line is env.tools[0].line

    @pytest.mark.parametrize(
        "other",
        [
            question,
            lambda: question(Adder(), Adder("b")),
            lambda: question(Adder(), Failing()),
        ],
    )
    def test_a_snapshot_of_other_tools_is_refused_and_nothing_changes(
        self, other: Callable[[], Any]
    ) -> None:
        env = question(Adder(), AsyncSafe())
        env.step("<add>3</add>")
        with pytest.raises(SnapshotError):
            env.restore(other().snapshot())
        assert env.step("<add>4</add>").observation == "total 7"

    def test_a_snapshot_with_another_environment_leaves_the_tools_as_they_were(self) -> None:
        class Riddle(Question):
            pass

        env, other = question(Adder()), ToolWrapper(Riddle(), tools=[Adder()])
        env.step("<add>3</add>")
        with pytest.raises(SnapshotError):
            env.restore(other.snapshot())
        assert env.step("<add>4</add>").observation == "total 7"

    @pytest.mark.parametrize("tool", [Adder, Adder()], ids=["class", "object"])
    def test_environments_of_one_factory_share_no_tool(self, tool: Any) -> None:
        spec = EnvSpec(id="test:Question", entry_point=Question)
        factory = make_factory(spec, tools=[tool], tool_use={"max_tool_uses": 3})
        one, two = factory(), factory()
        for env in (one, two):
            env.reset()
        one.step("<add>5</add>")
        assert two.step("<add>1</add>").observation == "total 1"

    def test_sampling_actions_does_not_use_a_tool(self, env: Any) -> None:
        before = env.snapshot()
        for _ in range(5):
            env.sample_random_action()
        again = env.fork()
        env.restore(before)
        assert _plain(again.step("<add>4</add>")) == _plain(env.step("<add>4</add>"))


class AsyncSafe(Adder):
    """A second tool with state."""

    def __init__(self) -> None:
        super().__init__("safe")


def _plain(step: Step) -> Step:
    """Return a step without tracebacks, whose lines differ."""
    return step._replace(info={name: value for name, value in step.info.items() if name != "error"})


class TestAsyncTools:
    def test_an_awaitable_result_makes_the_step_awaitable(self) -> None:
        async def episode() -> list[Step]:
            env = question(AsyncAdder(), Adder("sync"))
            actions = ["<add>1</add>", "<add>x</add><sync>5</sync>", "<add>x</add>"]
            return [await env.step(action) for action in actions]

        steps = asyncio.run(episode())
        assert [step.observation for step in steps] == ["total 1", "total 5", "'x' is no number."]
        assert [counters(step) for step in steps] == [(1, 1), (2, 2), (3, 2)]

    def test_an_action_that_calls_no_asynchronous_tool_is_not_awaited(self) -> None:
        env = question(AsyncAdder(), Adder("sync"))
        assert env.step("<sync>1</sync>").observation == "total 1"
        assert env.step("answer").observation == "heard answer"

    def test_what_an_asynchronous_tool_raises_is_recorded(self) -> None:
        async def episode() -> Step:
            step: Step = await question(AsyncAdder()).step("<add>crash</add>")
            return step

        step = asyncio.run(episode())
        assert "OSError: the line is dead" in step.observation
        assert step.info["error"]["type"] == "OSError"

    def test_a_cancelled_call_is_not_a_fault_of_the_tool(self) -> None:
        class Stuck(AsyncAdder):
            async def run(self, call: ToolCall) -> ToolResult:  # type: ignore[override]
                await asyncio.Event().wait()
                return ToolResult(call.text)

        async def episode() -> None:
            env = question(Stuck())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(env.step("<add>1</add>"), 0.01)
            assert env.tool_use_counter == 0
            assert env.step("answer").observation == "heard answer"

        asyncio.run(episode())

    def test_the_stack_may_wait_if_a_tool_may(self) -> None:
        assert question(Adder(), AsyncAdder("wait")).blocking
        assert not question(Adder()).blocking


class TestArguments:
    @pytest.mark.parametrize(
        "options",
        [
            {"tool_execute_error_reward": 0.5},
            {"tool_execute_error_reward": -0.5, "tool_reward": 0.1},
            {"tool_execute_error_reward": -0.5, "tool_success_reward": 0.1},
            {"max_tool_uses": -1},
            {"tools": [Adder(), Adder()]},
        ],
    )
    def test_what_cannot_work_is_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            ToolWrapper(Question(), **options)

    def test_make_takes_tools_and_how_they_are_used(self) -> None:
        env = gem_core.make(
            "game:GuessTheNumber-v0-easy",
            tools=[Adder, lambda: Adder("more")],
            tool_use={"max_tool_uses": 1, "tool_reward": 0.05},
            wrappers=["concat_with_action", "episode_tracking"],
        )
        assert TOOLS_HEADING in env.reset(seed=1)[0]
        step = env.step("<more>2</more> dropped")
        assert step.reward == 0.05
        assert "<more>2</more>\ntotal 2\n\n" in step.observation
        assert "dropped" not in step.observation
        assert step.info["step_counter"] == 1

    def test_a_tool_with_functions_needs_no_tags(self) -> None:
        class Loud(BaseTool):
            name = "loud"

            def functions(self) -> list[Function]:
                return [Function("loud", "Shouts.", {"type": "object", "properties": {}})]

            def run(self, call: ToolCall) -> ToolResult:
                return ToolResult("LOUD")

        make = functools.partial(gem_core.make, "game:GuessTheNumber-v0-easy", tools=[Loud])
        env = make(tool_use={"call_format": "hermes"})
        env.reset(seed=1)
        step = env.step('<tool_call>{"name": "loud", "arguments": {}}</tool_call>')
        assert step.info["tool_calls"][0]["output"] == "LOUD"
        with pytest.raises(ConfigError, match=r"'loud' cannot be called in tags.*'hermes'"):
            make()

    def test_what_a_tool_lacks_is_named(self) -> None:
        class Half:
            def run(self, call: ToolCall) -> ToolResult:
                return ToolResult("")

        class Nameless(BaseTool):
            def run(self, call: ToolCall) -> ToolResult:
                return ToolResult("")

        with pytest.raises(ConfigError, match=r"Half lacks name, blocking, instructions, parse"):
            gem_core.make("game:GuessTheNumber-v0-easy", tools=[Half])
        with pytest.raises(ConfigError, match=r"The tool Nameless lacks name\. "):
            gem_core.make("game:GuessTheNumber-v0-easy", tools=[Nameless])

    def test_base_tools_follow_the_protocol(self) -> None:
        assert isinstance(Adder(), Tool)
