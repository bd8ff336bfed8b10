"""A reward is a weighted sum of named parts, each of which is kept in the info."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import make_vec
from gem_core.agent import ScriptedAgent
from gem_core.config import build
from gem_core.errors import ConfigError
from gem_rollout import collect, play_episode
from gem_tasks import Grade
from gem_tasks.grader import GraderError

EXAMPLES = 100 if thorough() else 20

RIGHT = "6"


@pytest.fixture
def step_of(make_sums, sums):
    """Return a function that answers 3 + 3."""

    def play(answer, **options):
        env = make_sums(data=sums(20), **options)
        env.reset(idx=3)
        return env.step(answer)

    return play


def short(attempt):
    return len(attempt.response) < 3


def test_without_parts_the_reward_is_the_grade(step_of):
    step = step_of(RIGHT)
    assert (step.reward, step.info["correct"], step.info["length"]) == (1.0, True, 1)
    assert "rewards" not in step.info


@pytest.mark.parametrize(
    "rewards",
    [
        ["correctness", {"id": "format", "weight": 0.1}, {"id": short, "weight": -0.5}],
        {"correctness": 1, "format": 0.1, "short": {"id": short, "weight": -0.5}},
        (
            "correctness",
            {"id": "format", "weight": 0.1, "name": "format"},
            {"id": short, "weight": -0.5},
        ),
    ],
)
def test_the_reward_is_the_weighted_sum_of_its_parts(step_of, rewards):
    step = step_of(RIGHT, rewards=rewards)
    assert step.reward == pytest.approx(1.0 + 0.1 - 0.5)
    assert step.info["rewards"] == {"correctness": 1.0, "format": 1.0, "short": 1.0}
    assert (step.info["correct"], step.info["length"]) == (True, 1)
    assert step_of("seven", rewards=rewards).reward == pytest.approx(0.1)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=1, max_size=6))
def test_any_weights_and_values_are_summed(parts):
    from gem_core.maybe_async import drive
    from gem_tasks import Attempt
    from gem_tasks.rewards import Rewards

    entries = [
        {"id": lambda attempt, value=value: value, "weight": weight, "name": str(number)}
        for number, (weight, value) in enumerate(parts)
    ]
    attempt = Attempt("?", "x", "x", grade=Grade(0.0, True))
    paid = drive(Rewards(entries).grading(attempt))
    assert paid.reward == pytest.approx(sum(weight * value for weight, value in parts))
    assert list(paid.info["rewards"].values()) == [value for _, value in parts]
    assert paid.correct


def test_the_info_has_the_details_of_each_part_by_name(step_of):
    step = step_of(RIGHT, rewards={"style": lambda attempt: Grade(0.5, False, {"why": "short"})})
    assert step.reward == 0.5
    assert step.info["reward_details"] == {"style": {"why": "short"}}
    assert step.info["correct"] is True


def test_another_grader_decides_what_is_correct(step_of):
    step = step_of("six", grader=lambda attempt: attempt.answer == "six")
    assert (step.reward, step.info["correct"]) == (1.0, True)
    step = step_of(
        "six", grader=lambda attempt: attempt.response == "six", rewards={"correctness": 2}
    )
    assert (step.reward, step.info["rewards"]) == (2.0, {"correctness": 1.0})


def test_graders_get_the_question_the_row_and_the_own_grade(step_of):
    seen = []
    step_of(RIGHT, rewards=["correctness", lambda attempt: seen.append(attempt) or 0])
    (attempt,) = seen
    assert (attempt.question, attempt.response, attempt.answer) == ("3 + 3?", RIGHT, RIGHT)
    assert attempt.row == {"problem": "3 + 3?", "answer": "6"}
    assert attempt.grade == Grade(1.0, True, {"length": 1})


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([], "empty"),
        ({}, "empty"),
        ("correctness", "a list of graders"),
        (3, "a list of graders"),
        (["format", "format"], "Two parts of rewards are named 'format'"),
        ([{"id": "format", "weight": "much"}], "weight of 'format'.*got 'much'"),
        ([{"id": "format", "weight": True}], "weight of 'format'"),
        ({"format": float("nan")}, "weight of 'format'"),
        ({"formt": 1.0}, "Did you mean 'format'"),
        ([{"weight": 1.0}], "'id'"),
    ],
)
def test_wrong_parts_say_what_is_wrong_when_the_environment_is_made(
    make_sums, sums, rewards, message
):
    with pytest.raises(gem_core.GemError, match=message):
        make_sums(data=sums(3), rewards=rewards)


@pytest.mark.parametrize("options", [{"grader": lambda _: 1 / 0}, {"rewards": [lambda _: None]}])
def test_a_grader_that_fails_is_a_fault_and_never_a_reward(make_sums, sums, options):
    env = make_sums(data=sums(3), **options)
    env.reset(seed=0)
    with pytest.raises((ZeroDivisionError, GraderError)):
        env.step(RIGHT)
    played = play_episode(env, ScriptedAgent([RIGHT]), seed=0)
    assert played.error["boundary"] == "grader"
    assert played.turns == []


async def later(attempt):
    await asyncio.sleep(0)
    return len(attempt.response) / 10


def test_an_asynchronous_grader_is_awaited(spec_of, sums):
    options = {"data": sums(5), "rewards": ["correctness", later]}
    played = list(collect(spec_of(**options), lambda: ScriptedAgent(["0123"]), episodes=5))
    assert [one.error for one in played] == [None] * 5
    assert [one.turns[-1].info["rewards"]["later"] for one in played] == [0.4] * 5

    async def play():
        env = spec_of(**options).make()
        env.reset(idx=3)
        return await env.step(RIGHT)

    assert asyncio.run(play()).reward == pytest.approx(1.1)


def test_a_failing_asynchronous_grader_is_a_fault(spec_of, sums):
    async def fails(attempt):
        await asyncio.sleep(0)
        raise GraderError("no")

    (played,) = collect(
        spec_of(data=sums(5), rewards=[fails]), lambda: ScriptedAgent(["1"]), episodes=1
    )
    assert (played.error["boundary"], played.error["message"]) == ("grader", "no")


def test_a_grader_that_waits_runs_in_a_thread(make_sums, sums):
    def waits(attempt):
        return 1.0

    assert not make_sums(data=sums(3), grader=waits, rewards=[waits]).blocking
    waits.blocking = True
    assert make_sums(data=sums(3), grader=waits).blocking
    assert make_sums(data=sums(3), rewards=[{"id": waits, "weight": 2}]).blocking


def test_copies_share_the_graders(make_sums, sums):
    env = make_sums(data=sums(5), rewards=["correctness", lambda attempt: 0.5])
    env.reset(idx=3)
    fork, snapshot = env.fork(), env.snapshot()
    assert env.step(RIGHT).reward == fork.step(RIGHT).reward == 1.5
    env.restore(snapshot)
    assert env.step(RIGHT).reward == 1.5


@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_a_vector_pays_the_parts(spec_of, sums, executor):
    spec = spec_of(data=sums(5), shuffle=False, rewards={"correctness": 1, "format": 0.5})
    with make_vec(spec, num_envs=2, executor=executor, autoreset="off") as vector:
        first = vector.reset()[0][0]
        answer = str(2 * int(first.split()[0]))
        assert list(vector.step([answer, "none"])[1]) == [1.5, 0.5]


def test_a_configuration_may_name_the_parts():
    config = {
        "env": {
            "id": "hf:acme/none",
            "rewards": {"correctness": 1.0, "length": {"free": 10, "longest": 5}},
        }
    }
    with pytest.raises(ConfigError, match="0 <= free < longest"):
        build(config)
