"""The hooks of algorithms, filters, shapers and losses in a learner and in a run."""

import csv
from dataclasses import replace

import pytest
import torch
from models import batch_for, generator, learner_of, trainer_of, weights_of

from gem_core.errors import ConfigError, EntryPointError, UnknownIdError, UnknownKwargError
from gem_core.plugins import default_registry
from gem_core.specs import Spec
from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.algorithm import Algorithm
from gem_train.algorithms.grpo import GRPO
from gem_train.algorithms.rebn import REBN
from gem_train.config import TrainConfig
from gem_train.engines import TransformersEngine
from gem_train.errors import FilteredOutError
from gem_train.filters import EpisodeFilter
from gem_train.parts import parts_of
from gem_train.policy import Policy
from gem_train.shapers import RewardShaper
from gem_train.specs import ENGINES


class PerToken(REBN):
    """ReBN, with an advantage for each token; those of other places must not matter."""

    def advantages(self, batch):
        found = batch.to_tokens(super().advantages(batch))
        return torch.where(batch.turn_of >= 0, found, torch.nan)


class FirstTurns(REBN):
    """ReBN that learns from first turns only."""

    def on_batch(self, batch):
        return replace(batch, trained=batch.trained & (batch.turn == 0))


class Wrong(Algorithm):
    """Returns one advantage too few."""

    def advantages(self, batch):
        return batch.reward[:-1]


class Shaped(REBN):
    """ReBN of rewards that are all negated."""

    def shape_rewards(self, batch):
        return -batch.reward


class Negated(RewardShaper):
    def shape_rewards(self, batch):
        return -batch.reward


class Shared(TransformersEngine):
    """An engine that notes when it gets weights, with a parameter."""

    def __init__(self, policy, config, folder, *, note):
        super().__init__(policy, config, folder)
        self.note, self.sent = note, []

    def send_weights(self, step):
        self.sent.append((self.note, step))


class FirstGroup(EpisodeFilter):
    """Keeps the first group of each wave."""

    def filter_groups(self, groups):
        return [number == 0 for number in range(len(groups))]


class KeepsNothing(GRPO):
    def filter_groups(self, groups):
        return [False] * len(groups)


def plain_function(*, scale=1.0):
    """Return the REINFORCE loss as a function."""
    return lambda logprobs, old, advantages, mask: -scale * advantages * logprobs


class WithoutAdvantage:
    """A loss that makes all sampled tokens likelier, whatever the advantage."""

    def __call__(self, logprobs, old, advantages, mask):
        return -logprobs


class Summed:
    def __call__(self, logprobs, old, advantages, mask):
        return (-advantages * logprobs).sum()


def here(name):
    return f"{__name__}:{name}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def learned(folder, algo="rebn", *, reward=None, **config):
    """The weights after an update, and its result."""
    policy = Policy.load(folder, device="cpu")
    learner = learner_of(policy, algo, **config)
    result = learner.learn(batch_for(policy, reward=reward), generator())
    return weights_of(policy), result


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def test_an_advantage_for_each_token_is_that_of_its_turn(folder):
    (turns, one), (tokens, other) = learned(folder), learned(folder, here("PerToken"))
    assert same(turns, tokens)
    assert one.advantages == pytest.approx(other.advantages, rel=1e-5)


def test_an_algorithm_may_learn_from_a_part_of_the_batch(folder):
    _, result = learned(folder, here("FirstTurns"))
    assert result.metrics["train/turns"] == 12


def test_rewards_are_shaped_by_the_algorithm_then_by_the_shapers(folder):
    plain, _ = learned(folder)
    by_algorithm, _ = learned(folder, here("Shaped"))
    by_shaper, _ = learned(folder, shapers=[here("Negated")])
    twice, _ = learned(folder, here("Shaped"), shapers={"any": {"id": here("Negated")}})
    assert same(by_algorithm, by_shaper)
    assert not same(by_algorithm, plain)
    assert same(twice, plain)


@pytest.mark.slow
def test_kl_in_the_reward_is_0_before_the_first_update_and_lowers_rewards_later(folder):
    plain, _ = learned(folder)
    first, _ = learned(folder, shapers=[{"id": "kl", "beta": 0.5}])
    for name in plain:
        torch.testing.assert_close(first[name], plain[name], atol=1e-5, rtol=1e-4)
    policy = Policy.load(folder, device="cpu")
    learner = learner_of(policy, "reinforce", shapers=[{"id": "kl", "beta": 0.5}])
    batch = batch_for(policy)
    before = learner.learn(batch, generator()).advantages
    for _ in range(5):
        after = learner.learn(batch, generator()).advantages
    assert max(abs(one - two) for one, two in zip(before, after, strict=True)) > 0.01


def test_a_loss_may_be_a_function_with_parameters(folder):
    loss = {"id": here("plain_function"), "scale": 1.0, "length_norm": "token"}
    one, _ = learned(folder, loss=loss)
    other, _ = learned(folder, loss={"id": "reinforce", "length_norm": "token"})
    assert same(one, other)


def test_rows_without_an_advantage_are_read_unless_the_loss_needs_none(folder):
    def change(loss):
        before = weights_of(Policy.load(folder, device="cpu"))
        after, _ = learned(folder, "grpo", reward=0.0, loss={"id": loss})
        return max((after[name] - before[name]).abs().max() for name in before)

    assert change("clip") == 0
    assert change(here("WithoutAdvantage")) > 1e-5


@pytest.mark.parametrize(
    ("config", "error", "match"),
    [
        ({"algo": here("Wrong")}, ConfigError, r"Wrong\.advantages must have the shape \(\d+,\)"),
        ({"loss": {"id": here("Summed")}}, ConfigError, r"Summed must have the shape .*got \(\)"),
        ({"algo": here("FirstGroup")}, ConfigError, "subclass of gem_train.algorithm.Algorithm"),
        ({"shapers": [here("FirstGroup")]}, ConfigError, "no method shape_rewards"),
        ({"shapers": ["overlong"]}, ConfigError, "needs the parameter limit, buffer"),
        ({"loss": {"clip_higher": 1}}, UnknownKwargError, "loss 'clip' takes no.*clip_high"),
        ({"algo": here("Nothing")}, EntryPointError, "has no 'Nothing'"),
    ],
)
def test_mistakes_are_explained(folder, config, error, match):
    with pytest.raises(error, match=match):
        learned(folder, **config)


def test_grpo_weighs_episodes_and_not_turns_unless_told_otherwise(folder):
    default, _ = learned(folder, "grpo")
    episode, _ = learned(folder, "grpo", loss={"unit": "episode", "length_norm": "response"})
    turn, _ = learned(folder, "grpo", loss={"unit": "turn"})
    assert same(default, episode)
    assert not same(default, turn)


def rows(out):
    with (out / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_filter_makes_a_step_play_until_enough_episodes_are_kept(folder, tmp_path):
    trainer = trainer_of(
        folder,
        tmp_path,
        steps=2,
        rollout={"episodes": 8, "group_size": 2},
        filters=[here("FirstGroup")],
    )
    trainer.train()
    for row in rows(tmp_path):
        assert float(row["rollout/episodes"]) == 32
        assert float(row["train/episodes"]) == 8


@pytest.mark.slow
def test_a_step_learns_from_what_is_kept_after_the_last_wave(folder, tmp_path):
    trainer = trainer_of(
        folder,
        tmp_path,
        steps=1,
        rollout={"episodes": 8, "group_size": 2, "max_waves": 2},
        filters={"mine": here("FirstGroup")},
    )
    trainer.train()
    (row,) = rows(tmp_path)
    assert (float(row["rollout/episodes"]), float(row["train/episodes"])) == (16, 4)


@pytest.mark.slow
def test_a_step_of_which_nothing_is_kept_ends_the_run_with_advice(folder, tmp_path):
    trainer = trainer_of(
        folder,
        tmp_path,
        algo={"id": here("KeepsNothing")},
        rollout={"episodes": 8, "max_waves": 2},
    )
    with pytest.raises(
        FilteredOutError, match=r"KeepsNothing.* keep 0 of 16 .*max_waves \(now 2\)"
    ):
        trainer.train()
    assert trainer.step == 0


@pytest.mark.slow
def test_a_run_with_a_filter_resumes_bit_for_bit(folder, tmp_path):
    options = {"rollout": {"episodes": 4, "group_size": 2}, "filters": [here("FirstGroup")]}
    whole = trainer_of(folder, tmp_path / "whole", steps=3, **options)
    whole.train()
    trainer_of(folder, tmp_path / "parts", steps=1, **options).train()
    parts = trainer_of(folder, tmp_path / "parts", steps=3, resume=True, **options)
    parts.train()
    assert same(weights_of(whole.policy), weights_of(parts.policy))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["test_hooks:Shared", "acme_shared"])
def test_an_engine_of_ones_own_samples_and_gets_the_weights_before_each_step(
    folder, tmp_path, monkeypatch, name
):
    registry = default_registry()
    spec = Spec(kind=ENGINES, id="acme_shared", entry_point=Shared)
    assert registry.list(ENGINES)
    monkeypatch.setitem(registry._specs[ENGINES.id], spec.id, spec)
    engine = {"id": name, "note": "mine"}
    algo = {"id": "reinforce"}  # learns from equal returns too
    trainer = trainer_of(folder, tmp_path, steps=2, algo=algo, sampling={"engine": engine})
    assert trainer.train()
    assert trainer._sampling.engine.sent == [("mine", step) for step in (0, 1, 2)]
    assert trainer.metrics["train/mean_sampler_gap"] < 1e-3


def test_an_engine_that_is_not_there_is_reported_before_anything_is_made():
    with pytest.raises(UnknownIdError, match="Did you mean 'transformers'"):
        parts_of(TrainConfig(model="any", sampling={"engine": "transformer"}))
