"""Sampling: random numbers, their distribution, and strings that end a reply."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gem_agents.sampling import RowRNG, uniforms
from gem_agents.stop_strings import StopStrings
from gem_rollout.models.tiny_model import make_tiny_tokenizer
from gem_rollout.tokens.sampler import Request

TOKENIZER = make_tiny_tokenizer()
MASK = 2**64 - 1


def split_mix(seed, number):
    """Return a number of SplitMix64, computed with integers as its authors do."""
    state = (seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return ((state ^ (state >> 31)) >> 40) / 2**24


def draw(logits, requests, seeds, counts=None):
    rng = RowRNG(requests, seeds, counts or [0] * len(seeds), "cpu")
    found, logprobs = rng.sample(logits)
    return found[:, 0].tolist(), logprobs[:, 0].tolist()


class TestUniforms:
    @given(st.lists(st.tuples(st.integers(0, MASK), st.integers(0, 10**6)), min_size=1))
    def test_uniform_numbers_are_those_of_splitmix(self, pairs):
        seeds, numbers = (np.array(one, dtype=np.uint64) for one in zip(*pairs, strict=True))
        found = uniforms(seeds, numbers)
        assert found.tolist() == [split_mix(*pair) for pair in pairs]
        assert ((found >= 0) & (found < 1)).all()


class TestRowRNG:
    @pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (1.5, 0.8), (0.5, 1.0)])
    def test_frequencies_are_the_distribution(self, temperature, top_p):
        """20,000 seeds: Pearson's statistic within 5 standard deviations of its mean."""
        count = 20_000
        logits = torch.randn(30, generator=torch.Generator().manual_seed(0))
        exact = (logits.double() / temperature).softmax(-1)
        order = exact.argsort(descending=True)
        sums = exact[order].cumsum(-1)
        kept = order[: int((sums < top_p).sum()) + 1]
        expected = exact[kept] / exact[kept].sum() * count
        requests = [Request([1], 1, temperature, top_p)] * count
        found, _ = draw(logits.expand(count, -1), requests, range(count))
        observed = torch.bincount(torch.tensor(found), minlength=30)
        assert int(observed[kept].sum()) == count
        statistic = float(((observed[kept] - expected) ** 2 / expected).sum())
        freedom = len(kept) - 1
        assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5

    @given(st.integers(1, 6), st.integers(0, 2**32))
    def test_a_row_does_not_depend_on_its_neighbours(self, count, seed):
        logits = torch.randn(count, 20, generator=torch.Generator().manual_seed(seed % 1000))
        kinds = [(0.0, 1.0), (1.0, 1.0), (0.7, 0.5), (1.0, 0.9)]
        requests = [Request([1], 1, *kinds[(seed + n) % 4]) for n in range(count)]
        seeds = [seed + n for n in range(count)]
        counts = list(range(count))
        found, logprobs = draw(logits, requests, seeds, counts)
        for n in range(count):
            [one], [logprob] = draw(logits[n : n + 1], [requests[n]], [seeds[n]], [counts[n]])
            assert one == found[n]
            assert logprob == pytest.approx(logprobs[n], abs=1e-6)

    def test_a_token_of_probability_0_is_never_drawn(self):
        logits = torch.full((5000, 8), -torch.inf)
        logits[:, 3] = 0.0
        found, logprobs = draw(logits, [Request([1], 1)] * 5000, range(5000))
        assert set(found) == {3}
        assert set(logprobs) == {0.0}

    @pytest.mark.parametrize(("temperature", "scaled"), [(1.0, True), (0.5, False)])
    def test_logprobs_are_as_exact_for_large_logits(self, temperature, scaled):
        logits = torch.randn(64, 50, generator=torch.Generator().manual_seed(0)) + 1000
        one = Request([1], 1, temperature, scaled_logprobs=scaled)
        tokens, logprobs = RowRNG([one] * 64, range(64), [0] * 64, "cpu").sample(logits)
        expected = logits.double().log_softmax(-1).gather(-1, tokens)
        torch.testing.assert_close(logprobs.double(), expected, atol=2e-6, rtol=0)

    def test_logprobs_are_the_models_own_or_those_at_the_temperature(self):
        logits = torch.randn(3, 20, generator=torch.Generator().manual_seed(0))
        requests = [
            Request([1], 1, 0.5),
            Request([1], 1, 0.5, scaled_logprobs=True),
            Request([1], 1, 0.0, scaled_logprobs=True),
        ]
        found, logprobs = draw(logits, requests, [1, 2, 3])
        own, scaled = logits.log_softmax(-1), (logits / 0.5).log_softmax(-1)
        assert logprobs == pytest.approx(
            [float(own[0, found[0]]), float(scaled[1, found[1]]), float(own[2, found[2]])]
        )
        assert found[2] == int(logits[2].argmax())


class TestStopStrings:
    @given(st.text(max_size=30), st.text(min_size=1, max_size=5))
    def test_the_first_token_that_completes_a_string_is_found(self, text, stop):
        ids = TOKENIZER.encode(text + stop + text)
        stops = StopStrings(TOKENIZER)
        for count in range(1, len(ids) + 1):
            ends = stop in TOKENIZER.decode(ids[:count])
            assert stops.end(ids[:count], ["never said at all", stop]) == ends
            if ends:
                break
        assert ends
