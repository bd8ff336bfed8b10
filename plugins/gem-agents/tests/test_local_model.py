"""The local model: continuous batching, cached tokens, changing weights."""

import asyncio
import copy
import functools
import random
import subprocess
import sys
import time

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs

import gem_core
from gem_agents.errors import LogitsError
from gem_agents.local_model import LocalModel, share_model
from gem_rollout import collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_rollout.tokens.sampler import Request

torch.set_num_threads(1)

TOKENIZER = make_tiny_tokenizer()
SIZE = len(TOKENIZER)
COMMON = {
    "vocab_size": SIZE,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "initializer_range": 0.2,
    "bos_token_id": None,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
WINDOW = {**COMMON, "sliding_window": 16}
MIXED = ["sliding_attention", "full_attention"]
GPT2 = transformers.GPT2Config(
    vocab_size=SIZE,
    n_embd=32,
    n_layer=2,
    n_head=4,
    n_positions=256,
    initializer_range=0.2,
    bos_token_id=None,
    eos_token_id=2,
)
BLOOM = transformers.BloomConfig(
    vocab_size=SIZE,
    hidden_size=32,
    n_layer=2,
    n_head=4,
    initializer_range=0.2,
    bos_token_id=None,
    eos_token_id=2,
)
CONFIGS = {
    "qwen3": transformers.Qwen3Config(**COMMON),
    "eager": transformers.Qwen3Config(**COMMON, attn_implementation="eager"),
    "llama": transformers.LlamaConfig(**COMMON),
    "gpt2": GPT2,
    "mistral": transformers.MistralConfig(**WINDOW),  # each layer has a window
    "gemma2": transformers.Gemma2Config(**WINDOW, layer_types=MIXED),  # every other layer
    "bloom": BLOOM,  # no position ids: nothing can be cached
}


@functools.cache
def model_of(name):
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name])
    return model.eval()


def local_of(name="qwen3", batch_size=8):
    return LocalModel(model_of(name), TOKENIZER, batch_size=batch_size)


def logprobs_of(model, prompt, ids):
    """Return the log-probabilities of one pass over the whole sequence."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *ids]])).logits[0].float()
    return logits[len(prompt) - 1 : -1].log_softmax(-1)[range(len(ids)), ids].tolist()


def sample(local, *requests):
    async def run():
        return await asyncio.gather(*(local.submit(request) for request in requests))

    return asyncio.run(run())


def tokens(rng, count):
    return [rng.randrange(3, SIZE) for _ in range(count)]


class Agent:
    """Stands for an agent."""


class Passes:
    """Records the shapes of a model's forward passes."""

    def __init__(self, model):
        self.shapes = []
        self._handle = model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, _model, _args, kwargs):
        self.shapes.append(tuple(kwargs["input_ids"].shape))

    def __enter__(self):
        return self.shapes

    def __exit__(self, *_):
        self._handle.remove()


async def episodes(local, rng, count=16, turns=3):
    """Play episodes with a common beginning and different lengths, and return all turns."""
    rules = tokens(rng, 40)

    async def play():
        ids = rules[: rng.randrange(1, 40)] + tokens(rng, rng.randrange(1, 20))
        seen = []
        for _ in range(turns):
            temperature = rng.choice([0.0, 1.0])
            request = Request(ids, rng.randrange(1, 24), temperature, 1.0, rng.randrange(2**63))
            sampled = await local.submit(request)
            seen.append((request, sampled))
            ids = ids + sampled.ids + tokens(rng, rng.randrange(1, 9))
            for _ in range(rng.randrange(40)):
                await asyncio.sleep(0)
        return seen

    return [turn for seen in await asyncio.gather(*(play() for _ in range(count))) for turn in seen]


class TestLogprobs:
    @pytest.mark.parametrize("name", CONFIGS)
    def test_log_probabilities_are_those_of_one_pass_over_the_whole_sequence(self, name):
        local = local_of(name)
        turns = asyncio.run(episodes(local, random.Random(0)))
        assert len(turns) == 48
        for request, sampled in turns:
            expected = logprobs_of(local.model, request.ids, sampled.ids)
            assert sampled.logprobs == pytest.approx(expected, abs=1e-5)
            assert sampled.is_complete == (sampled.ids[-1] == 2)
            assert sampled.is_complete or len(sampled.ids) == request.max_new_tokens

    @pytest.mark.parametrize("name", CONFIGS)
    def test_equal_replies_are_those_of_each_episode_alone(self, name):
        """Prompts are repeated, and most replies are equal."""
        local, rng = local_of(name, batch_size=24), random.Random(5)
        local._end_ids = frozenset()
        prompts = [tokens(rng, count) for count in (1, 9, 30)]

        async def play(ids, number):
            seen = []
            for turn in range(3):
                temperature = 1.0 if number % 5 == 4 else 0.0
                request = Request(ids, 4 + (3 * number + turn) % 14, temperature, 1.0, number)
                sampled = await local.submit(request)
                seen.append((request, sampled))
                ids = ids + sampled.ids + tokens(rng, 1 + number % 2)
            return seen

        async def play_all():
            return await asyncio.gather(*(play(prompts[n % 3], n) for n in range(24)))

        turns = [turn for seen in asyncio.run(play_all()) for turn in seen]
        for request, sampled in turns:
            expected = logprobs_of(local.model, request.ids, sampled.ids)
            assert sampled.logprobs == pytest.approx(expected, abs=1e-5)

    def test_many_long_prompts_are_computed_in_parts(self, monkeypatch):
        monkeypatch.setattr("gem_agents.decoder._BLOCK", 64)
        local = local_of()
        sample(local, Request([1], 1))
        with Passes(local.model) as shapes:
            turns = asyncio.run(episodes(local, random.Random(4)))
        assert max(rows * width for rows, width in shapes if rows > 1) <= 64
        for request, sampled in turns:
            expected = logprobs_of(local.model, request.ids, sampled.ids)
            assert sampled.logprobs == pytest.approx(expected, abs=1e-5)

    def test_all_but_models_without_positions_are_cached(self):
        for name in CONFIGS:
            with Passes(model_of(name)) as shapes:
                sample(local_of(name), Request(tokens(random.Random(1), 9), 2))
            assert (shapes[-1] == (1, 1)) == (name != "bloom")

    @settings(max_examples=25, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.integers(0, 30),
                st.lists(st.integers(3, SIZE - 1), min_size=1, max_size=40),
                st.integers(1, 12),
            ),
            min_size=1,
            max_size=12,
        ),
        st.integers(1, 5),
    )
    def test_prompts_of_any_lengths_have_the_right_log_probabilities(self, prompts, batch_size):
        rules = tokens(random.Random(0), 30)
        requests = [
            Request(rules[:shared] + own, count, float(n % 2), 1.0, n)
            for n, (shared, own, count) in enumerate(prompts)
        ]
        local = local_of("llama", batch_size)
        for request, sampled in zip(requests, sample(local, *requests), strict=True):
            assert 1 <= len(sampled.ids) <= request.max_new_tokens
            expected = logprobs_of(local.model, request.ids, sampled.ids)
            assert sampled.logprobs == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("name", ["qwen3", "llama", "gpt2"])
    def test_the_likeliest_tokens_are_those_of_generate(self, name):
        local, rng = local_of(name), random.Random(2)
        requests = [Request(tokens(rng, rng.randrange(1, 30)), 20, 0.0) for _ in range(12)]
        for request, sampled in zip(requests, sample(local, *requests), strict=True):
            with torch.no_grad():
                [whole] = local.model.generate(
                    torch.tensor([request.ids]), max_new_tokens=20, do_sample=False, pad_token_id=0
                ).tolist()
            assert request.ids + sampled.ids == whole

    def test_each_prompt_gives_what_it_gives_alone(self):
        local, rng = local_of(), random.Random(3)
        requests = [
            Request(tokens(rng, 3 + n), 3 + n, n % 3 / 2, 0.9 if n % 2 else 1.0, n)
            for n in range(8)
        ]
        for request, sampled in zip(requests, sample(local, *requests), strict=True):
            [alone] = sample(local, request)
            assert alone.ids == sampled.ids
            assert alone.logprobs == pytest.approx(sampled.logprobs, abs=1e-5)


class TestBatches:
    def test_rows_leave_when_they_end_and_others_join(self):
        local = local_of(batch_size=4)
        local._end_ids = frozenset()
        sample(local, Request([1], 1))  # it finds out whether the model can be cached
        with Passes(local.model) as shapes:
            sample(local, *(Request([10 + n, 20 + n], n + 1) for n in range(5)))
        # Four begin, and the first has its only token then; the fifth takes its row, and is last.
        assert shapes == [(4, 2), (1, 2), (4, 1), (3, 1), (2, 1), (1, 1)]

    def test_equal_prompts_of_one_step_are_computed_once(self):
        local = local_of(batch_size=8)
        local._end_ids = frozenset()
        sample(local, Request([1], 1))
        with Passes(local.model) as shapes:
            apart = sample(local, *(Request([7, 8], 3, 5.0, seed=n) for n in range(4)))
        assert shapes == [(1, 2), (4, 1), (4, 1)]
        assert len({one.ids[0] for one in apart}) == 4

    def test_a_turn_computes_only_what_is_new_and_a_common_beginning_once(self):
        local, rng = local_of(batch_size=16), random.Random(0)
        local._end_ids = frozenset()
        rules = tokens(rng, 50)
        prompts = [[*rules, 3 + n] for n in range(16)]

        async def play():
            first = await asyncio.gather(*(local.submit(Request(ids, 1)) for ids in prompts))
            later = [[*ids, *one.ids, 7, 8, 9] for ids, one in zip(prompts, first, strict=True)]
            return await asyncio.gather(*(local.submit(Request(ids, 1)) for ids in later))

        sample(local, Request([1], 1))
        with Passes(local.model) as shapes:
            asyncio.run(play())
        assert shapes == [(1, 51), (15, 1), (16, 4)]

    def test_more_episodes_than_rows_keep_their_cached_tokens(self):
        """With 12 agents and 4 rows, no turn is recomputed from its beginning."""
        local, rng = local_of(batch_size=4), random.Random(0)
        local._end_ids = frozenset()
        agents = [Agent() for _ in range(12)]
        for agent in agents:
            local.join(agent)
        prompts = [tokens(rng, 30) for _ in agents]

        async def play():
            for turn in range(3):
                said = await asyncio.gather(*(local.submit(Request(ids, 2)) for ids in prompts))
                for ids, one in zip(prompts, said, strict=True):
                    ids += [*one.ids, turn + 3]

        with Passes(local.model) as shapes:
            asyncio.run(play())
        assert sum(rows * width for rows, width in shapes if width > 2) < 12 * 30 + 50
        for agent in agents:
            local.leave(agent)
        assert not local._runners  # and with the last one, all of it is dropped

    def test_an_error_is_that_of_its_batch_and_the_next_prompts_are_answered(self):
        local = local_of(batch_size=2)

        def fail(*_):
            handle.remove()
            raise RuntimeError("a kernel failed")

        async def play():
            futures = [local.submit(Request([n + 5], 4, seed=n)) for n in range(4)]
            return await asyncio.gather(*futures, return_exceptions=True)

        sample(local, Request([1], 1))
        handle = local.model.register_forward_pre_hook(fail)
        results = asyncio.run(play())
        assert [str(one) for one in results[:2]] == ["a kernel failed"] * 2
        for n in (2, 3):
            expected = logprobs_of(local.model, [n + 5], results[n].ids)
            assert results[n].logprobs == pytest.approx(expected, abs=1e-5)

    def test_logits_that_are_not_finite_are_an_error(self):
        model = copy.deepcopy(model_of("qwen3"))
        local = LocalModel(model, TOKENIZER, batch_size=4)
        sample(local, Request([5, 6], 2))
        with torch.no_grad():
            model.model.norm.weight.fill_(float("nan"))
        with pytest.raises(LogitsError, match="not finite"):
            sample(local, Request([5, 6], 2))

    def test_a_prompt_that_is_cancelled_leaves_its_row(self):
        local = local_of(batch_size=2)
        local._end_ids = frozenset()

        async def play():
            futures = [local.submit(Request([n + 5], 30)) for n in range(3)]
            runner = local._runners[asyncio.get_running_loop()]
            while not runner._decoder.is_busy:  # noqa: ASYNC110 - turns of the loop
                await asyncio.sleep(0)
            futures[0].cancel()
            await futures[2]
            return await futures[1]

        with Passes(local.model) as shapes:
            assert len(asyncio.run(play()).ids) == 30
        assert len(shapes) < 30 + 30  # the third did not wait for the first

    def test_the_loop_sleeps_while_there_is_nothing_to_do(self, monkeypatch):
        local, turns = local_of(), []
        runner = sys.modules["gem_agents.local_model"]._StepRunner
        iterate = runner._iterate
        monkeypatch.setattr(runner, "_iterate", lambda *args: turns.append(1) or iterate(*args))

        async def play():
            await local.submit(Request([5], 2))
            before = len(turns)
            await asyncio.sleep(0.02)
            return before

        assert asyncio.run(play()) == len(turns) > 0


class TestWeights:
    def change(self, model, how):
        if how == "load":
            model.load_state_dict(
                {name: tensor * 0.9 for name, tensor in model.state_dict().items()}
            )
            return
        if how == "exchanged":
            old = model.model.norm.weight
            model.model.norm.weight = torch.nn.Parameter(old.detach() * 1.5)
            return
        kind, options = {
            "sgd": (torch.optim.SGD, {}),
            "adamw": (torch.optim.AdamW, {}),
            "foreach": (torch.optim.AdamW, {"foreach": True}),
            "fused": (torch.optim.AdamW, {"fused": True}),
        }[how]
        optimizer = kind(model.parameters(), lr=0.05, **options)
        logits = model(torch.tensor([[5, 6, 7, 8]])).logits
        logits.log_softmax(-1)[..., 9].sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    @pytest.mark.parametrize("how", ["sgd", "adamw", "foreach", "fused", "load", "exchanged"])
    def test_the_cache_is_dropped_when_the_weights_change(self, how):
        model = copy.deepcopy(model_of("qwen3"))
        local = LocalModel(model, TOKENIZER, batch_size=4)
        request = Request(tokens(random.Random(0), 30), 8, seed=1)

        async def play():
            before = await local.submit(request)
            self.change(model, how)
            return before, await local.submit(request)

        before, after = asyncio.run(play())
        assert before.logprobs != pytest.approx(after.logprobs[: len(before.logprobs)], abs=1e-3)
        expected = logprobs_of(model, request.ids, after.ids)
        assert after.logprobs == pytest.approx(expected, abs=1e-5)

    def test_each_token_has_the_version_of_the_weights_that_sampled_it(self):
        model = copy.deepcopy(model_of("qwen3"))
        before = copy.deepcopy(model)
        local = LocalModel(model, TOKENIZER, batch_size=4)
        local._end_ids = frozenset()
        local.version = 3
        request = Request(tokens(random.Random(0), 30), 20, seed=1)

        async def play():
            future = local.submit(request)
            with Passes(model) as shapes:
                while len(shapes) < 8:  # noqa: ASYNC110 - turns of the loop
                    await asyncio.sleep(0)
            self.change(model, "load")
            local.version = 4
            return await future, await local.submit(request)

        both, later = asyncio.run(play())
        assert set(both.versions) == {3, 4}
        assert list(both.versions) == sorted(both.versions)
        for sampled in (both, later):
            found = {3: before, 4: model}
            logprobs = {
                version: logprobs_of(one, request.ids, sampled.ids)
                for version, one in found.items()
            }
            expected = [logprobs[version][at] for at, version in enumerate(sampled.versions)]
            assert sampled.logprobs == pytest.approx(expected, abs=1e-5)
        assert both.logprobs[0] != pytest.approx(
            logprobs_of(model, request.ids, both.ids)[0], abs=1e-3
        )
        assert set(later.versions) == {4}

    def test_a_reply_that_was_ended_has_a_version_for_each_token(self):
        local = local_of()
        local.version = 5
        rng = random.Random(0)
        requests = [Request(tokens(rng, 9), 1 + most, seed=2, stop=["e"]) for most in range(16)]
        found = sample(local, *requests)
        assert {one.is_complete for one in found} == {True, False}
        for one in found:
            assert one.versions == [5] * len(one.ids)

    def test_samples_do_not_depend_on_those_before_a_change_of_the_weights(self):
        def play(*, before):
            model = copy.deepcopy(model_of("qwen3"))
            local = LocalModel(model, TOKENIZER, batch_size=8)

            async def run():
                if before:
                    await episodes(local, random.Random(9), count=20)
                self.change(model, "load")
                return await episodes(local, random.Random(1))

            return [(one.ids, one.logprobs) for _, one in asyncio.run(run())]

        assert play(before=True) == play(before=False)

    @pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
    def test_low_rank_weights_count_and_the_mode_stays(self):
        peft = needs("peft")
        torch.manual_seed(0)
        options = peft.LoraConfig(r=4, lora_dropout=0.5, target_modules=["q_proj", "v_proj"])
        model = peft.get_peft_model(copy.deepcopy(model_of("qwen3")), options)
        model.train()
        model.base_model.model.model.layers[0].eval()
        modes = [module.training for module in model.modules()]
        local = share_model(model, TOKENIZER, batch_size=4)
        request = Request(tokens(random.Random(0), 30), 8, seed=1)

        async def play():
            before = await local.submit(request)
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    if "lora" in name:
                        parameter.add_(torch.randn_like(parameter))
            return before, await local.submit(request)

        before, after = asyncio.run(play())
        assert [module.training for module in model.modules()] == modes
        assert torch.is_grad_enabled()
        model.eval()
        expected = logprobs_of(model, request.ids, after.ids)
        assert after.logprobs == pytest.approx(expected, abs=1e-5)
        assert before.logprobs != pytest.approx(after.logprobs[: len(before.logprobs)], abs=1e-3)
        with Passes(model) as shapes:
            sample(local, request)
        assert shapes[-1] == (1, 1)  # peft's models are cached as well


RUN = """
import hashlib, json, sys
import torch
torch.set_num_threads(1)
import gem_core
from gem_rollout import collect

class Turns(gem_core.BaseEnv):
    def start(self):
        self.left = self.rng.randrange(1, 5)
        return "You are playing Guess The Number.", {}

    def step(self, action):
        self.left -= 1
        said = "higher " * self.rng.randrange(1, 9) + action[:2]
        return gem_core.Step(said, 0.0, self.left == 0, False, {})

def play(seed):
    trajectories = collect(
        Turns,
        lambda: gem_core.make_agent(
            "transformers", model=sys.argv[1], device="cpu", max_new_tokens=12, seed=seed
        ),
        episodes=40, concurrency=16, seed=seed,
    )
    played = sorted((one.index, [
        (turn.action, turn.generation.token_ids, turn.generation.logprobs) for turn in one.turns
    ], one.error) for one in trajectories)
    assert not any(error for _, _, error in played), played
    assert sum(len(turns) for _, turns, _ in played) > 80
    return hashlib.sha256(json.dumps(played).encode()).hexdigest()

if sys.argv[2] == "after":
    play(1)
print(play(0))
"""


class Once(gem_core.BaseEnv):
    """One turn; the observation depends on the seed."""

    def start(self):
        return f"Say {self.rng.randrange(10**9)}.", {}

    def step(self, action):
        return gem_core.Step("", 0.0, True, False, {})


class Slow(gem_core.BaseEnv):
    """Blocks for a different time in each turn."""

    blocking = True

    def start(self):
        self.turn = 0
        return "begin", {}

    def step(self, action):
        self.turn += 1
        time.sleep(self.rng.random() / 50)
        return gem_core.Step("go on " * self.turn, 0.0, self.turn == 4, False, {})


class TestRuns:
    def test_environments_that_block_are_not_waited_for(self):
        """Replies are correct regardless of which environments are blocked."""
        model = model_of("qwen3")

        def make_agent():
            return gem_core.make_agent(
                "transformers", model=model, tokenizer=TOKENIZER, max_new_tokens=9, batch_size=6
            )

        for trajectory in collect(Slow, make_agent, episodes=20, concurrency=9):
            assert trajectory.error is None
            ids = []
            for turn in trajectory.turns:
                said = turn.generation
                ids = (ids if said.extends else []) + said.prompt_ids
                expected = logprobs_of(model, ids, said.token_ids)
                assert said.logprobs == pytest.approx(expected, abs=1e-5)
                ids = ids + said.token_ids

    def test_a_changed_template_takes_effect(self, monkeypatch):
        tokenizer, agents, texts = make_tiny_tokenizer(), [], []
        encode = tokenizer.encode
        monkeypatch.setattr(
            tokenizer,
            "encode",
            lambda text, **options: texts.append(text) or encode(text, **options),
        )

        def make_agent():
            agent = gem_core.make_agent(
                "transformers", model=model_of("qwen3"), tokenizer=tokenizer, max_new_tokens=4
            )
            agents.append(agent)
            return agent

        agents.append(make_agent())  # with one that stays, nothing is dropped at the end of a run
        for prefix in "", "Listen. ":
            tokenizer.chat_template = prefix + "{{ messages[0].content }}"
            played = list(collect(Once, make_agent, episodes=8, episodes_per_group=4))
            assert len({tuple(one.turns[0].generation.prompt_ids) for one in played}) == 2
            assert all(text.startswith(prefix + "Say ") for text in texts)
            texts.clear()

    def test_the_same_run_is_the_same_to_the_last_bit(self, tmp_path):
        """Also in another process, with another hash seed, and after another run."""
        folder = save_tiny_model(tmp_path)

        def run(when, hash_seed):
            done = subprocess.run(
                [sys.executable, "-c", RUN, folder, when],
                env={"PYTHONHASHSEED": hash_seed, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                timeout=600,  # it takes a second where nothing else runs
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        first = run("alone", "1")
        assert len(first.strip()) == 64
        assert run("after", "2") == first
