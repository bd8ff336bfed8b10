"""The agent ``transformers`` with a tiny model: tokens, log-probabilities, batches."""

import asyncio
import json

import pytest
import torch
from cli import gem

import gem_core
from gem_agents.local import LocalAgent
from gem_agents.local_model import load_model
from gem_core.errors import ConfigError
from gem_rollout import Limits, collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_rollout.tokens.limits import PromptTooLongError
from gem_rollout.tokens.sampler import Sampled
from gem_tasks import as_tool

torch.set_num_threads(1)  # so small a model only loses by more

GAME = "game:GuessTheNumber-v0-easy"
FORGETS = "{{ (messages | last).content }}"


@as_tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def local(folder):
    return load_model(folder, device="cpu", dtype="auto", batch_size=64)


def agent_of(folder, **options):
    given = {"model": folder, "device": "cpu", "max_new_tokens": 12, "seed": 0}
    return LocalAgent(**{**given, **options})


def play(folder, episodes=4, make_env=lambda: gem_core.make(GAME), concurrency=4, **options):
    trajectories = collect(
        make_env,
        lambda: agent_of(folder, **options),
        episodes=episodes,
        concurrency=concurrency,
    )
    return sorted(trajectories, key=lambda one: one.index)


def sequences(trajectory):
    """Yield all tokens up to the end of each turn, and the generation of the turn."""
    ids = []
    for turn in trajectory.turns:
        generation = turn.generation
        ids = (ids if generation.extends else []) + generation.prompt_ids
        assert len(ids) == generation.prompt_tokens
        ids = ids + generation.token_ids
        yield ids, generation


class TestTokens:
    @pytest.mark.parametrize("options", [{}, {"batch_size": 3}])
    def test_logprobs_are_those_of_a_full_forward_pass(self, folder, local, options):
        for trajectory in play(folder, **options):
            assert trajectory.error is None
            for ids, generation in sequences(trajectory):
                with torch.no_grad():
                    logits = local.model(torch.tensor([ids])).logits[0]
                count = len(generation.token_ids)
                whole = logits[-count - 1 : -1].log_softmax(-1)
                again = whole[range(count), generation.token_ids].tolist()
                assert generation.logprobs == pytest.approx(again, abs=1e-4)

    def test_tokens_of_later_turns_extend_those_of_earlier_ones(self, folder, local):
        """The recorded parts of all turns form the rendered chat of the whole episode."""
        for trajectory in play(folder):
            generations = [turn.generation for turn in trajectory.turns]
            assert [one.extends for one in generations] == [False] + [True] * (len(generations) - 1)
            messages = []
            for ids, generation in sequences(trajectory):
                messages += generation.messages
                rendered = local.tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=True
                )
                prompt = ids[: len(ids) - len(generation.token_ids)]
                text = local.tokenizer.decode(prompt, skip_special_tokens=False)
                assert text == rendered
                messages.append(generation.reply)

    def test_prompts_of_a_template_that_forgets_replies_do_not_extend(self, tmp_path):
        tokenizer = make_tiny_tokenizer(chat_template=FORGETS)
        folder = save_tiny_model(tmp_path / "forgets", tokenizer=tokenizer)
        [trajectory] = play(folder, episodes=1)
        last = trajectory.turns[-1].generation
        assert not last.extends
        assert tokenizer.decode(last.prompt_ids) == last.messages[-1]["content"]
        assert len(last.messages) == 2 * len(trajectory.turns) - 1

    def test_a_reply_ends_with_its_end_or_its_length(self, folder, local):
        for trajectory in play(folder, episodes=12, max_new_tokens=40):
            for turn in trajectory.turns:
                generation = turn.generation
                ended = generation.token_ids[-1] == local.tokenizer.eos_token_id
                assert generation.finish_reason == ("stop" if ended else "length")
                assert ended or len(generation.token_ids) == 40
                kept = generation.token_ids[:-1] if ended else generation.token_ids
                assert turn.action == local.tokenizer.decode(kept)


class TestSampling:
    def test_the_same_seed_samples_the_same_text(self, folder):
        def actions(**options):
            return [[turn.action for turn in one.turns] for one in play(folder, **options)]

        first = actions()
        assert actions(concurrency=1) == first
        assert actions(seed=1) != first
        assert len({action for episode in first for action in episode}) > 1

    def test_a_reply_ends_with_a_stop_string(self, folder):
        [whole] = play(folder, episodes=1)
        text = whole.turns[0].action
        stop = text[4:6]
        [stopped] = play(folder, episodes=1, stop=["never said", stop])
        turn = stopped.turns[0]
        assert turn.generation.finish_reason == "stop"
        assert turn.action.startswith(text[: text.index(stop) + 2])
        assert len(turn.action) < len(text)
        count = len(turn.generation.token_ids)
        assert turn.generation.token_ids == whole.turns[0].generation.token_ids[:count]
        assert len(stopped.turns) == 1 or stopped.turns[1].generation.extends

    def test_scaled_logprobs_are_those_at_the_temperature(self, folder, local):
        for trajectory in play(folder, temperature=0.7, scaled_logprobs=True):
            for ids, generation in sequences(trajectory):
                with torch.no_grad():
                    logits = local.model(torch.tensor([ids])).logits[0]
                count = len(generation.token_ids)
                whole = (logits[-count - 1 : -1] / 0.7).log_softmax(-1)
                again = whole[range(count), generation.token_ids].tolist()
                assert generation.logprobs == pytest.approx(again, abs=1e-5)


class TestModels:
    def test_an_error_of_the_model_ends_each_of_its_episodes(self, folder, local):
        def fail(*_):
            raise RuntimeError("a kernel failed")

        handle = local.model.register_forward_pre_hook(fail)
        try:
            trajectories = play(folder, 3)
        finally:
            handle.remove()
        assert [one.error["message"] for one in trajectories] == ["a kernel failed"] * 3
        assert {one.error["boundary"] for one in trajectories} == {"agent"}
        assert [one.error for one in play(folder, 3)] == [None] * 3

    def test_agents_of_one_model_load_it_once(self, folder, local):
        assert agent_of(folder)._sampler is agent_of(folder)._sampler
        assert agent_of(folder, batch_size=2)._sampler.model is local.model

    def test_a_model_object_is_sampled_as_it_is(self, folder, local):
        live = {"device": "auto", "tokenizer": local.tokenizer}
        [one] = play(folder, episodes=1)
        [same] = play(local.model, episodes=1, **live)
        assert [turn.action for turn in same.turns] == [turn.action for turn in one.turns]
        assert same.turns[0].generation.model == "Qwen3ForCausalLM"
        assert agent_of(local.model, **live)._sampler is agent_of(local.model, **live)._sampler

    def test_any_object_with_the_methods_of_a_model_can_be_sampled(self, local):
        class Says:
            tokenizer = local.tokenizer
            context = 1000

            async def submit(self, request):
                ids = [*self.tokenizer.encode("\\boxed{5}"), self.tokenizer.eos_token_id]
                return Sampled(ids, [0.0] * len(ids), is_complete=request.max_new_tokens > 3)

            def text_of(self, sampled):
                return self.tokenizer.decode(sampled.ids[:-1])

        [trajectory] = play(Says(), episodes=1, device="auto")
        assert {turn.action for turn in trajectory.turns} == {"\\boxed{5}"}
        assert trajectory.turns[0].generation.logprobs == [0.0] * len(
            trajectory.turns[0].generation.token_ids
        )

    def test_a_cancelled_call_is_left_out_of_the_batch(self, folder):
        async def run():
            agent = agent_of(folder, max_new_tokens=2000, temperature=0.0, system="S")
            agent.reset(gem_core.make(GAME))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(agent.act("a", {}), 0.02)
            agent.reset(gem_core.make(GAME))
            agent._limits = Limits(turn_tokens=3)
            return await agent.act("a", {})

        assert len(asyncio.run(run()).generation.token_ids) <= 3


class TestHistory:
    def shown(self, folder, make_env, **options):
        [trajectory] = play(folder, episodes=1, make_env=make_env, **options)
        assert trajectory.error is None
        return trajectory

    def test_the_text_of_a_history_wrapper_is_one_message(self, folder):
        trajectory = self.shown(
            folder, lambda: gem_core.make(GAME, wrappers=["concat"]), system="S"
        )
        for turn in trajectory.turns:
            assert [one["role"] for one in turn.generation.messages] == ["system", "user"]
            assert not turn.generation.extends

    def test_a_chat_rendered_by_a_wrapper_is_the_prompt(self, folder, local):
        wrapper = {"id": "concat_chat", "tokenizer": local.tokenizer}
        trajectory = self.shown(folder, lambda: gem_core.make(GAME, wrappers=[wrapper]))
        for turn in trajectory.turns:
            generation = turn.generation
            assert local.tokenizer.decode(
                generation.prompt_ids, skip_special_tokens=False
            ).endswith("<|im_start|>assistant\n")

    def test_show_tells_how_long_a_first_prompt_is(self, folder, tmp_path):
        (played,) = play(folder, episodes=1)
        tokens = played.turns[0].generation.prompt_tokens
        shown = gem("show", GAME, "--tokenizer", folder)
        assert f"First prompt: {tokens} tokens" in shown.stdout
        described = json.loads(gem("show", GAME, "--tokenizer", folder, "--format=json").stdout)
        assert described["tokens"] == tokens
        missing = gem("show", GAME, "--tokenizer", tmp_path)
        assert missing.stderr.startswith(f"Error: The tokenizer {str(tmp_path)!r} cannot be loaded")

    def test_a_template_that_ignores_tools_is_refused_where_they_would_be_lost(self, tmp_path):
        folder = save_tiny_model(tmp_path, tokenizer=make_tiny_tokenizer(chat_template=FORGETS))

        def played(wrappers=(), **tool_use):
            made = {"tools": [add], "tool_use": tool_use, "wrappers": wrappers}
            (one,) = play(folder, episodes=1, make_env=lambda: gem_core.make(GAME, **made))
            return one

        lost = {"call_format": "hermes", "instructions": "schemas"}
        renders = {"id": "concat_chat", "tokenizer": folder}
        for one in (played(**lost), played([renders], **lost)):
            assert one.error["type"] == "ConfigError"
            assert "template ignores tools" in one.error["message"]
        assert played(call_format="hermes").error is None
        assert played([renders], call_format="hermes").error is None

    def test_tools_are_in_the_prompt_and_results_come_back(self, folder, local):
        tool_use = {"call_format": "hermes", "instructions": "schemas"}
        env = gem_core.make(GAME, tools=[add], tool_use=tool_use)
        observation, info = env.reset(seed=0)
        call = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>'
        step = env.step(call)

        async def run():
            agent = agent_of(folder)
            agent.reset(env)
            first = await agent.act(observation, info)
            return first, await agent.act(step.observation, step.info)

        first, second = asyncio.run(run())
        prompt = local.tokenizer.decode(first.generation.prompt_ids, skip_special_tokens=False)
        assert '"Adds two numbers."' in prompt
        assert second.generation.messages == step.info["tool_messages"][1:]
        assert second.generation.extends


class TestParameters:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"history": "none"}, "history must be one of"),
            ({"max_new_tokens": 0}, "max_new_tokens >= 1"),
            ({"temperature": -1.0}, "temperature >= 0"),
            ({"top_p": 0.0}, "0 < top_p"),
            ({"dtype": "float99"}, "cannot be loaded"),
            ({"device": "warp"}, "cannot be loaded"),
            ({"stop": "</python>"}, "stop must be a list"),
            ({"stop": [""]}, "stop must be a list"),
            ({"tokenizer": "any"}, "omit tokenizer="),
            ({"model": torch.nn.Linear(1, 1)}, "needs its tokenizer="),
            ({"model": torch.nn.Linear(1, 1), "tokenizer": "any"}, "keeps its dtype"),
        ],
    )
    def test_invalid_parameters_are_errors(self, folder, options, words):
        with pytest.raises(ConfigError, match=words):
            agent_of(folder, **options)

    def test_a_model_that_is_not_there_is_an_error(self, tmp_path):
        with pytest.raises(ConfigError, match="There is no folder"):
            agent_of(str(tmp_path / "none"))

    def test_a_tokenizer_without_a_template_is_an_error(self, tmp_path):
        folder = save_tiny_model(tmp_path, tokenizer=make_tiny_tokenizer(chat_template=""))
        agent = agent_of(folder)
        with pytest.raises(ConfigError, match="no chat template"):
            agent.reset(gem_core.make(GAME))

    def test_a_first_prompt_that_fills_the_context_is_an_error(self, tmp_path):
        folder = save_tiny_model(tmp_path, context=64)
        agent = agent_of(folder, max_new_tokens=64)
        agent.reset(gem_core.make(GAME))
        with pytest.raises(PromptTooLongError, match="limit context is 64"):
            asyncio.run(agent.act("x" * 100, {}))
        agent.reset(gem_core.make(GAME))
        generation = asyncio.run(agent.act("x", {})).generation
        assert generation.prompt_tokens + generation.completion_tokens <= 64


@pytest.mark.slow
def test_a_command_shows_no_progress_bars_of_transformers(tmp_path):
    words = (GAME, "agent=transformers", "agent.transformers.max_new_tokens=2", "episodes=1")
    model = f"agent.transformers.model={save_tiny_model(tmp_path / 'tiny')}"
    done = gem("run", *words, model, cwd=tmp_path, env={"HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    assert "Loading weights" not in done.stderr
