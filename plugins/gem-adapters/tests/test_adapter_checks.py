"""The conformance suite catches what adapters get wrong."""

import asyncio
import copy
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from selection import thorough

from gem_adapters.testing.adapter_checks import (
    BAD_INPUTS,
    CHECKS,
    check_adapter,
    check_bad_inputs,
    make_case,
    run_bad_input,
    run_check,
)
from gem_adapters.testing.adapter_envs import Game
from gem_adapters.testing.adapters import (
    Case,
    Harness,
    Played,
    ScriptedModel,
    case_rows,
    make_tokenizer,
    reference,
)
from gem_adapters.testing.stub_adapters import STUBS, PushStub
from gem_core import list_envs
from gem_rollout.episodes.policy import FaultPolicy
from gem_rollout.records.rows import Row
from gem_rollout.tokens.limits import Limits

pytest.importorskip("tokenizers")


@pytest.fixture(autouse=True)
def _fewer_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    if not thorough():
        monkeypatch.setattr("gem_adapters.testing.adapter_checks.SEEDS", 4)


class Changed(PushStub):
    """Changes the rows of each episode that did not fail."""

    def __init__(self, change: Callable[[Case, Row], None]) -> None:
        self.change = change

    def play(self, case: Case) -> list[Played]:
        played = super().play(case)
        for one in played:
            for row in one.rows if one.outcome == "row" else ():
                self.change(case, row)
        return played


def retokenised(case: Case, row: Row) -> None:
    """Tokenise replies anew, as an adapter does that keeps a chat of texts."""
    ids: list[int] = []
    mask: list[bool] = []
    at = 0
    for start, end in [*row.spans, (len(row.response_ids),) * 2]:
        reply = case.tokenizer.decode(row.response_ids[start:end])
        anew = case.tokenizer.encode(reply, add_special_tokens=False)
        ids += row.response_ids[at:start] + anew
        mask += [False] * (start - at) + [True] * len(anew)
        at = end
    row.response_ids, row.mask = ids, mask


def unmasked(case: Case, row: Row) -> None:
    """Train on everything after the first prompt."""
    row.mask = [True] * len(row.mask)


def without_a_reward(case: Case, row: Row) -> None:
    """Lose the reward of the second turn."""
    row.turn_rewards[1:2] = []


def with_shifted_logprobs(case: Case, row: Row) -> None:
    row.logprobs = [*row.logprobs[1:], 0.0]


def with_the_sum_of_the_last_turn(case: Case, row: Row) -> None:
    row.reward = row.turn_rewards[-1]


def never_truncated(case: Case, row: Row) -> None:
    row.truncated = False


class Unlimited(PushStub):
    """Plays without the limits."""

    def play(self, case: Case) -> list[Played]:
        return super().play(replace(case, limits=Limits()))


class Ignoring(PushStub):
    """Trains on episodes that failed."""

    def play(self, case: Case) -> list[Played]:
        played = super().play(case)
        for one in played:
            for row in one.rows if one.outcome == "masked" else ():
                one.outcome, row.mask = "row", [True] * len(row.mask)
        return played


class Serial(PushStub):
    """Plays one episode after another."""

    def play(self, case: Case) -> list[Played]:
        one_each = [replace(case, rows=[row]) for row in case.rows]
        return [played for each in one_each for played in super(Serial, self).play(each)]


class Copying(PushStub):
    """Plays one sample of each group and copies it."""

    def play(self, case: Case) -> list[Played]:
        played = super().play(replace(case, samples=1))
        return [copy.deepcopy(one) for one in played for _ in range(case.samples)]


class Forgetting(PushStub):
    """Keeps the last sequence of each episode."""

    def play(self, case: Case) -> list[Played]:
        return super().play(replace(case, one_sequence="last"))


class Stopping(PushStub):
    """Stops at the first fault, which it does not declare."""

    def play(self, case: Case) -> list[Played]:
        return super().play(replace(case, policy=FaultPolicy(on_error="raise")))


class Careless(PushStub):
    """Plays rows that it should refuse."""

    def play(self, case: Case) -> list[Played]:
        return super().play(replace(case, rows=[case_rows("Game")[0] for _ in case.rows]))


@pytest.mark.slow
@pytest.mark.parametrize("harness", STUBS, ids=lambda one: one.name)
def test_a_correct_adapter_passes_every_check(harness: Harness) -> None:
    results = [*check_adapter(harness), *check_bad_inputs(harness)]
    assert [one for one in results if not one.passed] == []
    assert [one.check for one in results] == [*CHECKS, *BAD_INPUTS]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harness", "check", "message"),
    [
        (Changed(retokenised), "rows", r"response_ids\[\d+\] is \d+ instead of \d+"),
        (Changed(retokenised), "tokens", "the engine never returned them"),
        (Changed(unmasked), "rows", r"mask\[\d+\] is True instead of False"),
        (Changed(unmasked), "tools", r"mask\[\d+\] is True instead of False"),
        (Changed(without_a_reward), "rows", r"turn_rewards\[1\] is|turn_rewards has"),
        (Changed(with_shifted_logprobs), "rows", r"logprobs\[0\] is"),
        (Changed(with_the_sum_of_the_last_turn), "rows", "reward is .* instead of"),
        (Changed(never_truncated), "limits", "truncated is False instead of True"),
        (Unlimited(), "limits", "turn_tokens=4, row 0"),
        (Ignoring(), "faults", "environment's error: the outcome is row instead of masked"),
        (Ignoring(), "replies", "reply with empty: the outcome is row instead of masked"),
        (Stopping(), "faults", "RuntimeError was raised, and the declared outcome is masked"),
        (Copying(), "groups", "response_ids"),
        (Forgetting(), "templates", "nothing was raised"),
    ],
)
def test_a_wrong_adapter_fails_with_the_field_and_the_place(
    harness: Harness, check: str, message: str
) -> None:
    result = run_check(harness, check)
    assert not result.passed
    assert not result.skipped
    assert re.search(message, result.message), result.message


@pytest.mark.slow
def test_episodes_that_are_played_one_after_another_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gem_adapters.testing.adapter_envs._MEETING_SECONDS", 0.1)
    result = run_check(Serial(), "concurrency")
    assert "one after another" in result.message


@pytest.mark.parametrize("name", ["unknown environment", "several agents", "no seed"])
def test_an_adapter_that_accepts_a_bad_input_fails(name: str) -> None:
    result = run_bad_input(Careless(), name)
    assert not result.passed
    assert "nothing was raised" in result.message


class Refusing(PushStub):
    """Refuses seeds of numpy."""

    def play(self, case: Case) -> list[Played]:
        if any(type(row["seed"]) is not int for row in case.rows):
            raise TypeError("int64 is not JSON")
        return super().play(case)


class Leaking(PushStub):
    """Leaves an environment open when its trainer cancels."""

    left: ClassVar[list[Game]] = []

    def play(self, case: Case) -> list[Played]:
        env = Game()
        env.reset(seed=0)
        self.left.append(env)
        raise asyncio.CancelledError


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harness", "name", "message"),
    [
        (Refusing(), "seed of numpy", "int64 is not JSON"),
        (Ignoring(), "no reply", "fault of the engine: the outcome is row instead of masked"),
        (Leaking(), "cancelled", "1 environments are still open"),
    ],
)
def test_an_adapter_that_mishandles_an_unusual_input_fails(
    harness: Harness, name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gem_adapters.testing.adapter_checks._ENDING_SECONDS", 0.05)
    result = run_bad_input(harness, name)
    assert not result.passed
    assert re.search(message, result.message), result.message
    for env in Leaking.left:
        env.close()


@pytest.mark.slow
def test_a_check_of_an_unsupported_feature_is_skipped_with_the_reason() -> None:
    class Small(PushStub):
        takes = frozenset({"scalar"})
        concurrent = "the framework plays one episode after another"

    assert run_check(Small(), "concurrency").skipped == Small.concurrent
    assert run_check(Small(), "limits").skipped == "the framework takes no limits"
    assert run_bad_input(Small(), "long prompt").skipped
    assert run_check(Small(), "rows").passed


@pytest.mark.slow
def test_an_error_of_the_framework_is_a_failure_and_not_a_crash() -> None:
    class Broken(PushStub):
        def play(self, case: Case) -> list[Played]:
            raise OSError("no engine")

    for result in check_adapter(Broken()):
        assert (result.passed, result.skipped) == (False, "")
        assert "no engine" in result.message


class TestTheScriptedModel:
    def test_scripted_replies_depend_on_the_prompt_and_on_how_often_it_was_asked(self) -> None:
        tokenizer = make_tokenizer()
        one, two = ScriptedModel(tokenizer), ScriptedModel(tokenizer)
        asked = [[1, 2], [3], [1, 2], [1, 2]]
        replies = [one.sample(ids).ids for ids in asked]
        other = [two.sample(ids).ids for ids in (asked[1], asked[0], asked[0], asked[0])]
        assert [replies[1], replies[0], replies[2], replies[3]] == other
        assert len({tuple(reply) for reply in replies}) > 1
        assert one.fresh().sample([3]).ids == replies[1]

    def test_a_scripted_reply_is_no_longer_than_allowed(self) -> None:
        model = ScriptedModel(make_tokenizer())
        cut = model.sample([1, 2, 3], 1)
        assert (len(cut.ids), len(cut.logprobs), cut.is_complete) == (1, 1, False)

    @pytest.mark.slow
    def test_scripted_replies_do_not_depend_on_the_order_of_the_samples(self) -> None:
        case = make_case(case_rows("Game", 2), samples=6)
        first, second = reference(case.fresh()), PushStub().play(case.fresh())

        def rows(played: list[Played]) -> list[Any]:
            return sorted(row.response_ids for one in played[:6] for row in one.rows)

        assert rows(first) == rows(second)


def test_list_envs_leaves_out_the_environments_of_the_suite() -> None:
    assert not [one for one in list_envs() if one.startswith("conformance")]


@pytest.mark.slow
def test_an_adapter_that_loses_every_episode_passes_no_check() -> None:
    class Losing(PushStub):
        def play(self, case: Case) -> list[Played]:
            return [Played([], "dropped") for _ in range(len(case.rows) * case.samples)]

    assert all(result.message for result in check_adapter(Losing()))
