"""An episode of a ``TaskEnv`` is a question, one answer and its grade."""

import hashlib
import json
import random

import pytest

from gem_core import make_vec
from gem_core.agent import OracleAgent, SilentAgent
from gem_core.errors import ConfigError, EpisodeEndedError, InvalidActionError
from gem_core.factory import make_factory
from gem_core.testing import check_env
from gem_rollout import play_episode
from gem_tasks import Grade, gold_answers


@pytest.fixture
def env(make_sums, sums):
    return make_sums(data=sums(20))


def firsts(env, episodes, **options):
    return [env.reset(**(options if n == 0 else {}))[0] for n in range(episodes)]


def test_an_episode_is_a_question_and_an_answer(env):
    question, info = env.reset(idx=3)
    assert question == "3 + 3?"
    assert info == {"idx": 3, "task_id": env.task_id(env.row), "data": "rows in memory"}
    step = env.step(" 6 ")
    assert step[:4] == ("Correct.", 1.0, True, False)
    assert (step.info["correct"], step.info["length"]) == (True, 3)
    with pytest.raises(EpisodeEndedError):
        env.step("6")


def test_the_feedback_to_a_wrong_answer_gives_the_right_one(env):
    env.reset(idx=3)
    step = env.step("7")
    assert step[:4] == ("Wrong. The answer is 6.", 0.0, True, False)
    assert (step.info["correct"], step.info["length"]) == (False, 1)


def test_the_end_says_what_was_asked_expected_and_read(env):
    env.reset(idx=3)
    assert env.step("7").info["grading"] == {
        "question": "3 + 3?",
        "expected": "6",
        "extracted": "7",
        "verdict": "wrong",
        "reason": "graded by Sums",
    }


def test_a_grader_may_say_what_decided_and_what_it_compared(make_sums, sums):
    def strict(attempt):
        return Grade(0.5, False, {}, "half of it is right", "all of it", f"{attempt.answer}!")

    env = make_sums(data=sums(20), grader=strict)
    env.reset(idx=3)
    grading = env.step("7").info["grading"]
    assert (grading["verdict"], grading["reason"]) == ("partly correct", "half of it is right")
    assert (grading["expected"], grading["extracted"]) == ("all of it", "7!")


def test_a_grader_that_only_decides_is_named_as_the_reason(make_sums, sums):
    def same(attempt):
        return attempt.answer == "7"

    env = make_sums(data=sums(20), grader=same)
    env.reset(idx=3)
    grading = env.step("7").info["grading"]
    assert (grading["verdict"], grading["reason"]) == ("correct", "graded by same")


def test_long_texts_of_a_grading_are_shortened(env):
    env.reset(idx=3)
    extracted = env.step("7" * 5000).info["grading"]["extracted"]
    assert extracted == f"{'7' * 2000}... (3,000 more characters)"


@pytest.mark.parametrize("action", [None, 6, b"6", ["6"]])
def test_an_action_that_is_not_text_leaves_the_episode_unchanged(env, action):
    env.reset(idx=3)
    with pytest.raises(InvalidActionError, match="An action of Sums is text"):
        env.step(action)
    assert env.step("6").reward == 1.0


def test_only_the_end_of_a_very_long_answer_is_graded(env):
    env.reset(idx=3)
    step = env.step("x" + " " * 200_000 + "6")
    assert step.reward == 1.0
    assert step.info["length"] == env.longest_answer


def test_an_environment_has_the_current_row_in_its_attributes(env):
    env.reset(idx=3)
    assert (env.idx, env.epoch, env.row) == (3, 0, {"problem": "3 + 3?", "answer": "6"})
    assert (len(env.rows), env.rows[4]["answer"]) == (20, "8")


def test_an_epoch_shows_every_row_once_and_then_the_next_begins(env):
    first, second = firsts(env, 20, seed=0), firsts(env, 20)
    assert len(set(first)) == len(set(second)) == 20
    assert first != second
    assert env.epoch == 1
    env.reset()
    assert env.epoch == 2


def test_a_seed_repeats_the_order_regardless_of_earlier_episodes(env):
    order = firsts(env, 30, seed=5)
    firsts(env, 7)
    assert firsts(env, 30, seed=5) == order
    assert firsts(env, 30, seed=6) != order


def test_without_a_seed_each_environment_has_its_own_order(make_sums, sums):
    data = sums(1000)
    orders = [firsts(make_sums(data=data), 3) for _ in range(3)]
    assert len({tuple(order) for order in orders}) == 3


def test_a_chosen_row_is_followed_by_the_next_in_order(env):
    order = firsts(env, 20, seed=5)
    assert [env.reset(seed=5, idx=env_idx(order[7]))[0], *firsts(env, 12)] == order[7:]


def env_idx(question):
    return int(question.split()[0])


def test_a_row_that_does_not_exist_is_rejected(env):
    with pytest.raises(ConfigError, match="from 0 to 19; got 20"):
        env.reset(idx=20)


def test_a_rejected_row_does_not_change_the_order(env):
    order = firsts(env, 20, seed=5)
    with pytest.raises(ConfigError):
        env.reset(seed=5, idx=20)
    assert firsts(env, 20) == order


def test_evaluation_goes_through_the_rows_in_order(make_sums, sums):
    env = make_sums(data=sums(5), shuffle=False)
    assert [env_idx(question) for question in firsts(env, 7)] == [0, 1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize("shard", [None, "1/3"])
def test_a_run_over_unshuffled_rows_takes_each_once_with_any_seed(make_sums, sums, shard):
    data = sums(10)
    for seed in (0, 1):
        trajectories = [
            play_episode(
                make_sums(data=data, shuffle=False, shard=shard), SilentAgent(), seed, number
            )
            for number in range(10)
        ]
        shown = [trajectory.turns[0].observation for trajectory in trajectories]
        own = [row["problem"] for row in (data if shard is None else data[1::3])]
        assert shown == [own[number % len(own)] for number in range(10)]


@pytest.mark.parametrize("shard", [None, "1/3"])
def test_a_run_takes_each_row_once_in_an_order_that_its_seed_decides(make_sums, sums, shard):
    env = make_sums(data=sums(20), shard=shard)
    count = len(range(20) if shard is None else range(1, 20, 3))
    assert env.task_count == count

    def rows_of_run(seed, episodes):
        return [env.reset_options(number, seed)["idx"] for number in range(episodes)]

    first = rows_of_run(0, count)
    assert sorted(first) == list(range(20) if shard is None else range(1, 20, 3))
    assert rows_of_run(0, 2 * count)[:count] == first
    assert sorted(rows_of_run(0, 2 * count)[count:]) == sorted(first)
    assert rows_of_run(1, count) != first


@pytest.mark.slow
def test_streamed_rows_cannot_be_chosen_for_a_run(datasets, make_sums, tmp_path, sums):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in sums(5)))
    env = make_sums(data=str(path), streaming=True)
    assert (env.task_count, env.reset_options(3, 0)) == (None, {})
    _, info = env.reset(seed=0)
    version = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    known = {"task_id": env.task_id(env.row), "data": str(path), "data_version": version}
    assert info == known


def test_the_id_of_a_task_is_that_of_its_question(make_sums, sums):
    """The same question has the same id in another place, and with other accepted answers."""
    rows = [*sums(3), {"problem": "1 + 1?", "answer": ["2", "two"]}]
    ids = [make_sums(data=rows).reset(idx=idx)[1]["task_id"] for idx in range(4)]
    assert ids[1] == ids[3]
    assert len(set(ids)) == 3
    assert make_sums(data=rows[::-1]).reset(idx=0)[1]["task_id"] == ids[3]


def test_shards_share_out_the_rows(make_sums, sums):
    data = sums(10)
    parts = [make_sums(data=data, shard=f"{index}/3") for index in range(3)]
    seen = [
        sorted(map(env_idx, firsts(part, len(range(n, 10, 3))))) for n, part in enumerate(parts)
    ]
    assert seen == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


def test_forks_and_restored_snapshots_continue_like_the_original(env):
    firsts(env, 15, seed=1)
    snapshot = env.snapshot()
    fork = env.fork()
    expected = firsts(env, 30)
    assert firsts(fork, 30) == expected
    env.restore(snapshot)
    assert firsts(env, 30) == expected


@pytest.mark.slow
def test_a_snapshot_contains_only_the_current_row(make_sums, sums):
    small, large = make_sums(data=sums(10)), make_sums(data=sums(10_000))
    small.reset(idx=1)
    large.reset(idx=1)
    assert abs(len(large.snapshot()) - len(small.snapshot())) < 100
    assert large.fork().rows is large.rows


@pytest.mark.slow
def test_an_environment_of_tasks_passes_the_conformance_kit(spec_of, sums):
    check_env(spec_of(data=sums(200)), episodes=5).raise_for_findings()


def test_the_oracle_answers_from_the_gold(spec_of, sums):
    env = make_factory(spec_of(data=sums(20)))()
    assert [play_episode(env, OracleAgent(), n, n).episode_return for n in range(5)] == [1.0] * 5


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_vector_gives_the_same_tasks_on_every_executor(spec_of, sums, executor):
    def play(name):
        with make_vec(spec_of(data=sums(50)), num_envs=2, seed=3, executor=name) as vector:
            questions = list(vector.reset()[0])
            for _ in range(15):
                questions += list(vector.step(["0"] * 2)[0])
        return questions

    questions = play(executor)
    assert questions == play("serial")
    assert len(set(questions)) > 10


def test_global_random_state_is_left_alone(env):
    random.seed(1)
    before = random.getstate()
    firsts(env, 30)
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("value", "golds"),
    [("x", ("x",)), (42, ("42",)), (0.5, ("0.5",)), (True, ("True",)), (["a", 1], ("a", "1"))],
)
def test_gold_answers_are_texts(value, golds):
    assert gold_answers(value) == golds
