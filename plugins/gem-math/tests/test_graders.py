"""The grader of mathematics is used alone, exchanged, and combined with other parts."""

import json
import subprocess
import sys

import pytest

import gem_core
from gem_core.errors import ConfigError, DataError
from gem_math.graders import MathGrader, MathVerify
from gem_tasks import Attempt, make_grader

ROWS = [{"problem": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(20)]


def attempt(answer, *golds):
    return Attempt("?", "", answer, golds)


@pytest.mark.slow
def test_the_grader_is_imported_without_environments():
    code = (
        "import json, sys; from gem_math import Verdict, grade; "
        "assert grade(r'\\frac12', '0.5') == Verdict(True, 'value'); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {name for name in json.loads(done.stdout) if "." not in name}
    core = {
        name for name in json.loads(done.stdout) if name.startswith(("gem_core.", "gem_tasks."))
    }
    assert core == {"gem_core.errors", "gem_core.lazy", "gem_tasks.parsing"}
    heavy = {"datasets", "pydantic", "hydra", "sympy", "math_verify", "gem_workers", "torch"}
    assert modules & heavy == set()


@pytest.mark.slow
@pytest.mark.parametrize("grader", ["math", "math-verify", {"id": "math-verify", "deadline": 20}])
@pytest.mark.parametrize(("answer", "reward"), [(r"\frac{12}{2}", 1.0), ("7", 0.0)])
def test_another_grader_is_chosen_in_one_line(grader, answer, reward):
    env = gem_core.make("math:Custom", data=ROWS, grader=grader)
    env.reset(idx=3)
    step = env.step(rf"\boxed{{{answer}}}")
    assert (step.reward, step.info["correct"], step.info["grading"]["extracted"]) == (
        reward,
        reward == 1.0,
        answer,
    )


def test_the_two_graders_differ_where_math_verify_is_mistaken():
    assert MathGrader()(attempt("2 m", "2 s")).correct is False
    found = MathVerify(deadline=20)(attempt("2 m", "2 s"))
    assert (found.correct, found.info["decided_by"]) == (True, "math-verify")


def test_each_gold_answer_is_compared_with():
    assert MathVerify(deadline=20)(attempt("2", "1", "2")).correct
    assert MathGrader()(attempt("2", "1", "2")).correct
    assert not MathVerify()(attempt(None, "1")).correct


def test_a_response_without_a_box_stays_what_the_environment_makes_of_it():
    env = gem_core.make(
        "math:Custom", data=ROWS, grader="math-verify", use_format_error_reward=True
    )
    env.reset(idx=3)
    step = env.step("6")
    assert (step.reward, step.info["decided_by"]) == (-0.1, "no box")


def test_an_answer_that_takes_too_long_is_wrong():
    found = MathVerify(deadline=0.001)(attempt("1", r"\sum_{k=1}^{10^9} \sin(k)^k"))
    assert (found.correct, found.info["decided_by"]) == (False, "deadline")


def test_the_deadline_must_be_positive():
    for grader in ("math", "math-verify"):
        with pytest.raises(ConfigError, match="positive"):
            make_grader({"id": grader, "deadline": 0})
        with pytest.raises(ConfigError, match="answer_deadline must be a positive number"):
            make_grader({"id": grader, "answer_deadline": -1})


@pytest.mark.slow
def test_parts_are_added_to_the_reward_of_mathematics():
    env = gem_core.make(
        "math:Custom", data=ROWS, rewards={"correctness": 1.0, "format": 0.1, "math-verify": 0.5}
    )
    env.reset(idx=3)
    step = env.step(r"\boxed{6}")
    assert step.reward == pytest.approx(1.6)
    assert step.info["rewards"] == {"correctness": 1.0, "format": 1.0, "math-verify": 1.0}
    assert step.info["reward_details"] == {"math-verify": {"decided_by": "math-verify"}}
    env.reset(idx=3)
    assert env.step("6").reward == 0.0


def test_your_own_rows_have_their_own_id():
    env = gem_core.make("math:Custom", data=ROWS)
    assert (env.spec.id, env.reset(seed=0)[1]["data"]) == ("math:Custom", "rows in memory")
    with pytest.raises(ConfigError, match="use 'math:Custom'"):
        gem_core.make("math:GSM8K", data=ROWS)
    with pytest.raises(ConfigError, match="use 'math:Custom-Visual'"):
        gem_core.make("math:Geometry3K", dataset_name="acme/figures")
    with pytest.raises(DataError, match="No rows were given"):
        gem_core.make("math:Custom")
    rows = [{"question": "?", "answer": "1"}]
    with pytest.raises(
        DataError, match=r"'problem' .*It has: question, answer.* with question_key="
    ):
        gem_core.make("math:Custom", data=rows)
