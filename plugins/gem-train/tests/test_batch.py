"""Transitions and batches: from played episodes to tensors."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plays import SOME, batches, played, plays

from gem_core.errors import ConfigError, DataError
from gem_train.batch import batch_of, drop_cut, subsample, token_batches
from gem_train.transitions import transitions_of


class TestTransitions:
    @pytest.mark.parametrize("keeps", [True, False])
    def test_transitions_have_the_prompt_the_response_and_the_reward(self, keeps):
        trajectories = played(keeps=keeps)
        transitions = transitions_of(trajectories)
        turns = [(e, n, t) for e, one in enumerate(trajectories) for n, t in enumerate(one.turns)]
        assert len(turns) > 6
        history = ""
        for transition, (episode, number, turn) in zip(transitions, turns, strict=True):
            history = (history if keeps and number else "") + f"<{turn.observation}>"
            assert "".join(map(chr, transition.prompt_ids)) == history
            assert "".join(map(chr, transition.response_ids)) == turn.action
            history += turn.action
            assert transition.logprobs == [-n / 8 for n in range(len(turn.action))]
            assert transition.reward == turn.reward
            assert transition.done == (turn.terminated or turn.truncated)
            assert transition.truncated == turn.truncated
            assert transition.cut == (number == 1)
            assert (transition.episode, transition.turn) == (episode, number)
            assert transition.group == episode // 3

    def test_transitions_record_actions_that_the_environment_could_not_parse(self):
        trajectories = played(every_second_bad=True)
        assert [transition.formatted for transition in transitions_of(trajectories)] == [
            n % 2 == 0 for one in trajectories for n in range(len(one.turns))
        ]

    def test_groups_of_different_steps_are_different(self):
        first, second = played(), played()
        for one in second:
            one.seed += 1
        groups = [one.group for one in transitions_of(first + second) if one.turn == 0]
        assert groups == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]

    def test_episodes_that_failed_are_left_out_or_end_where_they_failed(self):
        trajectories = played()
        failed = trajectories[1]
        failed.turns = failed.turns[:1]
        failed.error = {"boundary": "env", "type": "OSError", "message": "", "traceback": ""}
        whole = transitions_of(trajectories)
        assert max(transition.episode for transition in whole) == 4
        kept = transitions_of(trajectories, keep_failed=True)
        assert [(one.turn, one.done) for one in kept if one.episode == 1] == [(0, True)]
        batch_of(kept)

    def test_turns_without_token_ids_are_refused(self):
        with pytest.raises(DataError, match=r"Turn 1 of episode 0 .* has no token ids"):
            transitions_of(played(ids=False, logprobs=False))

    def test_turns_of_several_agents_are_refused(self):
        trajectories = played()
        trajectories[0].turns[0].agent = "other"
        with pytest.raises(DataError, match="one agent"):
            transitions_of(trajectories)


class TestRows:
    def test_an_episode_is_one_row_where_its_tokens_are_one_sequence(self):
        trajectories = played()
        batch = batch_of(transitions_of(trajectories), rows="episodes")
        assert len(batch.ids) == len(trajectories)
        for row, trajectory in enumerate(trajectories):
            (sequence,) = trajectory.tokens()
            length = len(sequence.ids)
            assert batch.ids[row, :length].tolist() == sequence.ids
            assert batch.mask[row, :length].tolist() == sequence.mask
            assert not batch.mask[row, length:].any()
            assert batch.lengths[row] == length

    def test_a_chat_that_is_forgotten_makes_a_row_of_each_turn(self):
        transitions = transitions_of(played(keeps=False))
        one, other = (batch_of(transitions, rows=rows) for rows in ("turns", "episodes"))
        assert torch.equal(one.ids, other.ids)
        assert torch.equal(one.turn_of, other.turn_of)

    @SOME
    @given(plays(), st.sampled_from(["turns", "episodes"]))
    def test_every_sampled_token_is_there_once_after_its_prompt(self, transitions, rows):
        batch = batch_of(transitions, rows=rows, dtype=torch.float64)
        for number, transition in enumerate(transitions):
            at = (batch.turn_of == number).nonzero().tolist()
            assert len(at) == len(transition.response_ids)
            if at:
                row, start = at[0]
                assert at == [[row, start + n] for n in range(len(at))]
                assert batch.ids[row, :start].tolist() == transition.prompt_ids
                assert batch.ids[row, start : start + len(at)].tolist() == transition.response_ids
                found = batch.sampler_logprobs[row, start : start + len(at)].tolist()
                assert found == transition.logprobs
        assert not batch.sampler_logprobs[batch.turn_of < 0].any()

    @SOME
    @given(batches())
    def test_a_value_is_read_at_the_end_of_the_prompt(self, batch):
        places = torch.arange(batch.ids.numel(), dtype=torch.float64).reshape(batch.ids.shape)
        values = batch.values(places)
        for turn in range(len(batch.turn)):
            at = (batch.turn_of == turn).nonzero().tolist()
            assert values[turn] == (places[at[0][0], at[0][1] - 1] if at else 0)

    @SOME
    @given(batches())
    def test_values_of_turns_pass_gradients_on(self, batch):
        values = torch.zeros(batch.ids.shape, dtype=torch.float64, requires_grad=True)
        batch.values(values).sum().backward()
        rows, positions, _ = batch.states()
        expected = torch.zeros_like(values)
        expected[rows, positions] = 1
        assert torch.equal(values.grad, expected)

    def test_a_token_with_an_unknown_logprob_is_not_trained_on(self):
        trajectories = played()
        generation = trajectories[0].turns[0].generation
        generation.logprobs[0] = None
        batch = batch_of(transitions_of(trajectories), rows="episodes")
        given = len(generation.prompt_ids)
        assert not batch.mask[0, given]
        assert batch.mask[0, given + 1 : given + len(generation.token_ids)].all()
        assert batch.sampler_logprobs is not None

    def test_unknown_logprobs_of_one_turn_are_unknown_of_all(self):
        transitions = transitions_of(played(logprobs=False))
        batch = batch_of(transitions)
        assert batch.sampler_logprobs is None
        assert batch.select(torch.tensor([0])).sampler_logprobs is None

    def test_a_batch_moves_to_a_device(self):
        batch = batch_of(transitions_of(played(logprobs=False))).to("meta")
        assert batch.ids.device.type == batch.trained.device.type == "meta"
        assert batch.sampler_logprobs is None


class TestRefusals:
    def test_a_batch_of_nothing_is_refused(self):
        with pytest.raises(DataError, match="at least one"):
            batch_of([])

    @pytest.mark.parametrize("missing", [0, -1])
    def test_an_episode_with_a_missing_turn_is_refused(self, missing):
        transitions = [one for one in transitions_of(played()) if one.episode == 0]
        del transitions[missing]
        with pytest.raises(DataError, match="whole episodes"):
            batch_of(transitions)

    def test_a_turn_that_occurs_twice_is_refused(self):
        transitions = transitions_of(played())
        with pytest.raises(DataError, match="occurs twice"):
            batch_of(transitions + transitions[:1])

    def test_an_empty_prompt_is_refused(self):
        trajectories = played(keeps=False)
        trajectories[0].turns[0].generation.prompt_ids = []
        with pytest.raises(DataError, match="empty prompt"):
            batch_of(transitions_of(trajectories))


class TestChoosing:
    @SOME
    @given(batches(), st.integers(0, 99))
    def test_exactly_as_many_turns_as_asked_for_are_trained(self, batch, seed):
        size = 1 + seed % len(batch.turn)
        chosen = subsample(batch, size, torch.Generator().manual_seed(seed))
        assert chosen.chosen.sum() == size
        assert torch.equal(chosen.trained, chosen.chosen)
        assert batch.chosen.all()
        again = subsample(batch, size, torch.Generator().manual_seed(seed))
        assert torch.equal(chosen.chosen, again.chosen)

    def test_every_turn_has_the_same_chance(self):
        batch = batch_of(transitions_of(played()))
        generator = torch.Generator().manual_seed(0)
        counts = sum(subsample(batch, 4, generator).chosen.long() for _ in range(2000))
        expected = 2000 * 4 / len(batch.turn)
        assert (counts - expected).abs().max() < 6 * expected**0.5

    def test_the_global_generator_is_left_alone(self):
        batch = batch_of(transitions_of(played()))
        before = torch.get_rng_state()
        subsample(batch, 2, torch.Generator().manual_seed(0))
        assert torch.equal(torch.get_rng_state(), before)

    @pytest.mark.parametrize("size", [0, 1000])
    def test_choosing_no_turn_or_too_many_is_refused(self, size):
        batch = batch_of(transitions_of(played()))
        with pytest.raises(ConfigError, match=f"choose {size} turns"):
            subsample(batch, size, torch.Generator())

    @SOME
    @given(batches())
    def test_cut_turns_leave_the_loss_and_not_the_statistics(self, batch):
        dropped = drop_cut(batch)
        assert torch.equal(dropped.trained, ~batch.cut)
        assert dropped.chosen.all()
        assert torch.equal(
            dropped.mask, (batch.turn_of >= 0) & (batch.to_tokens(batch.cut * 1) == 0)
        )


class TestTokenBudget:
    @SOME
    @given(batches(), st.integers(1, 60), st.integers(0, 99))
    def test_each_row_to_train_is_in_one_part_within_the_budget(self, batch, budget, seed):
        batch = subsample(batch, 1 + seed % len(batch.turn), torch.Generator().manual_seed(seed))
        parts = token_batches(batch, budget)
        taken = sorted(row for part in parts for row in part.tolist())
        assert taken == [row for row, used in enumerate(batch.mask.any(-1).tolist()) if used]
        for rows in parts:
            part = batch.select(rows)
            assert part.ids.numel() <= budget or len(rows) == 1
            assert part.ids.shape[1] == part.lengths.max()
            assert torch.equal(part.lengths, batch.lengths[rows])

    @SOME
    @given(batches())
    def test_the_longest_rows_come_first(self, batch):
        widths = [int(batch.lengths[rows].max()) for rows in token_batches(batch, 20)]
        assert widths == sorted(widths, reverse=True)

    def test_a_budget_of_nothing_is_refused(self):
        with pytest.raises(ConfigError, match="at least 1, got 0"):
            token_batches(batch_of(transitions_of(played())), 0)
