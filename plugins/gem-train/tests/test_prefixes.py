"""Prompts that rows share are read once, and nothing else changes."""

import random

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from models import learner_of, weights_of

from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_train.batch import batch_of
from gem_train.policy import Critic, Policy
from gem_train.samples import Sample

SMALL = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
MODELS = {
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SMALL, intermediate_size=64, num_key_value_heads=1)
    ),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=300, n_embd=32, n_layer=2, n_head=2)
    ),
    "sliding window": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(
            **SMALL, intermediate_size=64, num_key_value_heads=1, sliding_window=4
        )
    ),
    "mamba": lambda: transformers.MambaForCausalLM(
        transformers.MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=2, state_size=4)
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def grouped(seed, groups=3, size=4, prompt=12):
    """Episodes of groups that begin with the same prompt, of several turns and lengths."""
    rng = random.Random(seed)

    def some(least, most):
        return [rng.randrange(1, 300) for _ in range(rng.randint(least, most))]

    samples = []
    for group in range(groups):
        first = some(2, prompt)
        for episode in range(group * size, group * size + size):
            seen, turns = list(first), rng.randint(1, 3)
            for turn in range(turns):
                response = some(1, 5)
                samples.append(
                    Sample(
                        prompt_ids=seen,
                        response_ids=response,
                        logprobs=None,
                        reward=rng.random(),
                        done=turn == turns - 1,
                        truncated=False,
                        cut=False,
                        formatted=True,
                        episode=episode,
                        turn=turn,
                        group=group,
                    )
                )
                seen = seen + response + some(1, 3)
    return batch_of(samples, rows="episodes")


def every_way(policy, batch):
    """Log-probabilities, entropies and gradients: in one pass, in two, and read in every row."""
    found = []
    for one, two in ((True, True), (False, True), (False, False)):
        policy._prefixes._can_pack, policy._prefixes._can = one, two
        policy.model.zero_grad()
        logprobs, entropies = policy.logprobs_and_entropy(batch)
        (logprobs.sum() + entropies.sum()).backward()
        gradients = torch.cat([one.grad.flatten() for one in policy.parameters()])
        found.append((logprobs.detach(), entropies.detach(), gradients))
    return zip(*found, strict=True)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), groups=st.integers(1, 4), prompt=st.integers(2, 40))
def test_values_and_gradients_are_the_same_in_any_batch(folder, seed, groups, prompt):
    policy, batch = Policy.load(folder, device="cpu"), grouped(seed, groups, prompt=prompt)
    for packed, shared, whole in every_way(policy, batch):
        torch.testing.assert_close(packed, whole, atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(shared, whole, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_other_models_can_too(name):
    torch.manual_seed(0)
    policy, batch = Policy(MODELS[name]().eval(), make_tiny_tokenizer()), grouped(0, prompt=40)
    with torch.no_grad():
        policy.logprobs(batch)
    assert policy._prefixes._can is True
    assert policy._prefixes._can_pack is True
    for packed, shared, whole in every_way(policy, batch):
        torch.testing.assert_close(packed, whole, atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(shared, whole, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", ["sliding window", "mamba"])
def test_a_model_that_cannot_go_on_from_a_prompt_is_read_whole(name):
    """Or it can, in a version of transformers that makes it so: then it is right."""
    torch.manual_seed(0)
    policy, batch = Policy(MODELS[name]().eval(), make_tiny_tokenizer()), grouped(0, prompt=40)
    with torch.no_grad():
        found = policy.logprobs(batch)
        policy._prefixes._can = False
        torch.testing.assert_close(found, policy.logprobs(batch), atol=1e-4, rtol=1e-3)


def test_a_critic_reads_the_same_values(folder):
    policy, batch = Policy.load(folder, device="cpu"), grouped(1, prompt=40)
    critic = Critic(policy)
    torch.nn.init.normal_(critic.head.weight)
    values = []
    for one, two in ((True, True), (False, True), (False, False)):
        critic._prefixes._can_pack, critic._prefixes._can = one, two
        values.append(batch.values(critic(batch)))
    torch.testing.assert_close(values[0], values[2], atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(values[1], values[2], atol=1e-4, rtol=1e-3)


def test_fewer_tokens_go_through_the_model(folder):
    policy, batch = Policy.load(folder, device="cpu"), grouped(2, prompt=40)
    tokens = []
    policy.model.register_forward_pre_hook(
        lambda _, __, inputs: tokens.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    with torch.no_grad():
        policy.logprobs(batch)
        tokens.clear()
        policy.logprobs(batch)
    assert sum(tokens) < 0.7 * batch.ids.numel()


def test_short_rows_go_through_the_model_in_one_pass_and_long_ones_in_two(folder):
    policy = Policy.load(folder, device="cpu")
    passes = []
    policy.model.register_forward_pre_hook(
        lambda _, __, inputs: passes.append(tuple(inputs["input_ids"].shape)), with_kwargs=True
    )
    for widest, count in ((10**6, 1), (20, 2)):
        batch, policy._prefixes._widest = grouped(2, prompt=40), widest
        with torch.no_grad():
            policy.logprobs(batch)
            passes.clear()
            policy.logprobs(batch)
        assert len(passes) == count


def test_a_model_that_adds_masks_is_read_in_two_passes():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        **SMALL, intermediate_size=64, num_key_value_heads=1, attn_implementation="eager"
    )
    policy = Policy(transformers.LlamaForCausalLM(config).eval(), make_tiny_tokenizer())
    policy._prefixes._widest = 10**6
    with torch.no_grad():
        policy.logprobs(grouped(0, prompt=40))
    assert policy._prefixes._can is True
    assert policy._prefixes._can_pack is False


def test_prompts_of_their_own_are_read_in_their_rows(folder):
    policy = Policy.load(folder, device="cpu")
    assert policy._prefixes.read(grouped(3, groups=6, size=1)) is None


def test_with_checkpointing_the_rows_are_read_whole_and_learned_from(folder):
    def learned(*, checkpointing):
        policy = Policy.load(folder, device="cpu", gradient_checkpointing=checkpointing)
        learner_of(policy).learn(grouped(4, prompt=40), torch.Generator().manual_seed(0))
        return policy, torch.cat([one.flatten() for one in weights_of(policy).values()])

    plain, whole = learned(checkpointing=False)
    other, parts = learned(checkpointing=True)
    assert plain._prefixes._can is True
    assert other._prefixes._can is False
    torch.testing.assert_close(whole, parts, atol=2e-4, rtol=1e-2)


def test_how_many_tokens_go_through_the_model_is_known_before(folder):
    for batch in grouped(2, prompt=40), grouped(3, groups=6, size=1):
        policy, tokens = Policy.load(folder, device="cpu"), []
        known = policy._prefixes.tokens(batch)
        policy.model.register_forward_pre_hook(
            lambda _, __, inputs, tokens=tokens: tokens.append(inputs["input_ids"].numel()),
            with_kwargs=True,
        )
        with torch.no_grad():
            policy.logprobs(batch)
        assert max(tokens) <= known <= max(tokens) + len(batch.ids)  # the last ones are left out
