"""From calls to sequences: each sampled token is trained on once, under the right label."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_rollout import training_rows
from gem_serve.gateway.testing.checks import differences
from gem_serve.gateway.testing.engine import adding
from gem_serve.gateway.testing.http import post

SYSTEM = {"role": "system", "content": "You work."}
TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},
]


def say(prompt: str) -> str:
    """Answer differently to each prompt, at times with reasoning."""
    number = sum(prompt.encode()) % 97
    return f"<think>Hm {number}.</think>\n\nAnswer {number}." if number % 2 else f"Answer {number}."


class Program:
    """A program that keeps conversations, as agents do, and drops the reasoning of replies."""

    def __init__(self, episode: Any) -> None:
        self.url = f"{episode.openai_url}/chat/completions"
        self.number = 0

    def ask(self, messages: list[Any], tools: Any = None) -> list[Any]:
        """Return the conversation with a new message and the reply."""
        self.number += 1
        messages = [*messages, {"role": "user", "content": f"Question {self.number}."}]
        body = {"model": "m", "messages": messages, **({"tools": tools} if tools else {})}
        answer = post(self.url, body)
        assert answer.status == 200, answer.text
        message = answer.json["choices"][0]["message"]
        return [*messages, {"role": "assistant", "content": message["content"]}]


@pytest.fixture(scope="module", params=["vllm", "sglang"] if thorough() else ["vllm"])
def world(request: pytest.FixtureRequest, gateway_tokenizer: Any) -> Iterator[Any]:
    """An engine and a gateway for all tests of this module; other modules compare the kinds."""
    from gem_serve.gateway.serving import GatewayThread
    from gem_serve.gateway.testing.engine import TestEngine

    options = {"kind": request.param}
    with (
        TestEngine(gateway_tokenizer, say, **options) as engine,
        GatewayThread(engine.url, engine=options) as gateway,
    ):
        yield engine, gateway


@pytest.fixture
def begin(world: Any) -> Callable[..., Any]:
    engine, gateway = world
    engine.log.clear()
    return gateway.admin.create


def labels_of(trajectory: Any) -> list[tuple[str, int]]:
    """Return the label of each line, and its number of turns."""
    lines: dict[int, list[str]] = {}
    for turn in trajectory.turns:
        lines.setdefault(turn.info["line"], []).append(turn.info["label"])
    return [(found[0], len(found)) for found in lines.values()]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["engine", "continue"])
@settings(max_examples=20 if thorough() else 5)
@given(steps=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), min_size=1, max_size=9))
def test_each_sampled_token_is_trained_on_once(
    mode: str, steps: list[tuple[int, int]], world: Any
) -> None:
    engine, gateway = world
    engine.log.clear()
    episode = gateway.admin.create(mode=mode)
    program = Program(episode)
    known: list[list[Any]] = [program.ask([SYSTEM], TOOLS)]
    for kind, place in steps:
        before = known[place % len(known)]
        if kind <= 2:  # goes on from the newest conversation, or from an older state
            before = known[-1] if kind else before
            known.append(program.ask(before, TOOLS))
        elif kind == 3:  # a title
            program.ask([{"role": "user", "content": "Give it a title."}])
        elif kind == 4:  # the history is shortened
            known.append(program.ask([SYSTEM, {"role": "user", "content": "So far: ..."}], TOOLS))
        else:  # a turn is taken back
            known.append(program.ask(before[:-2] or [SYSTEM], TOOLS))
    trajectory = gateway.admin.close(episode.episode, reward=1.0)
    assert differences([trajectory], engine.log) == []
    rows = training_rows(trajectory, one_sequence="split")
    assert sum(sum(row.mask) for row in rows) == sum(len(one.ids) for one in engine.log)
    assert labels_of(trajectory)[-1][0] == "main"
    assert trajectory.episode_return == 1.0


@pytest.mark.slow
def test_a_linear_episode_is_one_sequence_where_tokens_continue(begin: Any, world: Any) -> None:
    engine, gateway = world
    for mode in ("engine", "continue"):
        engine.log.clear()
        episode = begin(mode=mode)
        program, messages = Program(episode), [SYSTEM]
        for _ in range(5):
            messages = program.ask(messages, TOOLS)
        trajectory = gateway.admin.close(episode.episode)
        assert labels_of(trajectory) == [("main", 5)]
        assert differences([trajectory], engine.log) == []
        # By chance an engine that tokenises again may find the splits that were sampled.
        assert (len(trajectory.tokens()) == 1) == (mode == "continue")


def test_a_title_and_a_compaction_have_labels_of_their_own(begin: Any, world: Any) -> None:
    gateway, episode = world[1], begin()
    program = Program(episode)
    program.ask([{"role": "user", "content": "Give it a title."}])
    messages = program.ask(program.ask(program.ask([SYSTEM], TOOLS), TOOLS), TOOLS)
    program.ask(messages[:3], TOOLS)
    program.ask(program.ask([SYSTEM, {"role": "user", "content": "So far: ..."}], TOOLS), TOOLS)
    trajectory = gateway.admin.close(episode.episode)
    assert sorted(labels_of(trajectory)) == [
        ("aux", 1),
        ("branch", 1),
        ("compacted", 2),
        ("main", 3),
    ]


def test_lines_can_be_chosen_and_the_others_are_counted(begin: Any, world: Any) -> None:
    gateway, episode = world[1], begin()
    program = Program(episode)
    program.ask([{"role": "user", "content": "Give it a title."}])
    program.ask(program.ask([SYSTEM], TOOLS), TOOLS)
    trajectory = gateway.admin.trajectory(episode.episode, labels="main")
    assert labels_of(trajectory) == [("main", 2)]
    assert trajectory.reset_info["gateway"]["left_out"] == {"aux": 1}


@pytest.mark.slow
def test_dropped_reasoning_is_restored_unless_it_must_not_be(begin: Any, world: Any) -> None:
    engine, gateway = world
    for restore in (True, False):
        engine.log.clear()
        episode = begin(restore=restore, mode="continue")
        program, messages = Program(episode), [SYSTEM]
        for _ in range(6):
            messages = program.ask(messages, TOOLS)
        thoughts = sum(one.text.startswith("<think>") for one in engine.log[:-1])
        trajectory = gateway.admin.close(episode.episode)
        assert thoughts > 0
        assert differences([trajectory], engine.log) == []
        changed = [turn for turn in trajectory.turns if "changes" in turn.info]
        assert bool(changed) == restore
        told = [change for turn in changed for change in turn.info["changes"]]
        assert len(told) == len({*told})  # by the first call that sends the message
        assert (len(trajectory.tokens()) == 1) == restore


def test_a_reply_that_was_cut_is_closed_before_the_next_message(begin: Any, world: Any) -> None:
    engine, gateway = world
    episode = begin(mode="continue", sampling={"max_tokens": 2})
    program = Program(episode)
    program.ask(program.ask([SYSTEM], TOOLS), TOOLS)
    trajectory = gateway.admin.close(episode.episode)
    (sequence,) = trajectory.tokens()
    text = engine.tokenizer.decode(sequence.ids)
    assert differences([trajectory], engine.log) == []
    assert "<|im_end|>\n<|im_start|>user\nQuestion 2.<|im_end|>\n" in text


def test_the_episode_decides_how_to_sample(begin: Any, world: Any) -> None:
    engine, _ = world
    asked = {"model": "m", "messages": [SYSTEM], "temperature": 0.1, "max_tokens": 50}
    seeds = []
    for sample in (0, 1):
        episode = begin(sampling={"temperature": 0.7, "max_tokens": 20}, seed=3, sample=sample)
        for _ in range(2):
            post(f"{episode.openai_url}/chat/completions", asked)
            body = engine.log[-1].body
            assert (body["temperature"], body["max_tokens"], body["top_k"]) == (0.7, 20, -1)
            seeds.append(body["seed"])
    assert len(set(seeds)) == 4


def test_a_call_with_other_tokens_before_an_equal_end_continues_nothing(
    begin: Any, world: Any
) -> None:
    engine, gateway = world
    episode = begin()
    url, body = f"{episode.openai_url}/completions", {"model": "m", "max_tokens": 5}
    post(url, {**body, "prompt": [65, 66, 67]})
    sampled = engine.log[0].ids
    post(url, {**body, "prompt": [68, 66, 67, *sampled, 65]})
    trajectory = gateway.admin.close(episode.episode)
    assert differences([trajectory], engine.log) == []
    assert len(trajectory.tokens()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["engine", "continue"])
def test_a_message_with_other_tool_calls_is_not_replaced_by_the_recorded_reply(
    mode: str, begin: Any, world: Any, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    engine, gateway = world
    monkeypatch.setattr(engine, "script", adding)
    messages = [{"role": "user", "content": "What is 0 + 1 + 2?"}]

    def ask(episode: Any, messages: list[Any]) -> Any:
        body = {"model": "m", "messages": messages, "tools": TOOLS}
        return post(f"{episode.openai_url}/chat/completions", body).json["choices"][0]["message"]

    episode = begin(mode=mode)
    reply = ask(episode, messages)
    (call,) = reply["tool_calls"]
    arguments = {"name": "add", "arguments": '{"a": 5, "b": 1}'}
    changed = {
        "other arguments": [{**call, "function": arguments}],
        "another name": [{**call, "function": {**call["function"], "name": "sub"}}],
        "another id": [{**call, "id": "mine"}],
        "one more call": [call, {**call, "id": "mine"}],
    }
    for what, calls in changed.items():
        with subtests.test(what):
            sent = {"role": "assistant", "content": reply["content"], "tool_calls": calls}
            results = [{"role": "tool", "tool_call_id": one["id"], "content": "1"} for one in calls]
            ask(episode, [*messages, sent, *results])
            ask(gateway.admin.create(mode=mode), [*messages, sent, *results])  # it knows no reply
            assert engine.log[-2].prompt_ids == engine.log[-1].prompt_ids
    trajectory = gateway.admin.close(episode.episode)
    assert [turn.info.get("changes") for turn in trajectory.turns] == [None] * 5
    assert len(trajectory.tokens()) == 5


@settings(max_examples=300 if thorough() else 40)
@given(
    asks=st.lists(
        st.tuples(st.integers(0, 9), st.booleans(), st.booleans(), st.booleans()), max_size=14
    )
)
def test_a_chat_that_goes_on_is_recalled_as_if_it_were_read_from_its_beginning(
    asks: list[tuple[int, bool, bool, bool]],
) -> None:
    """Conversations that grow and fork, whose program drops reasoning and rewrites its history."""
    from gem_serve.gateway.memory import Memory
    from gem_serve.gateway.recorder import CallRecord

    memory, known, chats = Memory(), list[CallRecord](), [list[Any]()]
    for number, (which, drops, rewrites, fails) in enumerate(asks):
        messages = [*chats[which % len(chats)], {"role": "user", "content": "Go on."}]
        if rewrites:
            messages[0] = {"role": "user", "content": f"Begin {number}."}
        fresh = Memory()
        for call in known:
            fresh.add(call)
        found, expected = (one.recall(messages, TOOLS) for one in (memory, fresh))
        assert found.messages == expected.messages
        assert (found.digest, found.position) == (expected.digest, expected.position)
        assert found.message_parent is expected.message_parent
        if fails:
            continue
        reply = {"role": "assistant", "content": f"Answer {number}.", "reasoning_content": "Hm."}
        record = CallRecord("", number, digest=found.digest, after=found.after(reply), reply=reply)
        known.append(record)
        memory.add(record)
        sent = {**reply, "reasoning_content": ""} if drops else reply
        chats.append([*messages, sent])
