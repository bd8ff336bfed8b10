"""Prompts of long episodes are those of the whole chat, though only its ends are rendered."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.env import BaseEnv, Step
from gem_core.observation import Action, Info, Observation
from gem_rollout.models.tiny_model import CHAT_TEMPLATE, make_tiny_tokenizer
from gem_rollout.tokens.agent import SequenceError, TokenAgent
from gem_rollout.tokens.limits import Limits
from gem_rollout.tokens.sampler import Request, Sampled

pytest.importorskip("jinja2")
from gem_rollout.tokens.template_proof import is_local, left_out  # needs jinja2

BEGIN, END = "<|im_start|>", "<|im_end|>"
OPENS = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
LOOP = "{% for message in messages %}BODY{% endfor %}"
SAYS = "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]

LOCAL = {
    "all as it is": CHAT_TEMPLATE,
    "trims": LOOP.replace("BODY", SAYS.replace("content", "content | trim")) + OPENS,
    "forgets thoughts except the last": LOOP.replace(
        "BODY",
        SAYS.replace(
            "message.content",
            "message.content if loop.last else message.content.split('</think>')[-1]",
        ),
    )
    + OPENS,
    "a default system message": LOOP.replace(
        "BODY",
        "{% if loop.first and messages[0]['role'] != 'system' %}<|im_start|>system\nHelp."
        "<|im_end|>\n{% endif %}" + SAYS,
    )
    + OPENS,
    "results in one message": LOOP.replace(
        "BODY",
        "{%- if message.role == 'tool' %}"
        "{%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user"
        "{% endif %}\n<result>{{ message.content }}</result>"
        "{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|im_end|>\n{% endif %}"
        "{%- else %}" + SAYS + "{% endif %}",
    )
    + OPENS,
    "neighbours": LOOP.replace(
        "BODY",
        "{% if not loop.first and loop.previtem.role == message.role %}(again){% endif %}"
        "{% if loop.nextitem is defined and loop.nextitem.role == 'tool' %}(calls){% endif %}"
        + SAYS,
    )
    + OPENS,
    "cut off": "{{ bos_token }}{% if messages[0].role == 'system' %}{% set first = "
    "messages[0].content | trim %}{% set messages = messages[1:] %}{% else %}{% set first = '' %}"
    "{% endif %}{% if tools and messages | length != 0 %}{% set asked = messages[0].content %}"
    "{% set messages = messages[1:] %}{{ first }}{{ tools | tojson }}{{ asked }}{% endif %}"
    + LOOP.replace("BODY", "{% if loop.index0 == 1 %}(second){% endif %}" + SAYS)
    + OPENS,
    "another name": "{% set rest = messages[1:] if messages[0].role == 'system' else messages %}"
    "{% for message in rest %}{% if loop.first %}{{ messages[0].content }}{% endif %}"
    "{{ (messages[loop.index0 + 1] or {}).role }}{{ (rest[loop.index] or {}).role }}"
    + SAYS
    + "{% endfor %}",
    "by turns": LOOP.replace(
        "BODY",
        "{% if (message.role == 'assistant') != (loop.index0 % 2 == 1) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}" + SAYS,
    )
    + OPENS,
    "opens in the loop": LOOP.replace(
        "BODY",
        SAYS + "{% if loop.last and add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    ),
    "a macro and a namespace of each message": "{% macro show(call) %}<call>"
    "{{ call.function | tojson }}</call>{% endmacro %}"
    + LOOP.replace(
        "BODY",
        "{% set all = namespace(text='') %}{% for call in message.tool_calls or [] %}"
        "{% set all.text = all.text ~ show(call) ~ ('' if loop.last else ', ') %}{% endfor %}"
        "{% set said = message.content if message.content is string else "
        "message.content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join %}"
        "<|im_start|>{{ message.role }}\n{{ said }}{{ all.text }}<|im_end|>\n",
    )
    + OPENS,
    "a namespace before the loop": "{% set ns = namespace(text='') %}{% for tool in tools or [] %}"
    "{% set ns.text = ns.text ~ tool.function.name %}{% if loop.index > 3 %}{% break %}{% endif %}"
    "{% endfor %}" + LOOP.replace("BODY", "{{ ns.text }}" + SAYS) + OPENS,
    "thinks": LOOP.replace("BODY", SAYS) + OPENS + "<think>\n",
}

REFUSED = {
    "a search for the last question": "{% set ns = namespace(at=0) %}{% for m in messages[::-1] %}"
    "{% set at = messages | length - 1 - loop.index0 %}{% if not ns.at and m.role == 'user' %}"
    "{% set ns.at = at %}{% endif %}{% endfor %}"
    + LOOP.replace("BODY", "{% if loop.index0 > ns.at %}(new){% endif %}" + SAYS),
    "the system message last": LOOP.replace(
        "BODY", "{% if loop.last %}{% for m in messages %}{{ m.role }}{% endfor %}{% endif %}"
    ),
    "the index in the condition of an inner loop": LOOP.replace(
        "BODY", "{% for x in [1] if loop.index0 > 30 %}(late){% endfor %}" + SAYS
    ),
    "a function with the name of another": "{% set d = dict(a=namespace(n=0)) %}"
    "{% set namespace = d.get %}"
    + LOOP.replace(
        "BODY", "{% set my = namespace('a') %}{% set my.n = my.n + 1 %}{{ my.n }}" + SAYS
    ),
    "chance in another filter": LOOP.replace(
        "BODY", "{{ [message.content] | map('random') | join }}"
    ),
    "two loops": LOOP.replace("BODY", "{{ message.role }}") + LOOP.replace("BODY", SAYS),
    "the length": "{{ messages | length }}" + LOOP.replace("BODY", SAYS),
    "a large length": "{% if messages | length > 9 %}(long){% endif %}" + LOOP,
    "the last message": "{{ messages[-1].content }}" + LOOP.replace("BODY", SAYS),
    "a window": "{% for message in messages[-6:] %}" + SAYS + "{% endfor %}",
    "another cut": "{% for message in messages[2:] %}" + SAYS + "{% endfor %}",
    "three cuts": "{% set messages = messages[1:] %}" * 3 + LOOP.replace("BODY", SAYS),
    "cuts in a loop": "{% for one in 'abc' %}{% set messages = messages[1:] %}{% endfor %}" + LOOP,
    "numbers": LOOP.replace("BODY", "{{ loop.index }}" + SAYS),
    "thirds": LOOP.replace("BODY", "{{ loop.index0 % 3 }}" + SAYS),
    "a large index": LOOP.replace("BODY", "{% if loop.index0 > 5 %}(late){% endif %}" + SAYS),
    "from the end": LOOP.replace("BODY", "{% if loop.revindex < 5 %}(late){% endif %}" + SAYS),
    "two ahead": LOOP.replace("BODY", "{{ messages[loop.index0 + 2].role }}" + SAYS),
    "by number": LOOP.replace("BODY", "{{ messages[7].role }}" + SAYS),
    "changes": LOOP.replace("BODY", "{{ loop.changed(message.role) }}" + SAYS),
    "cycles": LOOP.replace("BODY", "{{ loop.cycle(1, 2, 3) }}" + SAYS),
    "the loop by another name": LOOP.replace("BODY", "{% set at = loop %}{{ at.index }}"),
    "a cycler": "{% set c = cycler(1, 2, 3) %}" + LOOP.replace("BODY", "{{ c.next() }}" + SAYS),
    "a joiner": "{% set c = joiner() %}" + LOOP.replace("BODY", "{{ c() }}" + SAYS),
    "chance": LOOP.replace("BODY", "{{ [1, 2] | random }}" + SAYS),
    "the date": "{{ strftime_now('%Y') }}" + LOOP.replace("BODY", SAYS),
    "a counter": "{% set ns = namespace(n=0) %}"
    + LOOP.replace("BODY", "{% set ns.n = ns.n + 1 %}{{ ns.n }}" + SAYS),
    "a counter by another name": "{% set ns = namespace(n=0) %}"
    + LOOP.replace("BODY", "{% set my = ns %}{% set my.n = my.n + 1 %}{{ ns.n }}" + SAYS),
    "a counter that is seldom new": "{% set ns = namespace(n=0) %}"
    + LOOP.replace(
        "BODY",
        "{% if message.role == 'x' %}{% set ns = namespace(n=0) %}{% endif %}"
        "{% set ns.n = ns.n + 1 %}{{ ns.n }}" + SAYS,
    ),
    "a macro that counts": "{% set ns = namespace(n=0) %}{% macro count(ns) %}"
    "{% set ns.n = ns.n + 1 %}{{ ns.n }}{% endmacro %}"
    + LOOP.replace("BODY", "{{ count(ns) }}" + SAYS),
    "a macro over the chat": "{% macro all() %}{% for m in messages %}{{ m.role }}{% endfor %}"
    "{% endmacro %}" + LOOP.replace("BODY", "{{ all() }}"),
    "a list that is read once": "{% set names = tools | map(attribute='type') %}"
    + LOOP.replace("BODY", "{{ names | join }}" + SAYS),
    "a filter": "{% for message in messages if message.role != 'system' %}{% endfor %}",
    "an end": LOOP.replace("BODY", "{% if message.content == 'a' %}{% break %}{% endif %}" + SAYS),
    "the chat in a list": "{% for one in [messages] %}{% for m in one %}{% endfor %}{% endfor %}",
    "the chat in a namespace": "{% set ns = namespace(all=messages) %}{{ ns.all | length }}" + LOOP,
    "the name of the chat for a message": LOOP.replace(
        "BODY", "{% set messages = message.content %}{{ messages[loop.index0 + 1] }}"
    ),
    "the name of the chat for a part": LOOP.replace(
        "BODY", "{% for messages in [[1]] %}{% endfor %}{{ messages[0] }}"
    ),
    "before the first": LOOP.replace("BODY", "{{ messages[loop.index0 - 1].role }}" + SAYS),
    "captured": "{% set all %}" + LOOP.replace("BODY", SAYS) + "{% endset %}{{ all[:100] }}",
    "in another loop": "{% for one in 'ab' %}" + LOOP.replace("BODY", SAYS) + "{% endfor %}",
    "no loop": "{{ messages[0].content }}",
    "filtered as a block": "{% filter trim %}" + LOOP.replace("BODY", SAYS) + "{% endfilter %}",
    "not Jinja": "{% for",
}

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "a",
        "b\n",
        " c ",
        "<think>\nHm.\n</think>\n\nd",
        "</think>",
        "<|im_end|>",
        "é🙂",
        "$1",
    ]
)
CALL = {"id": "c", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}


class Model:
    """Replies with given texts."""

    context = 2**31
    vision = None

    def __init__(self, tokenizer: Any, replies: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self._replies = iter(replies)

    async def submit(self, request: Request) -> Sampled:
        # Character by character: not what the tokenizer would have chosen.
        text = next(self._replies)
        ids = [one for character in text for one in self.tokenizer.encode(character)]
        return Sampled([*ids, self.tokenizer.eos_token_id], [], is_complete=True)

    def text_of(self, sampled: Sampled) -> str:
        text: str = self.tokenizer.decode(sampled.ids[:-1], skip_special_tokens=False)
        return text


class Whole(TokenAgent):
    """Renders the whole chat at every turn."""

    def _leave_out(self) -> None:
        pass


class Env(BaseEnv):
    """An environment that is not asked: the tests write its observations."""

    def start(self) -> tuple[Observation, Info]:
        return "", {}

    def step(self, action: Action) -> Step:
        return Step("", 0.0, True, False, {})


Turn = tuple[str, str, int]
"""A reply; what follows it; and the number of tool results that it is, 0 for a user's message."""


def played(kind: type[TokenAgent], tokenizer: Any, turns: Sequence[Turn], **how: Any) -> list[Any]:
    """Return the tokens of each turn, and the error that ended the episode if there is one."""
    given = how.pop("tools", None)
    tools = given if "tools" in tokenizer.chat_template else None  # else they are refused

    async def play() -> list[Any]:
        model = Model(tokenizer, [reply for reply, _, _ in turns])
        agent = kind(model, name="model", limits=Limits(), **how)
        agent.reset(Env())
        found: list[Any] = []
        observation, info = "begin", {"tool_schemas": tools} if tools else {}
        try:
            for _, text, results in turns:
                made = (await agent.act(observation, info)).generation
                assert made is not None
                found.append((made.prompt_ids, made.token_ids, made.extends, made.messages))
                observation, result = text, {"role": "tool", "content": text}
                info = {"tool_messages": [{}, *[result] * results]} if results else {}
        except (SequenceError, TypeError, ValueError) as error:
            found.append((type(error), str(error)))
        except Exception as error:  # the template's
            found.append(type(error))
        return found

    return asyncio.run(play())


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pytest.importorskip("tokenizers")
    return make_tiny_tokenizer()


def plain(count: int) -> list[Turn]:
    return [(f"I say {number}", f"It is {number}.", 0) for number in range(count)]


@pytest.mark.parametrize("name", LOCAL)
def test_a_template_that_renders_each_message_by_itself_is_proven(name: str) -> None:
    assert is_local(LOCAL[name])


@pytest.mark.parametrize("name", REFUSED)
def test_a_template_that_looks_further_is_not(name: str) -> None:
    assert not is_local(REFUSED[name])


@pytest.mark.parametrize("count", [0, 1, 23, 24, 25, 39, 40, 41, 1000])
def test_what_is_left_out_is_even_and_leaves_both_ends(count: int) -> None:
    gone = left_out(count)
    if gone is None:
        assert count < 24
    else:
        assert gone.start == 4
        assert 8 <= count - gone.stop < 24
        assert (gone.stop - gone.start) % 2 == 0


@pytest.mark.parametrize("name", [*LOCAL, "the date", "a search for the last question"])
@pytest.mark.parametrize("one_sequence", ["raise", "split"])
def test_long_episodes_have_the_tokens_of_the_whole_chat(
    tokenizer: Any, name: str, one_sequence: str
) -> None:
    tokenizer.chat_template = {**LOCAL, **REFUSED}[name]
    turns = [*plain(24), ("<think>Hm.</think>1 ", " 2\n", 2), ("3", "", 1), *plain(24)]
    for how in ({}, {"system": "Play."}, {"tools": TOOLS}, {"system": "S", "tools": TOOLS}):
        ours, whole = (
            played(kind, tokenizer, turns, one_sequence=one_sequence, **how)
            for kind in (TokenAgent, Whole)
        )
        assert ours == whole
        assert len(whole) > 24 or one_sequence == "raise" or how


def test_only_the_ends_of_a_long_chat_are_rendered(tokenizer: Any) -> None:
    rendered: list[int] = []

    class Counting(TokenAgent):
        def _render(self, messages: list[dict[str, Any]]) -> str:
            rendered.append(len(messages))
            return super()._render(messages)

    tokenizer.chat_template = CHAT_TEMPLATE
    played(Counting, tokenizer, plain(200))
    assert max(rendered[-40:]) < 32
    assert sum(rendered) < 200 * 32


def test_a_template_that_was_taken_for_local_by_mistake_ends_the_episode(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gem_rollout.tokens.template_proof.is_local", lambda _: True)
    numbered = "{% if message.role == 'user' %}{{ loop.index }}{% endif %}" + SAYS
    tokenizer.chat_template = LOOP.replace("BODY", numbered) + OPENS
    assert played(TokenAgent, tokenizer, plain(30))[-1] is RuntimeError


@pytest.mark.slow
@settings(
    max_examples=150 if thorough() else 15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    name=st.sampled_from([*LOCAL]),
    turns=st.lists(
        st.tuples(TEXTS, TEXTS, st.sampled_from([0, 0, 0, 1, 2])), min_size=1, max_size=4
    ),
    repeats=st.integers(6, 16),
    last=st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from([0, 1])), max_size=4),
    system=st.none() | TEXTS.filter(bool),
    has_tools=st.booleans(),
    one_sequence=st.sampled_from(["raise", "split"]),
)
def test_any_episode_has_the_tokens_of_the_whole_chat(
    tokenizer: Any,
    *,
    name: str,
    turns: list[Turn],
    repeats: int,
    last: list[Turn],
    system: str | None,
    has_tools: bool,
    one_sequence: str,
) -> None:
    """Chats of repeated messages too, which look the same with and without their middle."""
    tokenizer.chat_template = LOCAL[name]
    how = {"one_sequence": one_sequence, "system": system, "tools": TOOLS if has_tools else None}
    ours, whole = (
        played(kind, tokenizer, turns * repeats + last, **how) for kind in (TokenAgent, Whole)
    )
    assert ours == whole


PIECES = [
    "{% if loop.first %}(first){% endif %}",
    "{% if loop.last %}(last){% endif %}",
    "{% if loop.index0 == 1 %}(second){% endif %}",
    "{% if loop.index > 1 %}(later){% endif %}",
    "{{ loop.index0 % 2 }}",
    "{% if not loop.first %}{{ messages[loop.index0 - 1].role }}{% endif %}",
    "{{ loop.index == 1 or (messages[loop.index0 - 1] or {}).role }}",
    "{{ (messages[loop.index0 + 1] or {}).content }}",
    "{{ loop.index0 > 0 and message.content and rest[loop.index0 - 1].content }}",
    "{{ (rest[loop.index] or {}).role }}",
    "{{ (loop.previtem or {}).role }}",
    "{{ (loop.nextitem or {}).content }}",
    "{{ rest[0].content }}{{ messages[1].content }}",
    "{% if rest | length > 1 %}(long){% endif %}",
    "{% set x = (x or '') ~ message.role %}{{ x }}",
    "{% if message.role == 'user' %}{% set y = 'asked' %}{% endif %}{{ y }}",
    "{% if message.role == 'tool' %}{% continue %}{% endif %}",
    "{% for call in message.tool_calls %}{{ loop.index }}{{ loop.length }}{% endfor %}",
]
REFUSED_PIECES = [
    "{{ loop.index0 }}",
    "{{ loop.revindex }}",
    "{% set ns.n = ns.n + 1 %}{{ ns.n }}",
    "{{ messages[-1].content }}",
    "{{ (rest[loop.index0 - 1] or {}).content }}",
    "{% if loop.index0 != 1 %}{{ (messages[loop.index0 - 1] or {}).role }}{% endif %}",
    "{{ loop.first and messages[loop.index0 - 1].content }}",
    "{% if loop.index0 > 4 %}(late){% endif %}",
]
BEFORE = [
    "{% set rest = messages %}",
    "{% set rest = messages[1:] %}",
    "{% set rest = messages[1:] %}{% set messages = messages[1:] %}",
    "{% set messages = messages[1:] %}{% set rest = messages[1:] %}",
    "{% set rest = messages[1:] if messages[0].role == 'system' else messages %}",
]


def random_chat(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Return messages that differ in a number, and may be alike otherwise."""
    return [
        {
            "role": rng.choice(["user", "assistant", "tool", "system"]),
            "content": rng.choice(["", "a", "b", "<think>c</think>d"]),
            "tool_calls": [CALL] * rng.randrange(3),
            "number": number,
        }
        for number in range(count)
    ]


@pytest.mark.slow
@settings(max_examples=2000 if thorough() else 100)
@given(
    before=st.sampled_from(BEFORE),
    pieces=st.lists(st.sampled_from([*PIECES, *REFUSED_PIECES]), min_size=1, max_size=5),
    over=st.sampled_from(["messages", "rest"]),
    known=st.integers(24, 60),
    new=st.integers(1, 5),
    rng=st.randoms(use_true_random=False),
)
def test_the_proof_holds_for_any_template_that_it_accepts(
    *, before: str, pieces: list[str], over: str, known: int, new: int, rng: random.Random
) -> None:
    """The texts of the messages that may still change are the same without the middle."""
    template = (
        "{% set ns = namespace(n=0) %}" + before + "{% for message in " + over + " %}"
        "[{{ message.number }}:{{ message.content }}]" + "".join(pieces) + "{% endfor %}(end)"
    )
    assert is_local(template) == (not {*pieces} & {*REFUSED_PIECES})
    if not is_local(template):
        return
    tokenizer, gone = make_tiny_tokenizer(chat_template=template), left_out(known)
    assert gone is not None
    chat = random_chat(rng, known + new)
    for shown in (chat[:known], chat):
        whole, short = (
            tokenizer.apply_chat_template(one, tokenize=False, add_generation_prompt=True)
            for one in (shown, shown[: gone.start] + shown[gone.stop :])
        )
        assert whole[whole.index(f"[{known - 3}:") :] == short[short.index(f"[{known - 3}:") :]
