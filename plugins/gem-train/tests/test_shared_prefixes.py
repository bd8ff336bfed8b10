"""Prompts that several rows share are read once, and nothing else changes."""

import random

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from models import learner_of, weights_of
from plays import episode_of, turn_of
from selection import thorough

from gem_rollout.models.cache_names import cache_name
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_train.batch import batch_of
from gem_train.critic import Critic
from gem_train.policy import Policy
from gem_train.transitions import transitions_of

pytestmark = pytest.mark.slow

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
    """Groups of episodes with the same first prompt, of several turns and lengths."""
    rng = random.Random(seed)

    def some(least, most):
        return [rng.randrange(1, 300) for _ in range(rng.randint(least, most))]

    trajectories = []
    for group in range(groups):
        first = some(2, prompt)
        for episode in range(group * size, group * size + size):
            given, turns = first, []
            for turn in range(rng.randint(1, 3)):
                turns.append(turn_of(given, some(1, 5), None, rng.random(), extends=turn > 0))
                given = some(1, 3)
            trajectories.append(episode_of(turns, episode, group=group))
    return batch_of(transitions_of(trajectories), rows="episodes")


def whole(model):
    """Make a policy or a critic read whole rows."""
    model._prefixes._is_usable = False


def values_and_gradients(policy, batch):
    policy.model.zero_grad()
    logprobs, entropies = policy.logprobs_and_entropy(batch)
    (logprobs.sum() + entropies.sum()).backward()
    gradients = torch.cat([one.grad.flatten() for one in policy.parameters()])
    return logprobs.detach(), entropies.detach(), gradients


def assert_sharing_changes_nothing(policy, batch):
    shared = values_and_gradients(policy, batch)
    whole(policy)
    for one, other in zip(shared, values_and_gradients(policy, batch), strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


@settings(max_examples=25 if thorough() else 8)
@given(seed=st.integers(0, 2**32), groups=st.integers(1, 4), prompt=st.integers(2, 40))
def test_values_and_gradients_are_the_same_in_any_batch(folder, seed, groups, prompt):
    policy = Policy.load(folder, device="cpu")
    assert_sharing_changes_nothing(policy, grouped(seed, groups, prompt=prompt))


@pytest.mark.parametrize(
    ("name", "is_shared"),
    [("llama", True), ("gpt2", True), ("sliding window", False), ("mamba", False)],
)
def test_prompts_are_shared_by_models_whose_layers_attend_to_everything(name, is_shared):
    torch.manual_seed(0)
    policy, batch = Policy(MODELS[name]().eval(), make_tiny_tokenizer()), grouped(0, prompt=40)
    with torch.no_grad():
        assert (policy._prefixes.split(batch) is not None) == is_shared
    assert_sharing_changes_nothing(policy, batch)


def test_a_model_whose_outputs_would_differ_reads_whole_rows(folder):
    """A hook changes what this model computes from cached prompts."""
    policy, batch = Policy.load(folder, device="cpu"), grouped(0, prompt=40)

    def shift(_module, _args, kwargs, output):
        if kwargs.get(cache_name(policy.model)) is not None:
            output.last_hidden_state = output.last_hidden_state + 1
        return output

    policy.model.base_model.register_forward_hook(shift, with_kwargs=True)
    with torch.no_grad():
        assert policy._prefixes.split(batch) is None
    assert_sharing_changes_nothing(policy, batch)


def test_a_critic_reads_the_same_values(folder):
    policy, batch = Policy.load(folder, device="cpu"), grouped(1, prompt=40)
    critic = Critic(policy)
    torch.nn.init.normal_(critic.head.weight)
    shared = batch.values(critic(batch))
    whole(critic)
    torch.testing.assert_close(shared, batch.values(critic(batch)), atol=1e-4, rtol=1e-3)


def test_fewer_tokens_go_through_the_model(folder):
    policy, batch = Policy.load(folder, device="cpu"), grouped(2, prompt=40)
    passes = []
    policy.model.base_model.register_forward_pre_hook(
        lambda _, __, inputs: passes.append(inputs["input_ids"].numel()), with_kwargs=True
    )
    with torch.no_grad():
        policy.logprobs(batch)  # it is also computed as a whole, to compare
        passes.clear()
        policy.logprobs(batch)
    assert sum(passes) < 0.7 * batch.ids.numel()


def test_prompts_of_a_single_row_are_not_read_separately(folder):
    policy = Policy.load(folder, device="cpu")
    assert policy._prefixes.split(grouped(3, groups=6, size=1)) is None


def test_gradient_checkpointing_reads_whole_rows_and_learns_the_same(folder):
    def learned(*, checkpointing):
        policy = Policy.load(folder, device="cpu", gradient_checkpointing=checkpointing)
        learner_of(policy).learn(grouped(4, prompt=40), torch.Generator().manual_seed(0))
        return torch.cat([one.flatten() for one in weights_of(policy).values()])

    plain, checkpointed = learned(checkpointing=False), learned(checkpointing=True)
    torch.testing.assert_close(plain, checkpointed, atol=2e-4, rtol=1e-2)
