"""The agent ``openai`` with a scripted endpoint: its requests, and how it reads answers."""

import asyncio
import itertools
import json

import pytest
from selection import some

import gem_core
from gem_agents.openai import OpenAIAgent
from gem_agents.testing.endpoint_server import EndpointServer
from gem_core.content import Image
from gem_core.errors import ConfigError
from gem_core.specs import AGENTS
from gem_core.thoughts import spoken
from gem_rollout import collect
from gem_tasks import as_tool

GAME = "game:GuessTheNumber-v0-easy"
PNG = Image.of(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f"
)


@pytest.fixture
def server():
    with EndpointServer("<answer>\\boxed{5}</answer>") as server:
        yield server


@as_tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def call(arguments='{"a": 1, "b": 2}', name="add", number="call_a"):
    function = {"name": name, "arguments": arguments}
    return {"id": number, "type": "function", "function": function}


def tool_env(**more):
    tool_use = {"call_format": "openai", "instructions": "schemas", **more}
    return gem_core.make(GAME, tools=[add], tool_use=tool_use)


def play(server, *observations, env=None, infos=(), **options):
    """Show an agent some observations, and return its replies."""

    async def run():
        agent = OpenAIAgent(model="m", base_url=server.url, **options)
        agent.reset(env or gem_core.make(GAME))
        infos_left = iter(infos)
        try:
            return [await agent.act(one, next(infos_left, {})) for one in observations]
        finally:
            agent.close()

    return asyncio.run(run())


def whole(generations, *, ids=False):
    """Return the whole prompt of the last turn, reassembled from the recorded parts."""
    given = []
    for generation in generations:
        new = (generation.prompt_ids or []) if ids else generation.messages
        given = (given if generation.extends else []) + new
        before = list(given)
        given += (generation.token_ids or []) if ids else [generation.reply]
    return before


def test_a_reply_begins_in_the_thought_that_its_prompt_has_opened():
    with EndpointServer("3?") as server:
        (plain,) = play(server, "hello")
        (opened,) = play(server, "hello", opens_thought=True)
        (text,) = play(server, "hello\n<think>", api="completions")
    assert (plain.action, plain.generation.opens_thought) == ("3?", False)
    for reply in (opened, text):
        assert spoken(reply.action) == ""
        assert reply.generation.opens_thought
        assert reply.generation.reply["content"] == "3?"


REPLIES = [
    "hi",
    "",
    "Grüße 🙂 \n",
    {"content": None, "tool_calls": [call(), call(number="call_b")]},
    {"content": "It is 5.", "reasoning_content": "Hm."},
]
FAULTS = [None, "no-usage", "length", "content-filter", "null-content"]


@pytest.mark.slow
class TestAsTheSDK:
    """The SDK and the agent get the same answer to the same request."""

    @pytest.mark.parametrize(("reply", "fault"), some(itertools.product(REPLIES, FAULTS)))
    def test_an_answer_of_the_chat_api_is_read_as_by_the_sdk(self, openai, server, reply, fault):
        server.set_reply(reply)
        server.set_faults([fault, fault])
        with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            theirs = client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "hello"}],
                logprobs=True,
                temperature=0.5,
                extra_body={"return_token_ids": True},
            )
        ours = play(server, "hello", logprobs=True, token_ids=True, temperature=0.5)[0].generation
        assert server.asked[0] == server.asked[1]
        choice = theirs.choices[0]
        assert ours.reply == choice.message.model_dump(exclude_none=True)
        assert ours.finish_reason == choice.finish_reason
        assert ours.model == theirs.model
        assert ours.system_fingerprint == theirs.system_fingerprint == "fp_scripted"
        usage = theirs.usage
        assert ours.prompt_tokens == (usage and usage.prompt_tokens)
        assert ours.completion_tokens == (usage and usage.completion_tokens)
        assert ours.logprobs == [token.logprob for token in choice.logprobs.content]
        assert ours.tokens == [token.token for token in choice.logprobs.content]
        assert ours.token_ids == choice.token_ids
        assert ours.prompt_ids == theirs.prompt_token_ids
        assert ours.attempts == 1
        assert ours.model_seconds > 0

    def test_an_answer_of_the_completions_api_is_read_as_by_the_sdk(self, openai, server):
        with openai.OpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            theirs = client.completions.create(
                model="m",
                prompt="hello\n",
                logprobs=0,
                stop=["\n"],
                extra_body={"return_token_ids": True},
            )
        options = {"api": "completions", "logprobs": True, "token_ids": True, "stop": "\n"}
        reply = play(server, "hello", **options)[0]
        assert server.asked[0] == server.asked[1]
        choice, ours = theirs.choices[0], reply.generation
        assert reply.action == choice.text
        assert (ours.finish_reason, ours.token_ids) == (choice.finish_reason, choice.token_ids)
        assert ours.prompt_ids == choice.prompt_token_ids
        assert ours.logprobs == choice.logprobs.token_logprobs
        assert ours.tokens == choice.logprobs.tokens
        assert ours.prompt_tokens == theirs.usage.prompt_tokens


class TestChat:
    def test_the_chat_grows_and_is_kept_once(self, server):
        server.set_reply(["one ", "two", "three"])
        replies = play(server, "a", "b", "c", system="Be brief.", token_ids=True)
        assert [reply.action for reply in replies] == ["one ", "two", "three"]
        generations = [reply.generation for reply in replies]
        assert [generation.extends for generation in generations] == [False, True, True]
        assert generations[0].messages == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "a"},
        ]
        assert generations[2].messages == [{"role": "user", "content": "c"}]
        assert whole(generations) == server.asked[-1]["messages"]
        assert bytes(whole(generations, ids=True)).decode().count("<|user|>") == 3

    def test_prefix_suffix_and_images_are_shown(self, server):
        shown = {"text": "Look: <image>", "images": [PNG]}
        play(server, shown, infos=[{"prefix": "P ", "suffix": "S"}])
        content = server.asked[0]["messages"][0]["content"]
        assert [part["type"] for part in content] == ["text", "image_url", "text"]
        assert content[0]["text"] == "P Look: "
        assert content[1]["image_url"]["url"] == PNG.data_url

    def test_a_history_wrapper_takes_the_place_of_the_agents_own(self, server):
        env = gem_core.make(GAME, wrappers=["concat"])
        replies = play(server, "a", "a\nb", env=env, system="S")
        assert [message["content"] for message in server.asked[1]["messages"]] == ["S", "a\nb"]
        assert [reply.generation.extends for reply in replies] == [False, False]
        assert replies[1].generation.messages == server.asked[1]["messages"]
        play(server, "a", "b", env=env, history="agent")
        assert len(server.asked[-1]["messages"]) == 3

    def test_reasoning_is_kept_and_sent_again_only_if_asked(self, server):
        server.set_reply({"content": "5", "reasoning_content": "Hm."})
        replies = play(server, "a", "b")
        assert replies[0].action == "5"
        assert replies[0].generation.reply["reasoning_content"] == "Hm."
        assert "reasoning_content" not in server.asked[1]["messages"][1]
        assert not replies[1].generation.extends
        assert replies[1].generation.messages == server.asked[1]["messages"]
        replies = play(server, "a", "b", resend_reasoning=True)
        assert server.asked[-1]["messages"][1]["reasoning_content"] == "Hm."
        assert replies[1].generation.extends

    def test_token_ids_say_whether_a_prompt_extends(self, server):
        server.set_reply({"content": "5", "reasoning_content": "Hm."})
        first, second = (reply.generation for reply in play(server, "a", "b", token_ids=True))
        seen = first.prompt_ids + first.token_ids
        assert not second.extends
        assert second.prompt_ids[: len(seen)] != seen
        assert bytes(second.prompt_ids).count(b"<|user|>") == 2
        replies = play(server, "a", "b", token_ids=True, resend_reasoning=True)
        assert replies[1].generation.extends
        assert bytes(replies[1].generation.prompt_ids) == b"<|user|>b<|end|><|assistant|>"

    def test_a_reply_in_parts_is_joined_to_a_text(self, server):
        server.set_reply(
            {"content": [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]}
        )
        assert play(server, "a")[0].action == "42"

    def test_half_a_surrogate_pair_in_an_observation_can_be_sent(self, server):
        assert play(server, "a\ud800b")[0].action
        assert server.asked[0]["messages"][0]["content"] == "a?b"

    def test_a_chat_rendered_by_a_wrapper_needs_the_completions_api(self, server):
        class Template:
            def apply_chat_template(self, conversation, **_):
                return "".join(f"<{m['role']}>{m['content']}" for m in conversation) + "<assistant>"

        wrapper = {"id": "concat_chat", "tokenizer": Template()}
        env = gem_core.make(GAME, wrappers=[wrapper])
        with pytest.raises(ConfigError, match="api='completions'"):
            play(server, "a", env=env)
        server.set_reply(["one", "two"])
        shown = ["<user>a<assistant>", "<user>a<assistant>one<user>b<assistant>"]
        replies = play(server, *shown, env=env, api="completions")
        assert [body["prompt"] for body in server.asked] == shown
        second = replies[1].generation
        assert second.extends
        assert second.messages == [{"role": "prompt", "content": "<user>b<assistant>"}]

    def test_completions_keep_a_history_too(self, server):
        server.set_reply(["one", "two"])
        replies = play(server, "a", "b", api="completions", system="S", token_ids=True)
        assert server.asked[1]["prompt"] == "S\na\none\nb\n"
        second = replies[1].generation
        assert second.messages == [{"role": "prompt", "content": "\nb\n"}]
        assert (second.extends, bytes(second.prompt_ids)) == (True, b"\nb\n")
        with pytest.raises(ConfigError, match="does not take images"):
            play(server, {"text": "a", "images": [PNG]}, api="completions")


@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize("history", ["agent", "env"])
def test_a_full_context_truncates_an_episode_after_its_first_turn(server, api, history):
    def played(*faults):
        server.set_faults(faults)
        server.set_reply("<answer>\\boxed{11}</answer>")
        how = {"model": "m", "base_url": server.url, "api": api, "history": history}
        (one,) = collect(lambda: gem_core.make(GAME), lambda: OpenAIAgent(**how), episodes=1)
        return one

    one = played(None, "context")
    assert (one.error, len(one.turns)) == (None, 1)
    assert (one.turns[0].truncated, one.turns[0].info["truncated_by"]) == (True, "context")
    assert played("context").error["type"] == "ContextLengthError"


class TestTools:
    def trajectory(self, server, env=tool_env, **options):
        make_agent = lambda: OpenAIAgent(model="m", base_url=server.url, **options)  # noqa: E731
        [trajectory] = collect(env, make_agent, episodes=1)
        return trajectory

    def test_calls_are_run_and_their_results_sent_back(self, server):
        server.set_reply(
            [
                {"content": "Let me add.", "tool_calls": [call(), call(number="call_b")]},
                "<answer>\\boxed{3}</answer>",
            ]
        )
        trajectory = self.trajectory(server)
        assert trajectory.error is None
        first, second = trajectory.turns[:2]
        assert [one["output"] for one in first.info["tool_calls"]] == ["3", "3"]
        assert first.generation.finish_reason == "tool_calls"
        assert first.action["tool_calls"] == [call(), call(number="call_b")]
        assert second.generation.extends
        sent = server.asked[1]
        assert sent["tools"] == trajectory.reset_info["tool_schemas"]
        assert sent["messages"][1] == {
            "role": "assistant",
            "content": "Let me add.",
            "tool_calls": [call(), call(number="call_b")],
        }
        assert [(m["tool_call_id"], m["content"]) for m in sent["messages"][2:]] == [
            ("call_a", "3"),
            ("call_b", "3"),
        ]
        json.dumps(trajectory.turns[0].action)

    def test_every_call_is_answered_whatever_becomes_of_it(self, server):
        """Too many calls, calls of nothing, and calls when none are left."""
        calls = [call(number=f"call_{n}", name="ad" if n % 2 else "add") for n in range(70)]
        server.set_reply({"tool_calls": calls})
        self.trajectory(server, env=lambda: tool_env(max_tool_uses=70))
        for body in server.asked[1:]:
            wanted, answered = [], []
            for message in body["messages"]:
                wanted += [one["id"] for one in message.get("tool_calls", ())]
                answered += [message["tool_call_id"]] if message["role"] == "tool" else []
            assert wanted == answered

    def test_malformed_tool_calls_are_answered_with_an_error(self, server):
        server.set_reply({"tool_calls": [{"function": {"name": "add", "arguments": "{"}}, "odd"]})
        trajectory = self.trajectory(server, env=lambda: tool_env(max_tool_uses=3))
        assert trajectory.error is None
        assert server.asked[1]["messages"][2]["tool_call_id"] == "call_0"
        assert "not valid JSON" in server.asked[1]["messages"][2]["content"]

    def test_unrequested_tool_calls_are_not_actions(self, server):
        server.set_reply({"content": "\\boxed{5}", "tool_calls": [call()]})
        trajectory = self.trajectory(server, env=lambda: gem_core.make(GAME))
        assert trajectory.error is None
        assert {turn.action for turn in trajectory.turns} == {"\\boxed{5}"}
        second = server.asked[1]["messages"]
        assert [one["role"] for one in second] == ["user", "assistant", "tool", "user"]


class TestParameters:
    def test_only_the_given_parameters_are_sent(self, server):
        play(server, "a")
        assert set(server.asked[0]) == {"model", "messages"}
        play(server, "a", top_p=0.9, max_tokens=7, stop=["x"], extra_body={"top_k": 3})
        body = server.asked[1]
        assert (body["top_p"], body["max_tokens"], body["stop"], body["top_k"]) == (
            0.9,
            7,
            ["x"],
            3,
        )

    def test_episodes_and_turns_have_seeds_of_their_own(self, server):
        def seeds():
            server.asked.clear()
            make_agent = lambda: OpenAIAgent(model="m", base_url=server.url, seed=3)  # noqa: E731
            episodes = collect(
                lambda: gem_core.make(GAME), make_agent, episodes=3, concurrency=3, seed=1
            )
            assert all(trajectory.error is None for trajectory in episodes)
            return [body["seed"] for body in server.asked]

        first = seeds()
        assert len(set(first)) == len(first)
        assert sorted(first) == sorted(seeds())

    def test_costs_come_from_prices(self, server):
        generation = play(server, "a", prices={"input": 1e6, "output": 2e6})[0].generation
        assert generation.cost == generation.prompt_tokens + 2 * generation.completion_tokens
        server.set_faults(["no-usage"])
        assert play(server, "a", prices={"input": 1, "output": 2})[0].generation.cost is None

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"api": "responses"}, "api must be one of chat, completions"),
            ({"history": "none"}, "history must be one of"),
            ({"base_url": "localhost:8000"}, "base_url"),
            ({"prices": {"in": 1}}, "'input' and 'output'"),
            ({"extra_body": {"n": 2}}, "cannot set n"),
            ({"max_attempts": 0}, "max_attempts >= 1"),
            ({"base_url": "https://api.openai.com/v1"}, "set NO_SUCH_KEY"),
        ],
    )
    def test_invalid_parameters_are_errors(self, options, words):
        given = {"base_url": "http://localhost:1/v1", "api_key_env": "NO_SUCH_KEY", **options}
        with pytest.raises(ConfigError, match=words):
            OpenAIAgent(model="m", **given)

    def test_the_environment_says_where_and_with_which_key(self, server, monkeypatch):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OTHER_KEY", "sk-secret")
        agent = OpenAIAgent(model="m", api_key_env="OTHER_KEY")
        agent.reset(gem_core.make(GAME))
        reply = asyncio.run(agent.act("a", {}))
        agent.close()
        assert "Bearer sk-secret" in server.headers
        assert "secret" not in repr(agent) + repr(reply)

    def test_the_agent_is_found_by_its_id(self, server):
        from gem_core.plugins import default_registry

        spec = default_registry().find(AGENTS, "openai")
        agent = spec.make(model="m", base_url=server.url)
        assert repr(agent) == "OpenAIAgent(model='m')"

    @pytest.mark.slow
    def test_the_command_run_plays_with_the_agent(self, server, run_command, tmp_path):
        out = tmp_path / "run"
        run_command(
            "run",
            "env=game/GuessTheNumber-v0-easy",
            "agent=openai",
            "agent.openai.model=m",
            f"agent.openai.base_url={server.url}",
            "episodes=3",
            f"out={out}",
        )
        rows = [json.loads(line) for line in (out / "trajectories.jsonl").read_text().splitlines()]
        assert len(rows) == 3
        assert all(row["turns"][0]["generation"]["model"] == "scripted" for row in rows)
