"""Call formats: what is a call, what is none, and that no text does harm."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

import gem_core
from gem_core import Function, ToolCall, ToolResult
from gem_core.calls import MOST_CALLS, CallFormat, Catalog, Reading, Request
from gem_core.calls.catalog import signature
from gem_core.calls.written import DEEPEST, json_of
from gem_core.errors import ConfigError, UnknownIdError
from gem_core.plugins import default_registry
from gem_core.specs import CALL_FORMATS
from gem_tools.formats.marked import FencedFormat, HermesFormat
from gem_tools.formats.openai import OpenAIFormat

FORMATS = [HermesFormat(), FencedFormat(), OpenAIFormat()]
few = settings(max_examples=100 if thorough() else 25)
NAMES = st.text("abc_-1", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["</tool_call>", "```", "\n```\n", "<tool_call>{", "<think>", '"}]']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(st.text(max_size=5), VALUES)), max_size=4)
PROSE = st.text(st.characters(exclude_characters="<`{", exclude_categories=("Cs",)), max_size=20)


def hermes(*calls: tuple[str, Any], between: str = "\n") -> str:
    bodies = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    return between.join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies)


def fenced(*calls: tuple[str, Any], between: str = "\n") -> str:
    bodies = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    return between.join(f"```tool_call\n{body}\n```" for body in bodies)


def openai(*calls: tuple[str, Any], content: str | None = None) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {
                "id": f"id{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(calls)
        ],
    }


def asked(reading: Reading) -> list[tuple[str, dict[str, Any]]]:
    assert not any(request.problem for request in reading.requests)
    return [(request.function, dict(request.arguments)) for request in reading.requests]


class TestReading:
    @pytest.mark.slow
    @few
    @given(CALLS, PROSE)
    def test_hermes_reads_every_call_as_it_was_meant(self, calls: list[Any], prose: str) -> None:
        action = f"{prose}{hermes(*calls)}"
        reading = HermesFormat().read(action)
        assert asked(reading) == calls
        assert reading.text == (action if calls else "")

    @pytest.mark.slow
    @few
    @given(CALLS, PROSE)
    def test_fenced_reads_every_call_as_it_was_meant(self, calls: list[Any], prose: str) -> None:
        reading = FencedFormat().read(f"{prose}\n{fenced(*calls)}")
        assert asked(reading) == calls

    @pytest.mark.slow
    @few
    @given(CALLS)
    def test_openai_reads_messages_and_their_text(self, calls: list[Any]) -> None:
        message, lenient = openai(*calls), openai(*calls)
        for (_, arguments), call in zip(calls, lenient["tool_calls"], strict=True):
            call["function"]["arguments"] = arguments
        for action in (message, lenient, json.dumps(message), json.dumps(lenient)):
            reading = OpenAIFormat().read(action)
            assert asked(reading) == calls
            ids = [request.id for request in reading.requests]
            assert ids == [f"id{index}" for index in range(len(calls))]

    @pytest.mark.parametrize("call_format", FORMATS)
    @few
    @given(PROSE)
    def test_text_without_a_call_is_the_environments_as_it_is(
        self, call_format: CallFormat, prose: str
    ) -> None:
        reading = call_format.read(prose)
        assert (reading.action, reading.requests) == (prose, ())

    def test_an_action_that_is_not_text_goes_to_the_environment_unchanged(
        self, subtests: pytest.Subtests
    ) -> None:
        for call_format in FORMATS:
            for action in [None, 7, b"<tool_call>", ["a"], {"move": "up"}]:
                with subtests.test(call_format=call_format, action=action):
                    reading = call_format.read(action)
                    assert reading.action is action
                    assert reading.requests == ()

    @pytest.mark.slow
    @pytest.mark.parametrize("call_format", FORMATS)
    @few
    @given(st.text() | st.text("<tool_call>{}/`\n\"':,name[]0\\"))
    def test_no_text_makes_a_format_raise(self, call_format: CallFormat, text: str) -> None:
        for action in (
            text,
            f"<tool_call>{text}",
            f"```tool_call\n{text}",
            f'{{"tool_calls":{text}',
        ):
            reading = call_format.read(action)
            outputs = ["out"] * len(reading.requests)
            assert len(call_format.messages(reading, outputs)) >= 1 if outputs else True
            assert isinstance(call_format.show(reading, outputs), str)

    def test_what_follows_the_last_call_is_dropped(self) -> None:
        action = f"First. {hermes(('a', {}))} The result is 7."
        assert HermesFormat().read(action).text == f"First. {hermes(('a', {}))}"

    def test_the_last_call_may_go_without_its_end(self) -> None:
        for call_format, action in (
            (HermesFormat(), '<tool_call>\n{"name": "a", "arguments": {}}\n'),
            (FencedFormat(), '```tool_call\n{"name": "a", "arguments": {}}'),
        ):
            assert asked(call_format.read(action)) == [("a", {})]

    def test_line_breaks_in_texts_are_read_as_models_write_them(self) -> None:
        action = '<tool_call>{"name": "a", "arguments": {"code": "x = 1\n\ty = 2"}}</tool_call>'
        assert asked(HermesFormat().read(action)) == [("a", {"code": "x = 1\n\ty = 2"})]

    def test_arguments_may_be_left_out_and_may_be_text(self) -> None:
        reader = HermesFormat()
        assert asked(reader.read('<tool_call>{"name": "a"}')) == [("a", {})]
        text = json.dumps({"name": "a", "arguments": '{"b": 1}'})
        assert asked(reader.read(f"<tool_call>{text}")) == [("a", {"b": 1})]

    def test_a_call_that_cannot_be_read_is_one_that_failed(self, subtests: pytest.Subtests) -> None:
        for written in [
            "",
            "hello",
            '{"name": "a", "arguments": {}',
            '{"name": "a", "arguments": {}}}',
            '{"name": "a", "arguments": [1]}',
            '{"name": "a", "arguments": "{"}',
            '{"name": "a", "arguments": "{} {}"}',
            '{"name": "a", "arguments": 7}',
            '{"name": 7, "arguments": {}}',
            '{"arguments": {}}',
            '{"name": "a", "arguments": {"x": NaN}}',
            "[]",
            "null",
            '{"name": "a", "arguments": ' + "[" * 100_000,
            '{"name": "a", "arguments": {"x": ' + "[" * 90 + "]" * 90 + "}}",
            '{"name": "a", "arguments": {"x": ' + "9" * 5000 + "}}",
        ]:
            for call_format, form in [
                (HermesFormat(), "<tool_call>{}</tool_call> and more"),
                (FencedFormat(), "```tool_call\n{}\n``` and more"),
            ]:
                with subtests.test(form=form, written=written):
                    reading = call_format.read(form.replace("{}", written))
                    (request,) = reading.requests
                    assert request.problem
                    assert len(request.problem) < 300
                    assert "and more" not in reading.text

    def test_a_call_behind_one_that_cannot_be_read_is_read(self) -> None:
        action = f"<tool_call>nonsense</tool_call>{hermes(('a', {'b': 1}))}"
        first, second = HermesFormat().read(action).requests
        assert first.problem
        assert (second.function, second.arguments) == ("a", {"b": 1})

    def test_openai_calls_that_cannot_be_read_have_failed(self, subtests: pytest.Subtests) -> None:
        for calls in [
            "text",
            {"a": 1},
            [None],
            [{}],
            [{"function": "a"}],
            [{"function": {"name": None}}],
            [{"id": "x", "function": {"name": "a", "arguments": "{"}}],
        ]:
            with subtests.test(calls=calls):
                for action in ({"tool_calls": calls}, json.dumps({"tool_calls": calls})):
                    reading = OpenAIFormat().read(action)
                    assert [bool(request.problem) for request in reading.requests] == [True]
                    assert OpenAIFormat().messages(reading, ["no"])[1]["tool_call_id"]

    def test_openai_text_that_is_cut_off_has_failed(self) -> None:
        (request,) = OpenAIFormat().read('{"tool_calls": [{"id": "x"').requests
        assert "not valid JSON" in request.problem

    def test_openai_messages_without_calls_stand_for_their_content(self) -> None:
        parts = [
            {"type": "text", "text": "a"},
            {"type": "image_url"},
            {"type": "text", "text": "b"},
        ]
        reader = OpenAIFormat()
        assert reader.read({"role": "assistant", "content": "hi", "tool_calls": []}).action == "hi"
        assert reader.read({"role": "assistant", "content": None}).action == ""
        assert reader.read({"role": "assistant", "content": parts}).action == "ab"
        assert reader.read('{"role": "assistant", "content": "hi"}').action == "hi"
        assert reader.read('{"answer": 4}').action == '{"answer": 4}'

    @pytest.mark.slow
    def test_openai_reads_the_objects_of_the_client_library(self) -> None:
        chat = needs("openai.types.chat")
        message = chat.ChatCompletionMessage.model_validate(openai(("a", {"b": 1}), content="So:"))
        reading = OpenAIFormat().read(message)
        assert asked(reading) == [("a", {"b": 1})]
        assert reading.message["content"] == "So:"
        answer = chat.ChatCompletionMessage(role="assistant", content="42")
        assert OpenAIFormat().read(answer).action == "42"

    @pytest.mark.parametrize(
        ("call_format", "call"),
        [
            (HermesFormat(), hermes(("a", {}))),
            (FencedFormat(), fenced(("a", {}))),
            (OpenAIFormat(), json.dumps(openai(("a", {})))),
        ],
    )
    def test_a_call_in_thoughts_is_not_a_call(self, call_format: CallFormat, call: str) -> None:
        assert call_format.read(f"<think>\n{call}\n</think>\nNo.").requests == ()
        assert call_format.read(f"<think>\n{call}\n").requests == ()
        assert call_format.read(f"Perhaps\n{call}\nor not.\n</think>\nNo.").requests == ()
        assert asked(call_format.read(f"<think>\n{call}\n</think>\n{call}")) == [("a", {})]

    @pytest.mark.parametrize(
        ("call_format", "call"),
        [
            (HermesFormat(), hermes(*[("a", {})] * 100)),
            (FencedFormat(), fenced(*[("a", {})] * 100)),
            (OpenAIFormat(), openai(*[("a", {})] * 100)),
        ],
    )
    def test_the_number_of_calls_is_limited(self, call_format: CallFormat, call: Any) -> None:
        reading = call_format.read(call)
        assert len(reading.requests) == MOST_CALLS
        outputs = ["x"] * MOST_CALLS
        said = call_format.messages(reading, outputs)[0]
        assert len(said.get("tool_calls", outputs)) == MOST_CALLS

    @pytest.mark.slow
    @pytest.mark.parametrize("call_format", FORMATS)
    @pytest.mark.timeout(60)  # minutes or more, if time were quadratic
    def test_a_megabyte_of_anything_is_read_in_linear_time(
        self, call_format: CallFormat, subtests: pytest.Subtests
    ) -> None:
        for piece in [
            "<tool_call>",
            "<tool_call>{",
            '<tool_call>{"',
            '<tool_call>{"a":"',
            '<tool_call>{":":"',
            "<tool_call>x</tool_call>\n",
            "```tool_call\n",
            '```tool_call\n{"a":"\n',
            "\n   ",
            "<think>",
            "</think>",
            "[",
            '{"tool_calls":',
            '{"tool_calls":[{"function":{"name":"',
            "`",
            " ",
        ]:
            text = piece * (1_000_000 // len(piece))
            for action in (text, '{"tool_calls":' + text, f"<tool_call>\n```tool_call\n{text}"):
                with subtests.test(piece=piece, action=action[:20]):
                    assert len(call_format.read(action).requests) <= MOST_CALLS


class TestShowing:
    READING = HermesFormat().read(hermes(("a", {}), ("b", {})))

    def test_hermes_shows_each_result_between_tags(self) -> None:
        assert HermesFormat().show(self.READING, ["1\n", "2"]) == (
            "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"
        )
        assert HermesFormat().messages(self.READING, ["1\n", "2"]) == [
            {"role": "assistant", "content": self.READING.text},
            {"role": "tool", "name": "a", "content": "1"},
            {"role": "tool", "name": "b", "content": "2"},
        ]

    def test_openai_results_name_their_calls(self) -> None:
        reading = OpenAIFormat().read(openai(("a", {"x": 1}), ("b", {}), content="Hm"))
        said, *results = OpenAIFormat().messages(reading, ["1\n", "2"])
        assert said["content"] == "Hm"
        assert said["tool_calls"][0] == {
            "id": "id0",
            "type": "function",
            "function": {"name": "a", "arguments": {"x": 1}},
        }
        assert results == [
            {"role": "tool", "tool_call_id": "id0", "name": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "id1", "name": "b", "content": "2"},
        ]
        lines = OpenAIFormat().show(reading, ["1", "2"]).splitlines()
        assert [json.loads(line) for line in lines] == results

    def test_openai_arguments_that_cannot_be_read_are_shown_as_they_were(self) -> None:
        message = openai(("a", {}))
        message["tool_calls"][0]["function"]["arguments"] = '{"x": '
        said = OpenAIFormat().messages(OpenAIFormat().read(message), ["no"])[0]
        assert said["tool_calls"][0]["function"]["arguments"] == '{"x": '

    @few
    @given(st.text("`ab\n", max_size=30))
    def test_a_fence_is_longer_than_any_in_it(self, output: str) -> None:
        shown = FencedFormat().show(self.READING, [output])
        fence = shown[: len(shown) - len(shown.lstrip("`"))]
        assert shown == f"{fence}tool_result\n{output.rstrip()}\n{fence}"
        assert fence not in output.rstrip()
        assert len(fence) >= 3

    @pytest.mark.parametrize("call_format", FORMATS)
    def test_instructions_have_the_schema_of_every_function(self, call_format: CallFormat) -> None:
        functions = [ADD, Function("look", "Looks.", {"type": "object", "properties": {}})]
        text = call_format.instructions(functions)
        lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"type"')]
        assert lines == [function.to_openai() for function in functions]


class TestJson:
    @pytest.mark.slow
    @few
    @given(VALUES)
    def test_json_is_read_as_it_was_written(self, value: Any) -> None:
        assert json_of(f" {json.dumps(value)}\n") == value

    def test_text_that_is_not_json_is_refused_with_the_reason(
        self, subtests: pytest.Subtests
    ) -> None:
        for text in ["", " ", "{} {}", "nan", "Infinity", "[1,]", "{'a': 1}"]:
            with subtests.test(text=text), pytest.raises(ValueError, match=r"\w"):
                json_of(text)

    def test_json_may_be_nested_up_to_a_limit(self) -> None:
        assert json_of("[" * DEEPEST + "]" * DEEPEST)
        with pytest.raises(ValueError, match="levels"):
            json_of("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))


ADD = Function(
    "add",
    "Adds numbers.",
    {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": ["integer", "null"], "default": 3},
            "how": {"enum": ["fast", "slow"]},
        },
        "required": ["a"],
    },
)


def catalog(*functions: Function) -> Catalog:
    return Catalog({"tool": functions})


class TestCatalog:
    @pytest.mark.parametrize("arguments", [{"a": 1}, {"a": 1, "b": None}, {"a": 1, "how": "fast"}])
    def test_arguments_that_fit_are_no_problem(self, arguments: dict[str, Any]) -> None:
        assert catalog(ADD).problem(Request("add", arguments)) == ""

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ({}, "'a' is a required property"),
            ({"a": "1"}, "a: '1' is not of type 'integer'"),
            ({"a": True}, "a: True is not of type 'integer'"),
            ({"a": 1, "c": 2}, "'c' was unexpected"),
            ({"a": 1, "how": "well"}, "how: 'well' is not one of"),
        ],
    )
    def test_arguments_that_do_not_fit_are_explained_with_the_signature(
        self, arguments: dict[str, Any], told: str
    ) -> None:
        problem = catalog(ADD).problem(Request("add", arguments))
        assert told in problem
        assert "add(a: integer, b: integer or null = 3, how?: any)" in problem

    def test_an_unknown_function_gets_near_names(self) -> None:
        assert "Did you mean 'add'?" in catalog(ADD).problem(Request("ad"))
        assert "There are: add." in catalog(ADD).problem(Request("x" * 1000))

    def test_long_texts_by_an_agent_are_repeated_in_part(self) -> None:
        problem = catalog(ADD).problem(Request("add", {"a": "x" * 100_000}))
        assert len(problem) < 1000

    def test_a_schema_that_allows_more_is_taken_at_its_word(self) -> None:
        schema = {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}
        found = catalog(Function("f", "F.", schema))
        assert found.problem(Request("f", {"x": 1})) == ""
        assert "x: 'y' is not of type 'integer'" in found.problem(Request("f", {"x": "y"}))

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "object", "properties": {"a": {"type": "no such type"}}},
            {"type": "object", "properties": {"a": {"$ref": "https://example.invalid/x.json"}}},
            {"type": "object", "properties": {"a": {"pattern": "("}}},
        ],
    )
    def test_where_a_schema_is_broken_the_tool_must_judge(self, schema: dict[str, Any]) -> None:
        assert catalog(Function("f", "F.", schema)).problem(Request("f", {"a": "b"})) == ""

    @pytest.mark.parametrize(
        ("tools", "match"),
        [
            ({"mute": []}, "'mute' names no functions"),
            ({"one": [ADD], "two": [ADD]}, "both 'one' and 'two' have a 'add'"),
            ({"odd": [Function("a b", "", {})]}, "'a b' of the tool 'odd'"),
            ({"odd": [Function("a" * 65, "", {})]}, "up to 64"),
        ],
    )
    def test_names_that_cannot_work_are_refused(self, tools: Any, match: str) -> None:
        with pytest.raises(ConfigError, match=match):
            Catalog(tools)

    def test_a_signature_is_a_line(self) -> None:
        assert signature(Function("f", "F.", {})) == "f()"


class TestRegistering:
    def test_the_formats_are_installed_by_name(self) -> None:
        ids = {spec.id for spec in default_registry().list(CALL_FORMATS)}
        assert {"tags", "hermes", "openai", "fenced"} <= ids
        for name in ids:
            assert isinstance(default_registry().make(CALL_FORMATS, name), CallFormat)

    def test_an_unknown_format_gets_near_names(self) -> None:
        with pytest.raises(UnknownIdError, match="Did you mean 'hermes'"):
            gem_core.make("game:GuessTheNumber-v0-easy", tool_use={"call_format": "herms"})

    def test_a_call_of_a_tool_is_of_the_function_of_its_name_unless_it_says_so(self) -> None:
        assert ToolCall("add", {}, "").function == "add"
        assert ToolCall("calculator", {}, "", "add").function == "add"
        assert ToolResult("x").ok
