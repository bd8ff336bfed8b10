"""The tool wrapper with formats that name functions: several calls, budgets, states, chats."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import (
    Action,
    AsyncEnv,
    BaseEnv,
    BaseTool,
    Function,
    Info,
    Observation,
    Step,
    ToolCall,
    ToolResult,
)
from gem_core.calls import CallFormat, FunctionFormat, Reading, Request
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_core.specs import CALL_FORMATS, Spec
from gem_core.wrappers import HistoryWrapper, ToolWrapper
from gem_core.wrappers.tools import BUDGET_SPENT, OVER_BUDGET, OVER_TOOL_BUDGET, TOOL_SPENT
from gem_tasks import ToolSet, as_tool
from gem_tools.formats import FencedFormat, HermesFormat, OpenAIFormat

few = settings(max_examples=100 if thorough() else 25)


class Question(BaseEnv):
    """Hears three answers, then it is over."""

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return "Question.", {}

    def step(self, action: Action) -> Step:
        self.turn += 1
        return Step(f"heard {action}", 0.5, self.turn == 3, False, {})


class AsyncQuestion(AsyncEnv):
    async def start(self) -> tuple[Observation, Info]:
        return "Question.", {}

    async def step(self, action: Action) -> Step:
        return Step(f"heard {action}", 0.5, False, False, {})


class Adder(BaseTool):
    """Adds up numbers over an episode; below 0 it fails, at 13 it breaks."""

    def __init__(self, name: str = "add") -> None:
        self.name, self.total = name, 0

    def instructions(self) -> str:
        return "Add."

    def functions(self) -> Sequence[Function]:
        number = {"type": "integer"}
        schema = {"type": "object", "properties": {"number": number}, "required": ["number"]}
        return [Function(self.name, "Adds to the total.", schema)]

    def parse(self, action: Action) -> ToolCall | None:
        return None

    def run(self, call: ToolCall) -> ToolResult:
        number = call.arguments["number"]
        if number == 13:
            raise ZeroDivisionError("unlucky")
        if number < 0:
            return ToolResult("too small", ok=False, info={"why": "small"})
        self.total += number
        return ToolResult(f"total {self.total}", info={"total": self.total})

    def reset(self) -> None:
        self.total = 0


def calls(*numbers: int, name: str = "add") -> str:
    return "".join(call(name, number=number) for number in numbers)


def call(function: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': function, 'arguments': arguments})}</tool_call>"


def question(*tools: Any, env: Any = None, **options: Any) -> Any:
    wrapped = ToolWrapper(env or Question(), tools=tools, call_format=HermesFormat(), **options)
    wrapped.reset(seed=1)
    return wrapped


def counters(step: Step) -> tuple[int, int]:
    return step.info["tool_use_counter"], step.info["tool_success_counter"]


def told(step: Step) -> list[str]:
    return [message["content"] for message in step.info["tool_messages"][1:]]


class TestCalls:
    def test_a_call_is_answered_and_the_environment_takes_no_turn(self) -> None:
        env = question(Adder())
        action = f"So: {calls(4)}"
        step = env.step(f"{action} and so on")
        assert step.observation == "<tool_response>\ntotal 4\n</tool_response>"
        assert (step.reward, step.terminated, step.truncated) == (0.0, False, False)
        (record,) = step.info.pop("tool_calls")
        assert record.pop("seconds") > 0
        assert record == {
            "tool": "add",
            "function": "add",
            "arguments": {"number": 4},
            "id": "",
            "ok": True,
            "output": "total 4",
            "info": {"total": 4},
        }
        assert step.info == {
            "total": 4,
            "parsed_action": action,
            "tool_type": "add",
            "use_tool": True,
            "tool_use_counter": 1,
            "tool_success_counter": 1,
            "tool_messages": [
                {"role": "assistant", "content": action},
                {"role": "tool", "name": "add", "content": "total 4"},
            ],
        }
        assert env.turn == 0

    def test_every_other_action_goes_to_the_environment_as_it_is(self) -> None:
        env = question(Adder())
        assert env.step("just <add>4</add>") == Step(
            "heard just <add>4</add>",
            0.5,
            False,
            False,
            {"use_tool": False, "tool_use_counter": 0, "tool_success_counter": 0},
        )

    def test_several_calls_run_in_order_and_each_has_its_result(self) -> None:
        env = question(Adder(), Adder("more"))
        step = env.step(calls(1, 2) + calls(5, name="more") + calls(3))
        assert told(step) == ["total 1", "total 3", "total 5", "total 6"]
        assert [record["tool"] for record in step.info["tool_calls"]] == ["add"] * 2 + [
            "more",
            "add",
        ]
        assert step.info["tool_type"] == "add"
        assert counters(step) == (4, 4)

    def test_a_failure_among_calls_is_its_own(self) -> None:
        env = question(Adder())
        step = env.step(calls(1, -1, 13, 2))
        assert [record["ok"] for record in step.info["tool_calls"]] == [True, False, False, True]
        assert told(step) == [
            "total 1",
            "too small",
            "The tool 'add' failed: ZeroDivisionError: unlucky",
            "total 3",
        ]
        assert step.info["why"] == "small"
        assert step.info["error"]["boundary"] == "tool"
        assert counters(step) == (4, 2)

    @pytest.mark.parametrize(
        ("action", "expected"),
        [
            ("<tool_call>oops", "The call is not valid JSON"),
            (call("ad", number=1), "There is no function 'ad'. Did you mean 'add'?"),
            (call("add"), "'number' is a required property"),
            (call("add", number="1"), "number: '1' is not of type 'integer'"),
            (call("add", number=1, more=2), "'more' was unexpected"),
        ],
    )
    def test_a_call_that_cannot_be_run_has_failed(self, action: str, expected: str) -> None:
        env = question(Adder(), tool_execute_error_reward=-0.5)
        step = env.step(action)
        assert expected in step.observation
        assert step.info["use_tool"] is True
        assert (counters(step), step.reward, env.turn) == ((1, 0), -0.5, 0)

    @pytest.mark.parametrize(
        ("rewards", "expected"),
        [
            ({}, 0.0),
            ({"tool_reward": 0.25}, 0.75),
            ({"tool_reward": 0.25, "tool_success_reward": 0.5}, 1.75),
            ({"tool_execute_error_reward": -0.5}, -0.5),
        ],
    )
    def test_the_reward_is_the_sum_over_the_calls(
        self, rewards: dict[str, float], expected: float
    ) -> None:
        assert question(Adder(), **rewards).step(calls(1, -1, 2)).reward == expected

    @pytest.mark.slow
    @few
    @given(st.lists(st.lists(st.integers(-1, 2), max_size=4), max_size=6), st.integers(0, 6))
    def test_counters_count_in_any_order(self, turns: list[list[int]], limit: int) -> None:
        env = question(Adder(), max_tool_uses=limit, env=Deaf())
        uses = successes = 0
        for numbers in turns:
            step = env.step(calls(*numbers))
            run = numbers[: limit - uses]
            uses += len(run)
            successes += sum(number >= 0 for number in run)
            assert counters(step) == (uses, successes)
            assert step.info["use_tool"] is bool(run)


class Deaf(Question):
    """Never ends."""

    def step(self, action: Action) -> Step:
        return Step("", 0.0, False, False, {})


class TestBudget:
    def test_calls_beyond_the_total_are_answered_and_not_run(self) -> None:
        env = question(Adder(), max_tool_uses=2, tool_reward=0.25)
        step = env.step(calls(1, 2, 3, 4))
        assert told(step) == [
            "total 1",
            f"total 3\n\n{BUDGET_SPENT}",
            OVER_BUDGET.format(2),
            OVER_BUDGET.format(2),
        ]
        assert (counters(step), step.reward) == ((2, 2), 0.5)
        assert [record["ok"] for record in step.info["tool_calls"]] == [True, True, False, False]

    def test_a_tool_may_have_its_own_budget(self) -> None:
        env = question(Adder(), Adder("more"), max_uses_per_tool={"add": 2})
        step = env.step(calls(1, 2, 3) + calls(4, name="more"))
        assert told(step) == [
            "total 1",
            f"total 3\n\n{TOOL_SPENT.format('add')}",
            OVER_TOOL_BUDGET.format(2, "add"),
            "total 4",
        ]
        assert counters(step) == (4, 3)
        assert told(env.step(calls(1))) == [OVER_TOOL_BUDGET.format(2, "add")]
        assert counters(env.step(calls(1, name="more"))) == (6, 4)

    def test_a_budget_of_a_tool_counts_calls_that_could_not_be_run(self) -> None:
        env = question(Adder(), max_uses_per_tool={"add": 1})
        assert TOOL_SPENT.format("add") in told(env.step(call("add")))[0]

    def test_a_reset_gives_the_budgets_back(self) -> None:
        env = question(Adder(), max_uses_per_tool={"add": 1})
        env.step(calls(1))
        env.reset()
        assert env.step(calls(1)).info["tool_calls"][0]["ok"]

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"max_uses_per_tool": {"ad": 1}}, "names no tool with 'ad'. Did you mean 'add'"),
            ({"max_uses_per_tool": {"add": -1}}, "must be 0 or more; got -1 of 'add'"),
            ({"instructions": "nowhere"}, "'text' or 'schemas'"),
            ({"call_format": "tags", "instructions": "schemas"}, "other than 'tags'"),
            ({"call_format": "hermes"}, r"is 'tags' or a CallFormat.*gem_core\.make"),
        ],
    )
    def test_what_cannot_work_is_refused(self, options: dict[str, Any], match: str) -> None:
        with pytest.raises(ConfigError, match=match):
            ToolWrapper(Question(), tools=[Adder()], **{"call_format": HermesFormat(), **options})

    def test_a_tool_without_functions_is_refused_at_the_first_reset(self) -> None:
        class Mute(Adder):
            def functions(self) -> Sequence[Function]:
                return ()

        env = ToolWrapper(Question(), tools=[Mute()], call_format=HermesFormat())
        with pytest.raises(ConfigError, match="'add' names no functions"):
            env.reset()


class TestCopies:
    def test_a_fork_has_its_own_tools_counters_and_budgets(self) -> None:
        env = question(Adder(), max_tool_uses=5, max_uses_per_tool={"add": 3})
        env.step(calls(1, 2))
        saved, fork = env.snapshot(), env.fork()
        expected = [told(env.step(action)) for action in (calls(4, 5), calls(6))]
        assert expected[0][0].startswith("total 7")
        assert [told(fork.step(action)) for action in (calls(4, 5), calls(6))] == expected
        env.reset()
        env.restore(saved)
        assert [told(env.step(action)) for action in (calls(4, 5), calls(6))] == expected
        spawned = env.spawn()
        spawned.reset()
        assert told(spawned.step(calls(1))) == ["total 1"]

    @pytest.mark.slow
    def test_a_vector_of_processes_runs_functions_of_a_script(self) -> None:
        @as_tool
        def double(number: int) -> int:
            """Doubles."""
            return 2 * number

        with gem_core.make_vec(
            "game:GuessTheNumber-v0-easy",
            num_envs=2,
            tools=[double, ToolSet(Counter)],
            tool_use={"call_format": "hermes"},
            executor={"id": "processes", "max_workers": 1},
        ) as vector:
            vector.reset(seed=1)
            actions = [call("double", number=4) + call("count"), call("count") + call("count")]
            infos = vector.step(actions).infos
            assert [told_of(info) for info in infos] == [["8", "1"], ["1", "2"]]


def told_of(info: Info) -> list[str]:
    return [message["content"] for message in info["tool_messages"][1:]]


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.number = 0

    def count(self) -> int:
        """Counts up."""
        self.number += 1
        return self.number


class Meeting(BaseTool):
    """Calls end only once as many have begun as are expected."""

    name = "meet"
    blocking = True

    def __init__(self, expected: int) -> None:
        self.expected, self.begun, self.all_here = expected, 0, asyncio.Event()

    def instructions(self) -> str:
        return "Meet."

    def functions(self) -> Sequence[Function]:
        return [Function("meet", "Meets.", {"type": "object", "properties": {}})]

    def parse(self, action: Action) -> ToolCall | None:
        return None

    async def run(self, call: ToolCall) -> ToolResult:
        self.begun += 1
        if self.begun == self.expected:
            self.all_here.set()
        number = self.begun
        await self.all_here.wait()
        return ToolResult(f"number {number}")

    def reset(self) -> None:
        self.begun = 0


class TestConcurrentCalls:
    @pytest.mark.parametrize("make_env", [Question, AsyncQuestion])
    def test_calls_that_wait_wait_together(self, make_env: Any) -> None:
        async def episode() -> Step:
            env = ToolWrapper(make_env(), tools=[Meeting(3), Adder()], call_format=HermesFormat())
            first = env.reset()
            if make_env is AsyncQuestion:
                await first  # type: ignore[misc]
            step: Step = await asyncio.wait_for(
                env.step(call("meet") + calls(1) + call("meet") * 2), 30
            )
            return step

        step = asyncio.run(episode())
        assert told(step) == ["number 1", "total 1", "number 2", "number 3"]
        assert counters(step) == (4, 4)

    def test_calls_of_a_tool_in_order_wait_for_each_other(self) -> None:
        class Log:
            """Keeps lines."""

            def __init__(self) -> None:
                self.lines: list[str] = []

            async def append(self, line: str) -> str:
                """Appends a line."""
                before = list(self.lines)
                await asyncio.sleep(0)
                self.lines = [*before, line]
                return " ".join(self.lines)

        async def episode(*, in_order: bool) -> list[str]:
            env = question(ToolSet(Log, in_order=in_order))
            return told(await env.step("".join(call("append", line=line) for line in "abc")))

        assert asyncio.run(episode(in_order=True)) == ["a", "a b", "a b c"]
        assert asyncio.run(episode(in_order=False)) == ["a", "b", "c"]

    def test_an_asynchronous_environment_uses_arun(self) -> None:
        class Both(Adder):
            async def arun(self, call: ToolCall) -> ToolResult:
                return ToolResult(f"arun {self.run(call).output}")

        async def episode() -> Step:
            env = ToolWrapper(AsyncQuestion(), tools=[Both()], call_format=HermesFormat())
            await env.reset()  # type: ignore[misc]
            step: Step = await env.step(calls(1, 13))
            return step

        assert told(asyncio.run(episode())) == [
            "arun total 1",
            "The tool 'add' failed: ZeroDivisionError: unlucky",
        ]
        assert told(question(Both()).step(calls(1))) == ["total 1"]

    def test_a_step_that_is_given_up_ends_all_its_calls_and_counts_none(self) -> None:
        async def episode() -> None:
            env = question(Meeting(9))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(env.step(call("meet") * 3), 0.05)
            assert len(asyncio.all_tasks()) == 1
            assert env.tool_use_counter == 0
            assert env.step("answer").observation == "heard answer"

        asyncio.run(episode())


class TestOpenAI:
    @staticmethod
    def message(*numbers: int) -> dict[str, Any]:
        made = [
            {
                "id": f"c{number}",
                "type": "function",
                "function": {"name": "add", "arguments": json.dumps({"number": number})},
            }
            for number in numbers
        ]
        return {"role": "assistant", "content": None, "tool_calls": made}

    def env(self, **options: Any) -> Any:
        env = ToolWrapper(Question(), tools=[Adder()], call_format=OpenAIFormat(), **options)
        env.reset()
        return env

    def test_an_openai_message_is_an_action(self) -> None:
        step = self.env().step(self.message(1, 2))
        assert [json.loads(line) for line in step.observation.splitlines()] == [
            {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "total 1"},
            {"role": "tool", "tool_call_id": "c2", "name": "add", "content": "total 3"},
        ]
        assert [record["id"] for record in step.info["tool_calls"]] == ["c1", "c2"]
        said = json.loads(step.info["parsed_action"])
        assert said["tool_calls"][0]["function"]["arguments"] == {"number": 1}

    def test_a_message_without_calls_is_its_text_to_environment_and_history(self) -> None:
        env: Any = HistoryWrapper(self.env(), include_action=True)
        env.reset()
        step = env.step({"role": "assistant", "content": "42"})
        assert step.observation.endswith("\n42\nheard 42\n")

    def test_after_the_budget_a_message_goes_to_the_environment_as_text(self) -> None:
        env = self.env(max_tool_uses=0)
        step = env.step(self.message(1))
        assert step.observation.startswith('heard {"role": "assistant"')
        assert step.info["parsed_action"] in step.observation
        text = json.dumps(self.message(1))
        assert env.step(text).observation == f"heard {text}"


class TestInstructions:
    @pytest.mark.parametrize("form", [HermesFormat(), OpenAIFormat(), FencedFormat()])
    def test_the_text_has_the_schemas_behind_the_question(self, form: CallFormat) -> None:
        env = ToolWrapper(Question(), tools=[Adder(), Adder("more")], call_format=form)
        observation, info = env.reset()
        assert observation.startswith("Question.\n")
        assert all(json.dumps(schema) in observation for schema in env.tool_schemas)
        assert "tool_schemas" not in info

    def test_the_schemas_can_be_in_info_for_a_template(self) -> None:
        env = ToolWrapper(
            Question(), tools=[Adder()], call_format=HermesFormat(), instructions="schemas"
        )
        observation, info = env.reset()
        assert observation == "Question."
        assert info["tool_schemas"] == env.tool_schemas == [Adder().functions()[0].to_openai()]


class LineFormat(FunctionFormat):
    """A call is a line ``CALL name number``."""

    def __init__(self, *, word: str = "CALL") -> None:
        self.word = word

    def instructions(self, functions: Sequence[Function]) -> str:
        return f"Write {self.word} and one of {[function.name for function in functions]}."

    def read(self, action: Action) -> Reading:
        word, _, rest = str(action).partition(" ")
        if word != self.word:
            return Reading(action)
        name, _, number = rest.partition(" ")
        return Reading(action, (Request(name, {"number": int(number)}),), action)

    def show(self, reading: Reading, outputs: Sequence[str]) -> str:
        return f"RESULT {outputs[0]}"


class TestThirdParties:
    def test_a_format_is_an_object(self) -> None:
        env = ToolWrapper(Question(), tools=[Adder()], call_format=LineFormat())
        assert env.reset()[0] == "Question.\nWrite CALL and one of ['add']."
        step = env.step("CALL add 4")
        assert step.observation == "RESULT total 4"
        assert step.info["tool_messages"] == [
            {"role": "assistant", "content": "CALL add 4"},
            {"role": "user", "content": "RESULT total 4"},
        ]
        assert env.fork().step("CALL add 1").observation == "RESULT total 5"

    def test_a_registered_format_has_a_name_and_takes_arguments(self) -> None:
        registry = default_registry()
        if not registry.list(CALL_FORMATS, "test:line"):
            registry.add(Spec(kind=CALL_FORMATS, id="test:line", entry_point=LineFormat))
        env = gem_core.make(
            "game:GuessTheNumber-v0-easy",
            tools=[Adder],
            tool_use={"call_format": {"id": "test:line", "word": "DO"}},
        )
        env.reset(seed=1)
        assert env.step("DO add 4").observation == "RESULT total 4"
