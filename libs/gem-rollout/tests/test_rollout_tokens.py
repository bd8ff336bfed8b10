"""The tokens of an episode: nothing is made again, and nothing that is missing is made up."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.agent import Generation
from gem_core.errors import DataError
from gem_rollout import Trajectory, Turn, training_rows
from gem_rollout.episodes.report import EnvReport
from gem_rollout.tokens.sequences import TokenSequence

IDS = st.lists(st.integers(0, 99), max_size=4)


def turn(agent: str = "a", generation: Generation | None = None) -> Turn:
    return Turn(agent, "o", "a", 0.0, False, False, {}, generation=generation)


def sampled(given: Any, ids: Any, logprobs: Any = None, *, extends: bool = True) -> Generation:
    return Generation(prompt_ids=given, token_ids=ids, logprobs=logprobs, extends=extends)


def episode(*turns: Turn) -> Trajectory:
    return Trajectory("env", "agent", 0, 0, list(turns))


class TestTokens:
    def test_turns_whose_prompts_extend_are_one_sequence_of_tokens(self) -> None:
        (tokens,) = episode(
            turn(generation=sampled([1, 2, 3], [4, 5], [-0.1, -0.2], extends=False)),
            turn(generation=sampled([6], [7, 8, 9], [-0.3, -0.4, -0.5])),
        ).tokens()
        assert tokens == TokenSequence(
            agent="a",
            ids=[1, 2, 3, 4, 5, 6, 7, 8, 9],
            mask=[False] * 3 + [True] * 2 + [False] + [True] * 3,
            logprobs=[None, None, None, -0.1, -0.2, None, -0.3, -0.4, -0.5],
            versions=[None] * 9,
            spans=[(0, 3, 5), (1, 6, 9)],
            images=[[], []],
        )

    def test_a_token_without_a_log_probability_is_not_trained_on_and_counted(self) -> None:
        played = episode(turn(generation=sampled([1], [2, 3, 4], [-0.1, -0.2, None])))
        played.turns[0].reward = 1.0
        (row,) = training_rows(played)
        assert row.mask == [True, True, False]
        assert row.logprobs == [-0.1, -0.2, 0.0]
        assert row.token_rewards == [0.0, 1.0, 0.0]
        assert row.has_logprobs
        with pytest.raises(DataError, match="turn 1 of episode 0 has 1 tokens without"):
            row.check_whole_replies()
        report = EnvReport()
        report.spend(played)
        assert (report.missing_logprobs, report.completion_tokens) == (1, 3)

    def test_a_prompt_that_does_not_extend_begins_a_sequence(self) -> None:
        one, two = episode(
            turn(generation=sampled([1], [2], extends=False)),
            turn(generation=sampled([9], [3], extends=False)),
            turn(generation=sampled([4], [5])),
        ).tokens()
        assert (one.ids, one.spans) == ([1, 2], [(0, 1, 2)])
        assert (two.ids, two.spans) == ([9, 3, 4, 5], [(1, 1, 2), (2, 3, 4)])
        assert two.logprobs == [None] * 4

    def test_the_tokens_of_two_agents_are_kept_apart(self) -> None:
        found = episode(
            turn("a", sampled([1], [2], extends=False)),
            turn("b", sampled([5], [6], extends=False)),
            turn("c"),
            turn("a", sampled([3], [4])),
        ).tokens()
        assert [(one.agent, one.ids) for one in found] == [("a", [1, 2, 3, 4]), ("b", [5, 6])]

    def test_agents_that_report_no_tokens_have_no_sequences(self) -> None:
        assert episode(turn(), turn(generation=Generation())).tokens() == []
        assert episode().tokens() == []

    @pytest.mark.parametrize("missing", [Generation(), sampled([1], None), sampled(None, [1])])
    def test_tokens_that_are_partly_unknown_are_refused(self, missing: Generation) -> None:
        for place in range(3):
            turns = [
                turn(generation=sampled([1], [2], extends=False)),
                turn(generation=sampled([], [])),
            ]
            turns.insert(place, turn(generation=missing))
            with pytest.raises(DataError, match=f"Turn {place} of 'a' has no token ids"):
                episode(*turns).tokens()

    def test_tokens_with_too_few_log_probabilities_are_refused(self) -> None:
        with pytest.raises(DataError, match="2 sampled tokens and 1 log"):
            episode(turn(generation=sampled([1], [2, 3], [-0.1]))).tokens()

    @pytest.mark.slow
    @settings(max_examples=100 if thorough() else 30)
    @given(st.lists(st.tuples(IDS, IDS, st.booleans(), st.booleans()), max_size=6))
    def test_sequences_have_all_tokens_in_their_order(self, parts: list[Any]) -> None:
        generations = [
            sampled(given, ids, [-0.5] * len(ids) if has_logprobs else None, extends=extends)
            for given, ids, extends, has_logprobs in parts
        ]
        found = episode(*(turn(generation=one) for one in generations)).tokens()
        flat = [token for given, ids, *_ in parts for token in [*given, *ids]]
        assert [token for one in found for token in one.ids] == flat
        breaks = sum(not extends for _, _, extends, _ in parts[1:])
        assert len(found) == (breaks + 1 if parts else 0)
        for one in found:
            assert len(one.ids) == len(one.mask) == len(one.logprobs)
            for number, start, end in one.spans:
                assert one.ids[start:end] == generations[number].token_ids
                assert all(one.mask[start:end])
            assert sum(one.mask) == sum(end - start for _, start, end in one.spans)
