"""Updates: their loss, and gradients that are accumulated over the parts of a batch."""

import copy
import dataclasses
import math

import pytest
import torch
from models import batch_for, generator, learner_of, weights_of
from needs import needs
from plays import ALL

from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.errors import DivergedError, TooLargeError, memory_limit
from gem_train.policy import Policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def policy(folder):
    return Policy.load(folder, device="cpu")


def change(folder, **config):
    """The change of the weights by one update, as one vector."""
    policy = Policy.load(folder, device="cpu", **config.pop("policy", {}))
    rows = config.pop("rows", "episodes")
    learner = learner_of(policy, config.pop("algo", "rebn"), config.pop("options", None), **config)
    before = weights_of(policy)
    learner.learn(batch_for(policy, rows=rows), generator())
    return torch.cat([(weights_of(policy)[n] - before[n]).flatten() for n in before])


def test_an_update_is_that_of_the_literal_equation(policy):
    """AdamW on the gradient of -sum(A log pi) / (M C), with A the standardised returns."""
    batch, literal = batch_for(policy), copy.deepcopy(policy.model)
    learner_of(policy, "rebn", {"gamma": 0.9}, sampling={"max_new_tokens": 8}).learn(
        batch, generator()
    )

    returns, going = [0.0] * len(batch.reward), {}
    for number in reversed(range(len(batch.reward))):
        episode = int(batch.episode[number])
        going[episode] = float(batch.reward[number]) + 0.9 * going.get(episode, 0.0)
        returns[number] = going[episode]
    mean = sum(returns) / len(returns)
    std = math.sqrt(sum((one - mean) ** 2 for one in returns) / len(returns))
    loss = 0.0
    for row, length in enumerate(batch.lengths.tolist()):
        logits = literal(input_ids=batch.ids[row : row + 1, :length]).logits[0].log_softmax(-1)
        for place in range(1, length):
            turn = int(batch.turn_of[row, place])
            if turn >= 0:
                advantage = (returns[turn] - mean) / std
                loss = loss - advantage * logits[place - 1, batch.ids[row, place]]
    optimizer = torch.optim.AdamW(literal.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0)
    (loss / len(returns) / 8).backward()
    torch.nn.utils.clip_grad_norm_(literal.parameters(), 1.0)
    gradients = [one.grad.clone() for one in literal.parameters()]
    optimizer.step()

    for mine, theirs, gradient in zip(
        policy.model.parameters(), literal.parameters(), gradients, strict=True
    ):
        sure = gradient.abs() > 1e-6  # Adam's first step is a sign: rounding decides near 0
        torch.testing.assert_close(mine[sure], theirs[sure], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "other",
    [
        {"optim": {"tokens": 40}},
        {"rows": "turns"},
        {"policy": {"gradient_checkpointing": True}},
        {"loss": {"id": "reinforce"}},
        {"loss": {"importance_cap": None}},
    ],
    ids=["in parts", "a row a turn", "checkpointing", "reinforce", "no importance weights"],
)
def test_the_first_update_is_the_same_however_it_is_computed(folder, other):
    """On tokens that the policy has just sampled, all of these have the same gradient."""
    plain, changed = change(folder), change(folder, **other)
    torch.testing.assert_close(changed, plain, atol=2e-4, rtol=0.05)
    assert torch.nn.functional.cosine_similarity(changed, plain, dim=0) > 0.999


def test_bf16_goes_nearly_the_same_way(folder):
    plain, short = change(folder), change(folder, policy={"precision": "bf16"})
    assert torch.nn.functional.cosine_similarity(short, plain, dim=0) > 0.8


def test_rewarded_actions_become_more_likely(policy):
    learner, batch = learner_of(policy), batch_for(policy)
    before = policy.logprobs(batch).detach()
    for _ in range(5):
        learner.learn(batch, generator())
    gain = policy.logprobs(batch).detach() - before
    advantages = batch.to_tokens(learner.algorithm.advantages(batch))
    assert gain[advantages > 0].mean() > 0.05
    assert gain[advantages < 0].mean() < -0.05


def test_epochs_and_minibatches_make_as_many_updates_and_leave_the_old_policy(policy):
    learner = learner_of(policy, optim={"epochs": 2, "minibatches": 3})
    figures = learner.learn(batch_for(policy), generator()).metrics
    assert learner.schedule.last_epoch == 6
    assert figures["train/kl_update"] > 1e-6


def test_one_update_is_on_the_policy_that_sampled(policy):
    figures = learner_of(policy).learn(batch_for(policy), generator()).metrics
    assert figures["train/sampler_gap"] < 1e-5
    assert figures["train/kl_update"] == 0
    assert figures["train/clipped"] == 0


def test_the_effective_sample_size_is_that_of_the_importance_ratios(policy):
    batch, learner = batch_for(policy), learner_of(policy, optim={"lr": 1e-9})
    shifts = torch.rand(batch.ids.shape, generator=generator()) * 4
    weights = shifts[batch.mask].exp()
    expected = weights.sum() ** 2 / (len(weights) * (weights**2).sum())
    for far, found in ((0, expected.item()), (1000, 1.0)):  # so far that floats would overflow
        sampler = batch.sampler_logprobs - shifts - far
        figures = learner.learn(dataclasses.replace(batch, sampler_logprobs=sampler), generator())
        ess = figures.metrics["train/effective_sample_size"]
        assert ess == pytest.approx(found, rel=1e-4)


@pytest.mark.slow
def test_the_kl_term_keeps_the_policy_near_its_start(folder):
    def drift(weight):
        policy = Policy.load(folder, device="cpu")
        batch = batch_for(policy)
        learner = learner_of(policy, loss={"kl": weight, "length_norm": "token"})
        for _ in range(10):
            figures = learner.learn(batch, generator()).metrics
        return figures["train/kl_reference"]

    assert drift(10.0) < drift(1e-6) / 4


@pytest.mark.slow
def test_the_entropy_term_keeps_the_entropy_up(folder):
    def left(weight):
        policy = Policy.load(folder, device="cpu")
        batch = batch_for(policy)
        learner = learner_of(policy, "reinforce", loss={"entropy": weight, "length_norm": "token"})
        for _ in range(10):
            figures = learner.learn(batch, generator()).metrics
        return figures["train/entropy"]

    assert left(1.0) > left(1e-9) + 0.05


@pytest.mark.slow
def test_a_critic_learns_the_values_of_prompts(policy):
    learner, batch = learner_of(policy, "ppo", critic={"clip": None}), batch_for(policy)
    first = learner.learn(batch, generator()).metrics
    for _ in range(30):
        last = learner.learn(batch, generator()).metrics
    assert last["train/value_loss"] < first["train/value_loss"] / 2
    assert last["train/explained_variance"] > first["train/explained_variance"] + 0.3


@pytest.mark.parametrize("algo", [name for name in ALL if name != "rebn"])
def test_every_algorithm_changes_the_weights(folder, algo):
    assert change(folder, algo=algo).abs().max() > 1e-5


@pytest.mark.parametrize("kl", [0.0, 1e-30])
def test_equal_returns_in_every_group_make_no_update_unless_the_loss_has_other_terms(policy, kl):
    """Not even with the momentum of an earlier update; the schedule of the rate goes on."""
    learner = learner_of(policy, "grpo", loss={"kl": kl}, optim={"schedule": "linear"}, steps=4)
    learner.learn(batch_for(policy), generator())
    before = weights_of(policy)
    passes = []
    body = policy.model.get_input_embeddings()
    hook = body.register_forward_hook(lambda *_: passes.append(1))
    metrics = learner.learn(batch_for(policy, reward=0.0, count=8), generator()).metrics
    hook.remove()
    after = weights_of(policy)
    assert all(torch.equal(after[name], before[name]) for name in before) == (kl == 0)
    assert metrics["train/updates"] == (kl > 0)
    assert metrics["train/lr"] == pytest.approx(0.75e-3)
    if kl == 0:
        assert (metrics["train/loss"], metrics["train/grad_norm"]) == (0, 0)
    assert learner.schedule.get_last_lr() == [pytest.approx(0.5e-3)]


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [1, 3])
def test_rows_that_tell_nothing_are_not_read_and_change_nothing(folder, epochs):
    """Half of the groups have equal returns; a loss that reads all rows gives the same weights."""

    def trained(**loss):
        policy = Policy.load(folder, device="cpu")
        batch = batch_for(policy)
        rewards = torch.where(batch.group % 2 == 0, 0.0, batch.reward)
        batch = dataclasses.replace(batch, reward=rewards)
        learner = learner_of(policy, "grpo", optim={"epochs": epochs}, loss=loss)
        sizes = []
        policy.model.get_input_embeddings().register_forward_hook(
            lambda _module, inputs, _output: sizes.append(inputs[0].numel())
        )
        learner.learn(batch, generator())
        return weights_of(policy), sum(sizes)

    some, fewer_tokens = trained()
    whole, tokens = trained(kl=1e-30)
    assert fewer_tokens < 0.8 * tokens
    for name in whole:
        torch.testing.assert_close(some[name], whole[name], atol=1e-4, rtol=1e-3)


def test_a_loss_that_is_not_finite_ends_it_with_the_weights_as_they_were(policy):
    learner, batch = learner_of(policy, "reinforce"), batch_for(policy, reward=math.inf)
    before = weights_of(policy)
    with pytest.raises(DivergedError, match=r"loss is .*optim\.lr"):
        learner.learn(batch, generator())
    after = weights_of(policy)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_a_lack_of_memory_is_reported_with_advice():
    with (
        pytest.raises(TooLargeError, match=r"Out of memory.*Lower optim\.tokens"),
        memory_limit("Lower optim.tokens."),
    ):
        torch.empty(1 << 60, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="size of tensor"), memory_limit(""):
        torch.zeros(2) + torch.zeros(3)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [1 / 3, 2 / 3, 1, 1, 1, 1]),
        ("linear", [1 / 3, 2 / 3, 1, 0.75, 0.5, 0.25]),
        ("cosine", [1 / 3, 2 / 3, 1, (1 + math.cos(math.pi / 4)) / 2, 0.5, 0.146447]),
    ],
)
def test_the_learning_rate_warms_up_and_falls(policy, schedule, rates):
    optim = {"schedule": schedule, "warmup_steps": 2}
    learner, batch = learner_of(policy, optim=optim, steps=6), batch_for(policy, 4)
    seen = [learner.learn(batch, generator()).metrics["train/lr"] for _ in rates]
    assert seen == pytest.approx([one * 1e-3 for one in rates], rel=1e-5)


@pytest.mark.parametrize("algo", ["rebn", "ppo"])
def test_state_that_was_saved_goes_on_bit_for_bit(folder, tmp_path, algo):
    def made():
        policy = Policy.load(folder, device="cpu")
        return policy, learner_of(policy, algo, loss={"kl": 0.1})

    policy, learner = made()
    batch = batch_for(policy)
    learner.learn(batch, generator())
    policy.save_weights(tmp_path, policy.weights_copy())
    torch.save(learner.state_dict(), tmp_path / "state.pt")
    learner.learn(batch, generator())

    again, other = made()
    again.load_weights(tmp_path)
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    other.learn(batch, generator())
    first, second = weights_of(policy), weights_of(again)
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_adapters_alone_are_trained_and_can_be_merged(folder, tmp_path):
    needs("peft")
    policy = Policy.load(folder, device="cpu", lora={"r": 4})
    frozen = {n: p.clone() for n, p in policy.model.named_parameters() if not p.requires_grad}
    learner, batch = learner_of(policy, loss={"kl": 0.1}), batch_for(policy)
    for _ in range(3):
        figures = learner.learn(batch, generator()).metrics
    assert figures["train/kl_reference"] > 0
    assert all("lora" in name for name in policy.trained_state())
    for name, one in policy.model.named_parameters():
        assert name not in frozen or torch.equal(one, frozen[name])

    policy.save_merged(tmp_path / "merged")
    with torch.no_grad():
        merged = Policy.load(tmp_path / "merged", device="cpu").logprobs(batch)
        torch.testing.assert_close(merged, policy.logprobs(batch), atol=1e-4, rtol=1e-4)


@pytest.mark.slow
def test_a_critic_beside_adapters_has_its_own_and_shares_the_frozen_weights(folder):
    needs("peft")
    policy = Policy.load(folder, device="cpu", lora={"r": 4})
    learner = learner_of(policy, "ppo", critic={"clip": None, "lr": 3e-3}, loss={"kl": 0.1})
    frozen = {id(one) for one in policy.model.parameters() if not one.requires_grad}
    of_critic = dict(learner.critic.named_parameters())
    trained = learner.critic.trained_state()
    assert all("lora" in name or "head" in name for name in trained)
    assert all(id(of_critic[name]) in frozen for name in set(of_critic) - set(trained))

    batch, before = batch_for(policy), weights_of(policy)
    first = learner.learn(batch, generator()).metrics
    changed = weights_of(policy)
    assert any(not torch.equal(changed[name], before[name]) for name in before)
    for _ in range(40):
        last = learner.learn(batch, generator()).metrics
    assert last["train/value_loss"] < first["train/value_loss"] / 2

    state = learner.state_dict()
    other = learner_of(Policy.load(folder, device="cpu", lora={"r": 4}), "ppo")
    other.load_state_dict(state)
    torch.testing.assert_close(other.critic(batch), learner.critic(batch))
