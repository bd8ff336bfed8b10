"""Tool calls in chats that real templates render: what a model is shown is what it wrote."""

import json
from typing import Any

import pytest
from needs import needs

import gem_core
from gem_core.errors import ConfigError
from gem_tasks import as_tool

# The same layout as the templates of Qwen and Hermes models: schemas in a system message, calls as
# JSON between tags, results of one turn together in one message.
CHATML = r"""
{%- if tools %}
    {{- "<|im_start|>system\nTools:" }}
    {%- for tool in tools %}{{ "\n" + (tool | tojson) }}{% endfor %}
    {{- "<|im_end|>\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}
            {{- "<|im_start|>user" }}
        {%- endif %}
        {{- "\n<tool_response>\n" + message.content + "\n</tool_response>" }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}
            {{- "<|im_end|>\n" }}
        {%- endif %}
    {%- else %}
        {{- "<|im_start|>" + message.role + "\n" + message.content }}
        {%- for call in message.tool_calls or [] %}
            {%- set function = call.function %}
            {{- '\n<tool_call>\n{"name": "' + function.name + '", "arguments": ' }}
            {{- function.arguments | tojson }}
            {{- "}\n</tool_call>" }}
        {%- endfor %}
        {{- "<|im_end|>\n" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\n" }}{% endif %}"""
# As strict as APIs are: every call has an id, and the results follow it, by their ids.
STRICT = r"""
{%- for tool in tools or [] %}{{ "[" + tool.function.name + "]" }}{% endfor %}
{%- set open = namespace(ids=[]) %}
{%- for message in messages %}
{%- if message.role == "tool" %}
{%- if not message.name %}{{ raise_exception("a result without a name") }}{% endif %}
{%- if not open.ids or message.tool_call_id != open.ids[0] %}
{{- raise_exception("a result that nobody asked for") }}{% endif %}
{%- set open.ids = open.ids[1:] %}
{%- elif open.ids %}{{ raise_exception("a call without a result") }}{% endif %}
{%- for call in message.tool_calls or [] %}{% set open.ids = open.ids + [call.id] %}{% endfor %}
{{- "[" + message.role + "]" + message.content }}
{%- endfor %}"""
# Knows users and assistants only, one after the other.
PLAIN = r"""
{%- for message in messages %}
{%- if message.role != ["user", "assistant"][loop.index0 % 2] %}
{{- raise_exception("roles must alternate") }}{% endif %}
{{- "[" + message.role + "]" + message.content }}
{%- endfor %}"""


@as_tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def tokenizer(template: str) -> Any:
    transformers = needs("transformers")
    tokenizers = needs("tokenizers")
    model = tokenizers.models.WordLevel({"go": 0}, "go")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(model))
    fast.chat_template = template
    return fast


def chat(template: str, **tool_use: Any) -> Any:
    env = gem_core.make(
        "game:GuessTheNumber-v0-easy",
        tools=[add],
        tool_use=tool_use,
        wrappers=[{"id": "concat_chat", "tokenizer": tokenizer(template)}],
    )
    env.reset(seed=1)
    return env


def call(**arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'add', 'arguments': arguments})}\n</tool_call>"


def openai(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    made = [
        {
            "id": f"call{index}",
            "type": "function",
            "function": {"name": "add", "arguments": json.dumps(arguments)},
        }
        for index, arguments in enumerate(calls)
    ]
    return {"role": "assistant", "content": content, "tool_calls": made}


ANSWER = "<tool_response>\n{}\n</tool_response>"
NOT_FIT = "The arguments do not fit add(a: integer, b: integer): 'b' is a required property."
RESULTS = (
    f"<|im_end|>\n<|im_start|>user\n{ANSWER.format(3)}\n{ANSWER.format(NOT_FIT)}<|im_end|>\n"
    "<|im_start|>assistant\n"
)


class TestHermes:
    def test_the_template_gets_the_schemas_and_the_text_as_it_was_written(self) -> None:
        env = chat(CHATML, call_format="hermes", instructions="schemas")
        first, info = env.reset(seed=1)
        schema = json.dumps(add.functions()[0].to_openai())
        assert first.startswith(f"<|im_start|>system\nTools:\n{schema}<|im_end|>\n")
        assert info["tool_schemas"] == [json.loads(schema)]
        action = f"<think>\nHm.\n</think>\nSo: {call(a=1, b=2)}\n{call(a=1)}"
        step = env.step(f"{action} and so on")
        rules = first.removesuffix("<|im_end|>\n<|im_start|>assistant\n")
        rules = rules.removesuffix(info["suffix"]).rstrip("\n")
        assert step.observation == (f"{rules}<|im_end|>\n<|im_start|>assistant\n{action}{RESULTS}")

    def test_with_text_instructions_the_template_gets_no_schemas(self) -> None:
        first, _ = chat(CHATML, call_format="hermes").reset(seed=1)
        assert first.startswith("<|im_start|>user\n")
        assert "<tools>" in first

    def test_the_conversation_goes_on(self) -> None:
        env = chat(CHATML, call_format="hermes", instructions="schemas")
        one = env.step(call(a=1, b=2)).observation
        two = env.step(call(a=2, b=2)).observation
        assert two.startswith(one + call(a=2, b=2))
        assert two.endswith(f"{ANSWER.format(4)}<|im_end|>\n<|im_start|>assistant\n")
        three = env.step(r"\boxed{5}").observation
        assert three.startswith(two + r"\boxed{5}" + "<|im_end|>\n<|im_start|>user\n")

    def test_a_fork_and_a_snapshot_have_the_conversation(self) -> None:
        env = chat(CHATML, call_format="hermes", instructions="schemas")
        env.step(call(a=1, b=2))
        fork, saved = env.fork(), env.snapshot()
        expected = env.step(call(a=2, b=2)).observation
        assert fork.step(call(a=2, b=2)).observation == expected
        env.reset()
        env.restore(saved)
        assert env.step(call(a=2, b=2)).observation == expected


class TestOpenAI:
    def test_calls_are_rendered_by_the_template_and_results_follow(self) -> None:
        env = chat(CHATML, call_format="openai", instructions="schemas")
        step = env.step(openai({"a": 1, "b": 2}, {"a": 1}, content="So:"))
        said = f"<|im_start|>assistant\nSo:\n{call(a=1, b=2)}\n{call(a=1)}"
        assert step.observation.endswith(said + RESULTS)

    def test_every_result_names_its_call_and_the_conversation_goes_on(self) -> None:
        env = chat(STRICT, call_format="openai", instructions="schemas")
        env.step(openai({"a": 1, "b": 2}, {"a": 1}, content="So:"))
        env.step(openai({"a": 2, "b": 2}))
        step = env.step({"role": "assistant", "content": r"\boxed{5}"})
        assert f"[assistant]So:[tool]3[tool]{NOT_FIT}[assistant][tool]4" in step.observation
        assert r"[assistant]\boxed{5}[user]" in step.observation

    def test_a_message_that_cannot_be_read_is_answered_too(self) -> None:
        env = chat(STRICT, call_format="openai", instructions="schemas")
        broken = openai({"a": 1, "b": 2})
        broken["tool_calls"][0]["function"]["arguments"] = '{"a": 1'
        assert "[tool]The arguments are not valid JSON" in env.step(broken).observation


def test_a_template_that_ignores_schemas_is_refused() -> None:
    with pytest.raises(ConfigError, match="template ignores tools"):
        chat(PLAIN, call_format="openai", instructions="schemas")


def test_a_template_that_cannot_do_without_schemas_shows_them() -> None:
    needs = "{% for tool in tools %}[{{ tool.function.name }}]{% endfor %}"
    env = chat(needs + PLAIN, call_format="openai", instructions="schemas")
    assert env.reset(seed=1)[0].startswith("[add][user]")


class TestFenced:
    def test_every_template_can_show_fenced_calls(self) -> None:
        action = '```tool_call\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'
        step = chat(PLAIN, call_format="fenced").step(action)
        assert step.observation.endswith(f"[assistant]{action}[user]```tool_result\n3\n```")


class TestText:
    @pytest.mark.parametrize(
        ("name", "action", "said", "shown"),
        [
            ("hermes", call(a=1, b=2) + " So", call(a=1, b=2), ANSWER.format(3)),
            (
                "openai",
                json.dumps(openai({"a": 1, "b": 2})),
                json.dumps(openai({"a": 1, "b": 2})),
                '{"role": "tool", "tool_call_id": "call0", "name": "add", "content": "3"}',
            ),
        ],
    )
    def test_without_a_template_calls_and_results_are_text(
        self, name: str, action: str, said: str, shown: str
    ) -> None:
        env = gem_core.make(
            "game:GuessTheNumber-v0-easy",
            tools=[add],
            tool_use={"call_format": name},
            wrappers=["concat_with_action"],
        )
        env.reset(seed=1)
        assert env.step(action).observation.endswith(f"\n{said}\n{shown}\n")
