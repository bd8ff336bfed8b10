"""The agent ``transformers`` with a tiny model: tokens, log-probabilities, batches."""

import asyncio

import pytest

import gem_core
from gem_agents.errors import ContextLengthError
from gem_core import as_tool
from gem_core.errors import ConfigError
from gem_core.rollout import collect
from gem_core.testing.tiny_model import make_tiny_tokenizer, save_tiny_model

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # so small a model only loses by more

from gem_agents.local import LocalAgent  # noqa: E402
from gem_agents.local_model import load_model  # noqa: E402
from gem_agents.sampling import Request, sample  # noqa: E402

GAME = "game:GuessTheNumber-v0-easy"
FORGETS = "{{ (messages | last).content }}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def local(folder):
    return load_model(folder, device="cpu", dtype="float32", batch_size=1, batch_window=0.0)


def agent_of(folder, **options):
    given = {"device": "cpu", "batch_size": 1, "batch_window": 0.0, "max_new_tokens": 12, "seed": 0}
    return LocalAgent(model=folder, **{**given, **options})


def play(folder, episodes=4, make_env=lambda: gem_core.make(GAME), concurrency=4, **options):
    trajectories = collect(
        make_env,
        lambda: agent_of(folder, **options),
        episodes=episodes,
        concurrency=concurrency,
    )
    return sorted(trajectories, key=lambda one: one.index)


def sequences(trajectory):
    """Yield all tokens up to each turn's end, and how many of them are the turn's own."""
    ids = []
    for turn in trajectory.turns:
        generation = turn.generation
        ids = (ids if generation.extends else []) + generation.prompt_ids
        assert len(ids) == generation.prompt_tokens
        ids = ids + generation.token_ids
        yield ids, generation


class TestTokens:
    @pytest.mark.parametrize("options", [{}, {"batch_size": 8, "batch_window": 0.02}])
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
        """What was kept of each turn is, put together, the rendered chat of the whole episode."""
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

    def test_a_template_that_forgets_begins_anew(self, tmp_path):
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
    def test_the_same_seed_is_the_same_text(self, folder):
        def actions(**options):
            return [[turn.action for turn in one.turns] for one in play(folder, **options)]

        first = actions()
        assert actions(concurrency=1) == first
        assert actions(seed=1) != first
        assert len({action for episode in first for action in episode}) > 1

    def test_temperature_0_is_the_likeliest_token(self, local):
        prompt = local.tokenizer.encode("<|im_start|>user\nguess")
        [sampled] = sample(local.model, [Request(prompt, 8, 0.0)], end_ids=frozenset(), pad_id=0)
        ids = list(prompt)
        for token in sampled.ids:
            with torch.no_grad():
                assert int(local.model(torch.tensor([ids])).logits[0, -1].argmax()) == token
            ids.append(token)

    def test_frequencies_follow_temperature_and_top_p(self, local):
        """10,000 draws of one token: within 5 standard errors of the exact distribution."""
        prompt, draws, temperature, top_p = local.tokenizer.encode("guess"), 10_000, 1.5, 0.8
        with torch.no_grad():
            logits = local.model(torch.tensor([prompt])).logits[0, -1].double()
        exact = (logits / temperature).softmax(-1)
        order = exact.argsort(descending=True)
        sums = exact[order].cumsum(-1)
        kept = order[: int((sums < top_p).sum()) + 1]
        expected = torch.zeros_like(exact)
        expected[kept] = exact[kept] / exact[kept].sum()
        counts = torch.zeros_like(exact)
        for start in range(0, draws, 500):
            requests = [
                Request(prompt, 1, temperature, top_p, seed) for seed in range(start, start + 500)
            ]
            for sampled in sample(local.model, requests, end_ids=frozenset(), pad_id=0):
                counts[sampled.ids[0]] += 1
        error = (expected * (1 - expected) / draws).sqrt()
        assert ((counts / draws - expected).abs() <= 5 * error + 1e-12).all()

    def test_a_batch_gives_what_each_prompt_gives_alone(self, local):
        """Of different lengths, temperatures and limits."""
        texts = ["a", "guess the number", "<|im_start|>user\nhigher", "x y z" * 9]
        requests = [
            Request(local.tokenizer.encode(text), 3 + 4 * n, float(n % 2), 0.9, n)
            for n, text in enumerate(texts)
        ]
        options = {"end_ids": frozenset({local.tokenizer.eos_token_id}), "pad_id": 0}
        together = sample(local.model, requests, **options)
        for request, sampled in zip(requests, together, strict=True):
            [alone] = sample(local.model, [request], **options)
            assert alone.ids == sampled.ids
            assert alone.logprobs == pytest.approx(sampled.logprobs, abs=1e-4)


class TestBatches:
    def test_episodes_at_once_share_batches(self, folder, monkeypatch):
        sizes = []

        def counting(model, requests, **options):
            sizes.append(len(requests))
            return sample(model, requests, **options)

        monkeypatch.setattr("gem_agents.local_model.sample", counting)
        trajectories = play(folder, 16, concurrency=16, batch_size=8, batch_window=0.05)
        assert [one.error for one in trajectories] == [None] * 16
        assert max(sizes) == 8
        assert sum(sizes) == sum(len(one.turns) for one in trajectories)

    def test_an_error_is_the_error_of_each_episode(self, folder, monkeypatch):
        def failing(*_, **__):
            raise RuntimeError("out of memory")

        monkeypatch.setattr("gem_agents.local_model.sample", failing)
        trajectories = play(folder, 3)
        assert [one.error["message"] for one in trajectories] == ["out of memory"] * 3
        assert {one.error["boundary"] for one in trajectories} == {"agent"}

    def test_the_model_is_loaded_once(self, folder):
        assert agent_of(folder)._local is agent_of(folder)._local

    def test_a_call_that_is_cancelled_is_left_out(self, folder):
        async def run():
            agent = agent_of(folder, batch_window=0.2, batch_size=4)
            agent.reset(gem_core.make(GAME))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(agent.act("a", {}), 0.01)
            agent.reset(gem_core.make(GAME))
            return await agent.act("a", {})

        assert asyncio.run(run()).generation.token_ids


class TestHistory:
    def shown(self, folder, make_env, **options):
        [trajectory] = play(folder, episodes=1, make_env=make_env, **options)
        assert trajectory.error is None
        return trajectory

    def test_a_history_wrapper_is_one_message(self, folder):
        trajectory = self.shown(
            folder, lambda: gem_core.make(GAME, wrappers=["concat"]), system="S"
        )
        for turn in trajectory.turns:
            assert [one["role"] for one in turn.generation.messages] == ["system", "user"]
            assert not turn.generation.extends

    def test_a_rendered_chat_is_the_prompt(self, folder, local):
        wrapper = {"id": "concat_chat", "tokenizer": local.tokenizer}
        trajectory = self.shown(folder, lambda: gem_core.make(GAME, wrappers=[wrapper]))
        for turn in trajectory.turns:
            generation = turn.generation
            assert local.tokenizer.decode(
                generation.prompt_ids, skip_special_tokens=False
            ).endswith("<|im_start|>assistant\n")

    def test_tools_are_told_of_and_results_come_back(self, folder, local):
        @as_tool
        def add(a: int, b: int) -> int:
            """Adds two numbers."""
            return a + b

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
            ({"history": "none"}, "history is one of"),
            ({"max_new_tokens": 0}, "max_new_tokens >= 1"),
            ({"temperature": -1.0}, "temperature >= 0"),
            ({"top_p": 0.0}, "0 < top_p"),
            ({"dtype": "float99"}, "cannot be loaded"),
            ({"device": "warp"}, "cannot be loaded"),
        ],
    )
    def test_what_cannot_work_is_an_error(self, folder, options, words):
        with pytest.raises(ConfigError, match=words):
            agent_of(folder, **options)

    def test_a_model_that_is_not_there_is_an_error(self, tmp_path):
        with pytest.raises(ConfigError, match="cannot be loaded"):
            agent_of(str(tmp_path / "none"))

    def test_a_tokenizer_without_a_template_is_an_error(self, tmp_path):
        folder = save_tiny_model(tmp_path, tokenizer=make_tiny_tokenizer(chat_template=""))
        agent = agent_of(folder)
        with pytest.raises(ConfigError, match="no chat template"):
            agent.reset(gem_core.make(GAME))

    def test_an_episode_that_fills_the_context_is_an_error(self, tmp_path):
        folder = save_tiny_model(tmp_path, context=64)
        agent = agent_of(folder, max_new_tokens=64)
        agent.reset(gem_core.make(GAME))
        with pytest.raises(ContextLengthError, match="reads 64"):
            asyncio.run(agent.act("x" * 100, {}))
        agent.reset(gem_core.make(GAME))
        generation = asyncio.run(agent.act("x", {})).generation
        assert generation.prompt_tokens + generation.completion_tokens <= 64
