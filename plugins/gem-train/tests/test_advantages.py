"""Advantages, compared with literal versions in plain Python, and their invariants."""

import math
import statistics
from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from plays import (
    ALL,
    FRACTIONS,
    REWARDS,
    SOME,
    batches,
    episode_of,
    episodes_of,
    numbers,
    plays,
    turn_of,
)

from gem_core.errors import ConfigError, UnknownIdError
from gem_core.plugins import default_registry
from gem_train.algorithms.ppo import gae, value_loss
from gem_train.batch import batch_of, subsample
from gem_train.parts import make_algorithm
from gem_train.returns import discounted_returns
from gem_train.specs import ALGORITHMS
from gem_train.transitions import transitions_of


def near(values):
    return pytest.approx(values, rel=1e-9, abs=1e-6)


def advantages(name, batch, values=None, **options):
    return make_algorithm(name, **options).advantages(replace(batch, value=values))


def literal_returns(batch, gamma):
    rewards, found = batch.reward.tolist(), [0.0] * len(batch.reward)
    for turns in episodes_of(batch).values():
        for t, number in enumerate(turns):
            found[number] = sum(gamma**k * rewards[later] for k, later in enumerate(turns[t:]))
    return found


def literal_standardised(values, chosen):
    taken = [value for value, is_chosen in zip(values, chosen, strict=True) if is_chosen]
    mean, std = statistics.fmean(taken), statistics.pstdev(taken)
    return [(value - mean) / (std + 1e-9) for value in values]


def literal_of_groups(batch, rule):
    """Advantages of turns, by a rule of an episode's return and those of the whole group."""
    episodes, rewards, group = episodes_of(batch), batch.reward.tolist(), batch.group.tolist()
    returns = {episode: sum(rewards[n] for n in turns) for episode, turns in episodes.items()}
    found = [0.0] * len(rewards)
    for episode, turns in episodes.items():
        same = [one for one in episodes if group[episodes[one][0]] == group[turns[0]]]
        others = [returns[one] for one in same if one != episode]
        advantage = rule(returns[episode], [returns[one] for one in same], others)
        for number in turns:
            found[number] = advantage
    return found


def literal_gae(batch, values, gamma, gae_lambda):
    """The sum of the definition: A_t = sum_l (gamma lambda)^l delta_{t+l}."""
    rewards, found = batch.reward.tolist(), [0.0] * len(batch.reward)
    for turns in episodes_of(batch).values():
        following = [values[number] for number in turns[1:]] + [0.0]
        deltas = [
            rewards[n] + gamma * after - values[n]
            for n, after in zip(turns, following, strict=True)
        ]
        for t, number in enumerate(turns):
            found[number] = sum((gamma * gae_lambda) ** k * d for k, d in enumerate(deltas[t:]))
    return found


RULES = {
    "grpo": lambda own, all_, others: (
        (own - statistics.fmean(all_)) / (statistics.pstdev(all_) + 1e-9)
    ),
    "drgrpo": lambda own, all_, others: own - statistics.fmean(all_),
    "rloo": lambda own, all_, others: own - statistics.fmean(others) if others else 0.0,
    "episode_reinforce": lambda own, all_, others: own,
}


class TestAgainstLiteralVersions:
    @SOME
    @given(batches(), FRACTIONS)
    def test_reinforce_has_discounted_returns(self, batch, gamma):
        expected = literal_returns(batch, gamma)
        assert advantages("reinforce", batch, gamma=gamma).tolist() == near(expected)

    @SOME
    @given(batches(), FRACTIONS, st.integers(0, 100))
    def test_rebn_standardises_returns_by_the_chosen_turns(self, batch, gamma, seed):
        size = 1 + seed % len(batch.turn)
        batch = subsample(batch, size, torch.Generator().manual_seed(seed))
        expected = literal_standardised(literal_returns(batch, gamma), batch.chosen.tolist())
        assert advantages("rebn", batch, gamma=gamma).tolist() == pytest.approx(
            expected, rel=1e-5, abs=1e-5
        )

    @pytest.mark.parametrize("name", RULES)
    @SOME
    @given(batch=batches())
    def test_group_algorithms_have_the_advantages_of_their_rules(self, name, batch):
        assert advantages(name, batch).tolist() == near(literal_of_groups(batch, RULES[name]))

    @SOME
    @given(batches())
    def test_advantages_of_groups_can_be_normalised_over_the_batch(self, batch):
        plain = literal_of_groups(batch, RULES["drgrpo"])
        expected = literal_standardised(plain, batch.chosen.tolist())
        assert advantages("drgrpo", batch, normalise=True).tolist() == near(expected)

    @SOME
    @given(batches(), FRACTIONS, FRACTIONS)
    def test_ppo_has_the_sums_of_gae(self, batch, gamma, gae_lambda):
        values = numbers(len(batch.turn))
        expected = literal_gae(batch, values.tolist(), gamma, gae_lambda)
        assert gae(batch, values, gamma, gae_lambda).tolist() == near(expected)
        options = {"gamma": gamma, "gae_lambda": gae_lambda}
        plain = advantages("ppo", batch, values, whiten=False, **options)
        assert plain.tolist() == near(expected)
        whitened = literal_standardised(expected, batch.chosen.tolist())
        assert advantages("ppo", batch, values, **options).tolist() == near(whitened)
        summed = [a + v for a, v in zip(expected, values.tolist(), strict=True)]
        found = make_algorithm("ppo", **options).targets(replace(batch, value=values))
        assert found.tolist() == near(summed)

    @SOME
    @given(batches(), st.sampled_from([0.0, 1e-4, 1.0]), st.booleans())
    def test_grpo_can_have_the_epsilon_and_the_deviation_of_other_trainers(
        self, batch, eps, unbiased
    ):
        deviation = statistics.stdev if unbiased else statistics.pstdev

        def rule(own, all_, others):
            std = deviation(all_) if others else 0.0
            return (own - statistics.fmean(all_)) / (std + eps) if std else 0.0

        found = advantages("grpo", batch, epsilon=eps, unbiased=unbiased)
        assert found.tolist() == near(literal_of_groups(batch, rule))

    @SOME
    @given(batches(), FRACTIONS, FRACTIONS)
    def test_ppo_can_bootstrap_truncated_episodes(self, batch, gamma, gae_lambda):
        """The value of the last prompt of a truncated episode stands for what follows."""
        values = numbers(len(batch.turn)).tolist()
        rewards, expected, left_out = batch.reward.tolist(), [0.0] * len(values), set()
        for turns in episodes_of(batch).values():
            following = 0.0
            if len(turns) > 1 and batch.truncated[turns[-1]]:
                following = values[turns[-1]]
                left_out.add(turns.pop())
            later = [values[n] for n in turns[1:]] + [following]
            deltas = [
                rewards[n] + gamma * after - values[n]
                for n, after in zip(turns, later, strict=True)
            ]
            for t, number in enumerate(turns):
                expected[number] = sum(
                    (gamma * gae_lambda) ** k * d for k, d in enumerate(deltas[t:])
                )
        ppo = make_algorithm(
            "ppo", gamma=gamma, gae_lambda=gae_lambda, whiten=False, bootstrap=True
        )
        prepared = ppo.on_batch(replace(batch, value=torch.tensor(values, dtype=torch.float64)))
        assert ppo.advantages(prepared).tolist() == near(expected)
        assert {n for n, one in enumerate(prepared.trained.tolist()) if not one} == left_out

    @SOME
    @given(*[st.floats(-5, 5)] * 3, st.floats(0, 1))
    def test_the_value_loss_is_the_larger_of_the_plain_and_the_clipped_one(
        self, value, old, target, clip
    ):
        clipped = min(max(value, old - clip), old + clip)
        expected = 0.5 * max((value - target) ** 2, (clipped - target) ** 2)
        tensors = [torch.tensor([one], dtype=torch.float64) for one in (value, old, target)]
        assert value_loss(*tensors, clip=clip).item() == pytest.approx(expected)


class TestInvariants:
    @SOME
    @given(batches(), FRACTIONS)
    def test_rebn_has_mean_zero_and_standard_deviation_one_over_the_chosen(self, batch, gamma):
        assume(discounted_returns(batch, gamma).std(correction=0) > 1e-2)
        found = advantages("rebn", batch, gamma=gamma)
        assert found.mean().item() == near(0)
        assert found.std(correction=0).item() == near(1)

    @SOME
    @given(batches())
    def test_gamma_0_leaves_the_reward_of_the_turn(self, batch):
        assert advantages("reinforce", batch, gamma=0.0).tolist() == batch.reward.tolist()

    @SOME
    @given(batches())
    def test_gamma_1_gives_the_first_turn_the_return_of_the_episode(self, batch):
        found, rewards = advantages("reinforce", batch).tolist(), batch.reward.tolist()
        for turns in episodes_of(batch).values():
            assert found[turns[0]] == near(sum(rewards[number] for number in turns))
            assert found[turns[-1]] == rewards[turns[-1]]

    @pytest.mark.parametrize("name", ["grpo", "drgrpo", "rloo"])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @SOME
    @given(value=st.floats(-1e6, 1e6, width=32), sizes=st.lists(st.integers(1, 9), min_size=1))
    def test_a_group_of_equal_returns_gives_exactly_0(self, name, dtype, value, sizes):
        """Not a quotient of rounding errors, as eleven times 1/10 would give."""
        group = torch.tensor([number for number, size in enumerate(sizes) for _ in range(size)])
        returns = torch.full((len(group),), value, dtype=dtype)
        assert not make_algorithm(name).of_episodes(returns, group).any()

    @pytest.mark.parametrize("name", ["grpo", "drgrpo", "rloo", "rebn"])
    @pytest.mark.parametrize("reward", [0.1, 1 / 3, 123456.7])
    @SOME
    @given(transitions=plays(max_turns=1))
    def test_a_batch_of_equal_returns_gives_exactly_0(self, name, reward, transitions):
        batch = batch_of(transitions)
        batch.reward.fill_(reward)
        assert not advantages(name, batch).any()

    @SOME
    @given(batches())
    def test_rloo_is_the_deviation_from_the_mean_times_n_over_n_minus_1(self, batch):
        episodes, group = episodes_of(batch), batch.group.tolist()
        found, plain = advantages("rloo", batch).tolist(), advantages("drgrpo", batch).tolist()
        for turns in episodes.values():
            size = sum(group[other[0]] == group[turns[0]] for other in episodes.values())
            factor = size / (size - 1) if size > 1 else 0.0
            for number in turns:
                assert found[number] == near(plain[number] * factor)

    @SOME
    @given(batches(), FRACTIONS)
    def test_gae_without_values_and_with_lambda_1_is_reinforce(self, batch, gamma):
        zeros = torch.zeros_like(batch.reward)
        found = advantages("ppo", batch, zeros, gamma=gamma, gae_lambda=1.0, whiten=False)
        assert found.tolist() == advantages("reinforce", batch, gamma=gamma).tolist()

    @SOME
    @given(batches(), FRACTIONS)
    def test_gae_of_exact_values_is_zero(self, batch, gamma):
        values = discounted_returns(batch, gamma)
        assert gae(batch, values, gamma, 0.5).tolist() == near([0.0] * len(values))

    @pytest.mark.parametrize("name", ALL)
    @SOME
    @given(transitions=plays(), seed=st.integers(0, 100))
    def test_a_permutation_of_samples_permutes_the_advantages(self, name, transitions, seed):
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(len(transitions), generator=generator)
        values = numbers(len(transitions))
        before = batch_of(transitions, dtype=torch.float64)
        after = batch_of([transitions[number] for number in order], dtype=torch.float64)
        expected = advantages(name, before, values)[order]
        assert advantages(name, after, values[order]).tolist() == near(expected.tolist())

    @pytest.mark.parametrize("name", ALL)
    @SOME
    @given(transitions=plays())
    def test_rows_of_turns_and_of_episodes_have_the_same_advantages(self, name, transitions):
        values = numbers(len(transitions))
        one, other = (
            advantages(name, batch_of(transitions, rows=rows, dtype=torch.float64), values)
            for rows in ("turns", "episodes")
        )
        assert one.tolist() == other.tolist()

    @SOME
    @given(plays(rewards=REWARDS.map(lambda x: x / 2)))
    def test_single_precision_is_near_double_precision(self, transitions):
        for name in ("reinforce", "drgrpo", "rloo", "episode_reinforce"):
            one, other = (
                advantages(name, batch_of(transitions, dtype=dtype))
                for dtype in (torch.float32, torch.float64)
            )
            assert one.dtype == torch.float32
            assert one.tolist() == pytest.approx(other.tolist(), rel=1e-5, abs=1e-5)

    def test_advantages_and_targets_have_no_gradient_into_the_critic(self):
        batch = batch_of(plays_of_two())
        values = torch.zeros(2, requires_grad=True)
        assert not advantages("ppo", batch, values).requires_grad
        assert not make_algorithm("ppo").targets(replace(batch, value=values)).requires_grad

    def test_a_value_that_moved_too_far_learns_no_more(self):
        value = torch.tensor([0.9], requires_grad=True)
        value_loss(value, torch.tensor([0.0]), torch.tensor([1.0]), clip=0.2).sum().backward()
        assert value.grad.item() == 0
        value_loss(value, torch.tensor([0.0]), torch.tensor([1.0]), clip=math.inf).sum().backward()
        assert value.grad.item() == pytest.approx(-0.1)


def plays_of_two():
    turns = [turn_of([1], [2], [-0.5], reward, extends=False) for reward in (0.0, 1.0)]
    return transitions_of([episode_of(turns)])


class TestAlgorithms:
    @pytest.mark.parametrize("name", ALL)
    def test_each_algorithm_loads_with_its_defaults(self, name):
        found = make_algorithm(name).advantages(
            replace(batch_of(plays_of_two()), value=torch.zeros(2))
        )
        assert found.shape == (2,)
        assert found.dtype == torch.float32

    def test_all_algorithms_are_tested(self):
        assert set(ALL) == {spec.id for spec in default_registry().list(ALGORITHMS)}

    def test_a_typo_in_the_name_of_an_algorithm_is_reported(self):
        with pytest.raises(UnknownIdError, match="Did you mean 'grpo'"):
            make_algorithm("grpp")

    def test_ppo_without_values_is_reported(self):
        with pytest.raises(ConfigError, match="critic"):
            advantages("ppo", batch_of(plays_of_two()))

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("reinforce", {"gamma": 1.1}),
            ("rebn", {"gamma": -0.1}),
            ("ppo", {"gamma": math.nan}),
            ("ppo", {"gae_lambda": 2}),
        ],
    )
    def test_values_out_of_range_are_refused(self, name, options):
        with pytest.raises(ConfigError, match=next(iter(options))):
            make_algorithm(name, **options)
