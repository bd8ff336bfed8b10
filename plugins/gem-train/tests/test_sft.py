"""Supervised training learns the responses, and nothing else."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plays import GAME, SOME, played

import gem_core
from gem_core.errors import DataError
from gem_rollout import Trajectory, collect
from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
from gem_train.batch import batch_of
from gem_train.demonstrations import Demonstrator, demonstrations
from gem_train.errors import DivergedError
from gem_train.make_model import PIECES
from gem_train.objective import loss_weights
from gem_train.policy import Policy
from gem_train.schedule import share_of_lr
from gem_train.sft import imitation_loss, sft
from gem_train.sft_config import SFTConfig
from gem_train.transitions import transitions_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tokenizer = make_tiny_tokenizer(pieces=PIECES, context=2048)
    path = tmp_path_factory.mktemp("model")
    return save_tiny_model(path, tokenizer=tokenizer, context=2048, hidden=32, layers=1, heads=2)


@pytest.fixture
def policy(folder):
    return Policy.load(folder, device="cpu")


@pytest.fixture(scope="module")
def shown(folder):
    """Episodes of the oracle."""
    tokenizer = Policy.load(folder, device="cpu").tokenizer
    found = demonstrations(lambda: gem_core.make(GAME), tokenizer, episodes=24)
    return sorted(found, key=lambda one: one.index)


def weights_of(policy):
    return {name: one.clone() for name, one in policy.trained_state().items()}


def is_same(a, b):
    return all(torch.equal(a[name], b[name]) for name in a)


def test_the_loss_is_the_mean_over_sampled_tokens(policy, shown):
    batch = batch_of(transitions_of(shown[:4]), rows="episodes")
    with torch.no_grad():
        loss = imitation_loss(policy, batch, loss_weights(batch, "token")).item()
        losses = []
        for one in shown[:4]:
            for sequence in one.tokens():
                logits = policy.model(input_ids=torch.tensor([sequence.ids])).logits[0]
                for _, start, end in sequence.spans:
                    for place in range(start, end):
                        row = logits[place - 1].double().log_softmax(-1)
                        losses.append(-row[sequence.ids[place]].item())
    assert loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)


@pytest.mark.slow
def test_a_policy_learns_to_say_it_so_that_it_plays(policy, shown, tmp_path):
    logged = {}
    config = SFTConfig(steps=60, batch_size=8, lr=1e-2, warmup_steps=5, validate_every=20)
    sft(policy, shown, config, lambda step, figures: logged.update({step: figures}))
    assert sorted(logged) == list(range(61))
    held_out = {n: one["validation/loss"] for n, one in logged.items() if "validation/loss" in one}
    assert sorted(held_out) == [0, 20, 40, 60]
    assert held_out[0] > 4
    assert held_out[60] < 0.6
    policy.save(tmp_path)
    agent = {"model": str(tmp_path), "max_new_tokens": 8, "temperature": 0}
    made = collect(
        lambda: gem_core.make(GAME),
        lambda: gem_core.make_agent("transformers", **agent),
        episodes=8,
    )
    assert not any(turn.info.get("format_error") for one in made for turn in one.turns)


def test_the_same_call_gives_the_same_weights(folder, shown):
    def trained(seed):
        policy = Policy.load(folder, device="cpu")
        sft(policy, shown, SFTConfig(steps=3, batch_size=4, seed=seed))
        return weights_of(policy)

    first = trained(0)
    assert is_same(first, trained(0))
    assert not is_same(first, trained(1))


@pytest.mark.slow
def test_parts_of_a_batch_add_up_to_the_whole(folder, shown):
    def trained(tokens):
        policy = Policy.load(folder, device="cpu")
        policy.model.double()
        sft(policy, shown, SFTConfig(steps=2, batch_size=8, tokens=tokens, warmup_steps=0))
        return weights_of(policy)

    whole, parts = trained(2**20), trained(1)
    for name, one in whole.items():
        assert torch.allclose(one, parts[name], rtol=1e-6, atol=1e-9), name


def test_without_steps_each_epoch_sees_every_episode_once(policy, shown):
    logged = []
    config = SFTConfig(epochs=2, batch_size=10, held_out=0)
    sft(policy, shown, config, lambda step, figures: logged.append((step, figures)))
    assert [step for step, _ in logged] == [1, 2, 3, 4, 5, 6]
    sampled = sum(len(turn.generation.token_ids) for one in shown for turn in one.turns)
    assert sum(figures["train/tokens"] for _, figures in logged[:3]) == sampled
    assert sum(figures["train/tokens"] for _, figures in logged[3:]) == sampled


@pytest.mark.slow
def test_held_out_episodes_are_not_learned(folder, shown):
    """Other tokens in the only held-out episode change its loss, but no weight."""
    config = SFTConfig(steps=2, batch_size=30, held_out=0.01)

    def trained(trajectories):
        policy, losses = Policy.load(folder, device="cpu"), []
        sft(policy, trajectories, config, lambda _, figures: losses.append(figures))
        return weights_of(policy), losses[0]["validation/loss"]

    weights, loss = trained(shown[:4])
    changed = 0
    for place in range(4):
        with_one_changed = shown[:4]
        with_one_changed[place] = with_other_tokens(shown[place])
        other_weights, other_loss = trained(with_one_changed)
        changed += is_same(weights, other_weights)
        assert is_same(weights, other_weights) == (loss != other_loss)
    assert changed == 1


def with_other_tokens(trajectory):
    copy = Trajectory.from_dict(trajectory.to_dict())
    for turn in copy.turns:
        ids = turn.generation.token_ids
        turn.generation = type(turn.generation)(**{**vars(turn.generation), "token_ids": ids[::-1]})
    return copy


def test_episodes_of_one_start_state_are_held_out_together(folder):
    tokenizer = Policy.load(folder, device="cpu").tokenizer
    groups = collect(
        lambda: gem_core.make(GAME),
        lambda: Demonstrator(tokenizer),
        episodes=8,
        episodes_per_group=4,
    )
    logged = []
    sft(
        Policy.load(folder, device="cpu"),
        sorted(groups, key=lambda one: one.index),
        SFTConfig(epochs=1, batch_size=1, held_out=0.5),
        lambda step, figures: logged.append(step),
    )
    assert max(logged) == 4


def test_a_loss_that_is_not_finite_ends_training_before_the_update(policy, shown):
    with torch.no_grad():
        next(iter(policy.parameters()))[0, 0] = math.nan
    before = weights_of(policy)
    with pytest.raises(DivergedError, match="Lower lr"):
        sft(policy, shown, SFTConfig(steps=3, held_out=0))
    after = weights_of(policy)
    assert all(torch.equal(before[n].nan_to_num(), after[n].nan_to_num()) for n in before)


def test_training_that_diverges_ends(policy, shown):
    with pytest.raises(DivergedError):
        sft(policy, shown, SFTConfig(steps=20, lr=1e36, warmup_steps=0, held_out=0))


def test_episodes_without_tokens_cannot_be_learned(policy, shown):
    untold = Trajectory.from_dict(shown[0].to_dict())
    untold.turns[0].generation = None
    with pytest.raises(DataError, match="no token ids"):
        sft(policy, [untold], SFTConfig())


@pytest.mark.parametrize("nothing", [[], "errors"])
def test_nothing_to_learn_from_is_reported(policy, shown, nothing):
    if nothing == "errors":
        failed = Trajectory.from_dict(shown[0].to_dict())
        failed.error = {"boundary": "env", "type": "X", "message": "", "traceback": ""}
        nothing = [failed]
    with pytest.raises(DataError, match="nothing to learn from"):
        sft(policy, nothing, SFTConfig())


def test_tokens_of_another_tokenizer_are_refused(policy):
    with pytest.raises(DataError, match="another tokenizer"):
        sft(policy, [with_token(played(1)[0], 99_999)], SFTConfig())


def with_token(trajectory, token):
    trajectory.turns[0].generation.token_ids[0] = token
    return trajectory


def test_tokens_that_the_model_cannot_read_are_refused(policy, shown):
    policy.model.config.max_position_embeddings = 100
    with pytest.raises(DataError, match="reads at most 100"):
        sft(policy, shown, SFTConfig())


@pytest.mark.parametrize(
    "values", [{"lr": 0}, {"held_out": 1}, {"schedule": "none"}, {"steps": 0}, {"stepz": 1}]
)
def test_values_that_cannot_work_are_refused(values):
    with pytest.raises(ValueError, match="SFTConfig"):
        SFTConfig(**values)


@SOME
@given(
    schedule=st.sampled_from(["constant", "linear", "cosine"]),
    updates=st.integers(1, 50),
    warmup=st.integers(0, 60),
)
def test_a_learning_rate_rises_and_then_falls(schedule, updates, warmup):
    shares = [share_of_lr(schedule, n, updates=updates, warmup=warmup) for n in range(updates)]
    assert all(0 < share <= 1 for share in shares)
    top = min(warmup, updates - 1)
    assert shares[: top + 1] == sorted(shares[: top + 1])
    assert shares[top:] == sorted(shares[top:], reverse=True)
    if warmup < updates:
        assert shares[warmup] == 1
    if schedule != "constant" and warmup < updates:
        end = share_of_lr(schedule, updates, updates=updates, warmup=warmup)
        assert end == pytest.approx(0)
