"""The environment: prompts, rewards, info, and errors for bad rows."""

import json

import pytest

from gem_code.env import PROMPT, CodeEnv, ForgeableTestsWarning
from gem_core import make, make_vec, spec
from gem_core.errors import ConfigError, DataError, SandboxError, UnknownIdError

pytestmark = pytest.mark.usefixtures("sandbox")
"""While the sandbox of the session is open, environments share its processes."""

DOUBLE = {"inputs": ["1\n", "2\n", "30\n"], "outputs": ["2\n", "4\n", "60\n"]}
RIGHT = "```python\nprint(2 * int(input()))\n```"
PARTLY = "```\nn = int(input())\nprint(2 * n if n < 30 else 0)\n```"


def asked(tests=DOUBLE, row=None, **options):
    """Return an environment with one problem, after its reset."""
    env = CodeEnv(data=[{"problem": "Double a number.", "tests": tests, **(row or {})}], **options)
    env.reset(seed=0)
    return env


@pytest.mark.slow
@pytest.mark.parametrize("tests", [DOUBLE, json.dumps(DOUBLE)])
def test_a_program_that_passes_all_tests_gets_the_reward(tests):
    step = asked(tests).step(f"I think so:\n{RIGHT}\nDone.")
    info = {
        "correct": True,
        "passed": 3,
        "total": 3,
        "failure": None,
        "not_run": 0,
        "forgeable": False,
    }
    assert step[:4] == ("Correct: all tests passed.", 1.0, True, False)
    assert {name: step.info[name] for name in info} == info
    assert step.info["grading"]["reason"] == "all tests passed"


def test_a_program_that_was_only_thought_of_does_not_count():
    for action in (f"<think>{RIGHT}</think> I cannot.", f"<think>{RIGHT}", f"{RIGHT}</think> No."):
        assert asked().step(action).info["failure"] == {"kind": "no code"}


def test_a_program_that_fails_a_test_gets_no_reward():
    step = asked().step(PARTLY)
    failure = {"kind": "wrong output", "test": 2, "input": "30\n"}
    failure |= {"expected": "60\n", "output": "0\n"}
    assert (step.reward, step.terminated) == (0.0, True)
    info = {
        "correct": False,
        "passed": 2,
        "total": 3,
        "failure": failure,
        "not_run": 0,
        "forgeable": False,
    }
    assert {name: step.info[name] for name in info} == info
    assert step.info["grading"] == {
        "question": "Double a number.",
        "expected": "60\n",
        "extracted": "0\n",
        "verdict": "wrong",
        "reason": "test 2 failed (wrong output); 2 of 3 passed; its input was 30\n",
    }
    assert step.observation == "Wrong: test 2 failed (wrong output)."


def test_the_reward_may_be_the_fraction_of_passed_tests():
    env = asked({"inputs": ["30\n", "1\n", "2\n"], "outputs": ["60", "2", "4"]}, reward="fraction")
    step = env.step(PARTLY)
    assert step.reward == pytest.approx(2 / 3)
    assert (step.info["passed"], step.info["failure"]["test"]) == (2, 0)
    assert asked(reward="fraction").step(RIGHT).reward == 1.0


@pytest.mark.slow
def test_a_program_that_raises_shows_what_it_printed_last():
    found = asked().step("```python\n1 / 0\n```").info
    assert "ZeroDivisionError" in found["failure"]["output"]
    assert (found["failure"]["kind"], found["grading"]["expected"]) == ("error", "2\n")
    assert found["grading"]["extracted"] == found["failure"]["output"]


def test_a_tested_function_shows_the_values_that_differ():
    tests = ["assert double(2) == 4", "assert double([1]) == [1, 1]"]
    found = asked(tests).step("```python\ndef double(x):\n    return 4\n```").info["grading"]
    assert (found["expected"], found["extracted"]) == ("[1, 1]", "4")


@pytest.mark.parametrize("text", ["", "print(2 * int(input()))", "```python\nprint(1)"])
def test_a_response_without_a_code_block_has_a_negative_reward(text):
    step = asked().step(text)
    assert step.reward == -0.1
    info = {
        "correct": False,
        "passed": 0,
        "total": 3,
        "failure": {"kind": "no code"},
        "not_run": 0,
        "forgeable": False,
        "format_error": True,
    }
    assert {name: step.info[name] for name in info} == info
    assert step.info["grading"]["reason"] == "no closed block of code in the reply"
    assert "no block of code" in step.observation


def test_the_last_block_counts():
    assert asked().step(f"{PARTLY}\nBetter:\n{RIGHT}").reward == 1.0
    marked = PARTLY.replace("```", "```python", 1)
    assert asked().step(f"{RIGHT}\nBetter:\n{marked}").reward == 0.0
    assert asked().step(f"{RIGHT}\nWhat it does:\n{PARTLY}").reward == 1.0


@pytest.mark.slow
def test_the_tests_with_the_longest_inputs_are_run():
    tests = {"inputs": ["100", "2", "30"], "outputs": ["200", "wrong", "60"]}
    assert asked(tests, max_tests=2).step(RIGHT).info["total"] == 2
    assert asked(tests, max_tests=2).step(RIGHT).reward == 1.0
    assert asked(tests, max_tests=None).step(RIGHT).reward == 0.0


def test_the_problem_is_shown_alone_or_in_a_prompt():
    rows = [{"problem": "Say {x}.", "tests": DOUBLE}]
    shown, info = CodeEnv(data=rows).reset(seed=0)
    assert (shown, info["forgeable"]) == ("Say {x}.", False)
    shown, _ = CodeEnv(data=rows, prompt="default").reset(seed=0)
    assert shown == PROMPT.replace("{problem}", "Say {x}.")
    assert CodeEnv(data=rows, prompt="Go: {problem}").reset(seed=0)[0] == "Go: Say {x}."


def test_columns_may_have_other_names_and_one_may_name_the_function():
    rows = [{"q": "?", "t": "def check(f):\n    assert f(2) == 4", "entry": "double", "s": "x = 1"}]
    env = CodeEnv(data=rows, question_key="q", test_key="t", function_key="entry", solution_key="s")
    env.reset(seed=0)
    assert env.solution() == "```python\nx = 1\n```"
    assert env.step("```\ndef double(n):\n    return 2 * n\n```").reward == 1.0


def test_a_function_of_python_must_be_defined_if_only_it_is_tested():
    env = asked("assert len([1]) == 2")
    assert env.step("```\nx = 1\n```").reward == 0.0
    env.reset(idx=0)
    assert env.step("```\ndef len(items):\n    return 2\n```").reward == 1.0


def test_code_may_precede_the_tests_and_solutions_have_several_columns():
    rows = [
        {
            "problem": "def double(n):\n",
            "body": "    return 2 * n\n",
            "before": before,
            "tests": ["assert double(TWO) == 4"],
        }
        for before in ("TWO = 2", ["import math", "TWO = math.floor(2.5)"])
    ]
    env = CodeEnv(data=rows, setup_key="before", solution_key=["problem", "body"])
    for idx in range(2):
        env.reset(idx=idx)
        assert env.step(env.solution()).reward == 1.0
        env.reset(idx=idx)
        assert env.step("```\ndef double(n):\n    return n\n```").reward == 0.0


def test_inputs_and_outputs_have_no_setup():
    rows = [{"problem": "?", "tests": DOUBLE, "before": before} for before in ("", "x = 1")]
    env = CodeEnv(data=rows, setup_key="before")
    assert env.reset(idx=0)[0] == "?"
    with pytest.raises(DataError, match="only assertions have a setup"):
        env.reset(idx=1)


def test_a_prompt_may_show_the_tests():
    rows = [{"problem": "Double {tests}.", "tests": ["assert f(1) == 2", "assert f(2) == 4"]}]
    env = CodeEnv(data=rows, prompt="{problem}\n{tests}")
    assert env.reset()[0] == "Double {tests}.\nassert f(1) == 2\nassert f(2) == 4"


def test_forgeable_tests_are_flagged_and_announced_once():
    forgeable = {"problem": "?", "tests": "assert Point(1) == Point(1)"}
    rows = [forgeable, forgeable, {"problem": "?", "tests": "assert f(1) == 2"}]
    env = CodeEnv(data=rows, shuffle=False)
    with pytest.warns(ForgeableTestsWarning, match="Row 0 of data, column 'tests': the tests 0"):
        _, info = env.reset(idx=0)
    assert info["forgeable"] is True
    answer = "```\nimport os\nclass Point:\n    def __eq__(self, other): return True\n"
    step = env.step(answer + "    def __init__(self, x): pass\n```")
    assert (step.reward, step.info["forgeable"]) == (1.0, True)
    assert env.reset(idx=1)[1]["forgeable"] is True  # a second warning would be an error here
    assert env.step("").info["forgeable"] is True
    assert env.reset(idx=2)[1]["forgeable"] is False
    assert env.step("```\ndef f(n): return 2\n```").info["forgeable"] is False


def test_test_programs_need_a_sandbox_with_sessions():
    class Stateless:
        isolated = True

        def run_tests(self, program, inputs, *, stop=None):
            return []

    env = asked("assert all(map(f, [1]))")
    env._sandbox = Stateless()
    with pytest.raises(SandboxError, match="has no sessions"):
        env.step("```\nf = bool\n```")


def test_without_solutions_there_is_no_oracle():
    with pytest.raises(ConfigError, match="solution_key"):
        asked().solution()
    assert spec("code:Taco8k").oracle is None
    assert spec("code:Sample").oracle is not None


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ({"inputs": [], "outputs": []}, "no tests"),
        ({"inputs": ["1"], "outputs": []}, "1 inputs and 0 outputs"),
        ('{"inputs": ["1', "broken JSON"),
        ({**DOUBLE, "compare": "exakt"}, "exakt"),
        ({**DOUBLE, "compare": "os:system"}, "os:system"),
    ],
)
def test_a_row_with_bad_tests_is_named_when_it_is_selected(tests, message):
    rows = [{"problem": "good", "tests": DOUBLE}, {"problem": "bad", "tests": tests}]
    env = CodeEnv(data=rows, shuffle=False)
    env.reset(idx=0)
    with pytest.raises(DataError, match=f"Row 1 of data, column 'tests': .*{message}"):
        env.reset()
    assert env.reset(idx=0)[0] == "good"


def test_tests_of_another_type_are_rejected_when_the_rows_are_loaded():
    with pytest.raises(DataError, match="Row 0 of data, column 'tests'"):
        CodeEnv(data=[{"problem": "?", "tests": 5}])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout"),
        ({"memory": -1}, "memory"),
        ({"max_tests": 0}, "max_tests"),
        ({"reward": "some"}, "fraction"),
        ({"compare": "exakt"}, "Did you mean 'exact'"),
        ({"prompt": "Solve it."}, r"\{problem\}"),
        ({"sandbox": {"workers": 1}}, "id"),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(ConfigError, match=message):
        asked(**options)


def test_an_unknown_sandbox_is_rejected_when_the_environment_is_made():
    with pytest.raises(UnknownIdError, match="warm"):
        asked(sandbox="warn")


def either_order(given, expected, output):
    return sorted(output.split()) == sorted(expected.split())


def test_checkers_are_functions_or_entry_points_and_rows_may_select_one():
    tests = {"inputs": ["1"], "outputs": ["1 2"]}
    checkers = {"either": either_order, "tokens2": "operator:ne"}
    answer = "```\nprint(2, 1)\n```"
    assert asked(tests, checkers=checkers).step(answer).reward == 0.0
    assert asked(tests, checkers=checkers, compare="either").step(answer).reward == 1.0
    chosen = {**tests, "compare": "either"}
    assert asked(chosen, checkers=checkers).step(answer).reward == 1.0


@pytest.mark.slow
def test_a_sandbox_may_be_given_with_arguments():
    assert asked(sandbox={"id": "warm", "workers": 1}).step(RIGHT).reward == 1.0


@pytest.mark.slow
def test_limits_are_enforced():
    step = asked(timeout=0.3).step("```\nwhile True: pass\n```")
    assert step.info["failure"]["kind"] == "wall_time"
    with pytest.raises(ConfigError, match="total_timeout must be more than 0"):
        asked(total_timeout=0)
    step = asked(memory=1 << 28).step("```\nx = bytearray(1 << 29)\n```")
    assert step.info["failure"]["kind"] == "memory"


def test_common_names_are_supplied_unless_disabled():
    answer = "```\nprint(int(math.floor(2)) * int(input()))\n```"
    assert asked().step(answer).reward == 1.0
    assert asked(supply_names=False).step(answer).info["failure"]["kind"] == "error"


def test_a_fork_grades_after_its_original_is_closed():
    env = asked()
    with env.fork() as fork:
        env.close()
        env.close()
        assert fork.step(RIGHT).reward == 1.0


def test_a_snapshot_restores_its_row():
    rows = [{"problem": str(n), "tests": {"inputs": ["1"], "outputs": [str(n)]}} for n in range(3)]
    env = CodeEnv(data=rows, shuffle=False)
    env.reset(idx=2)
    snapshot = env.snapshot()
    env.reset(idx=0)
    env.restore(snapshot)
    assert env.step("```\nprint(2)\n```").reward == 1.0


def test_many_environments_grade_at_the_same_time():
    rows = [{"problem": "?", "tests": DOUBLE}]
    vec = make_vec("code:Custom", num_envs=6, executor="threads", data=rows)
    vec.reset(seed=0)
    _, rewards, *_ = vec.step([RIGHT, PARTLY, "", RIGHT, PARTLY, RIGHT])
    vec.close()
    assert list(rewards) == [1.0, 0.0, -0.1, 1.0, 0.0, 1.0]


@pytest.mark.slow
def test_any_dataset_on_the_hub_can_be_used(fake_hub):
    fake_hub.add("acme/puzzles", {"train": [{"problem": "Double.", "tests": json.dumps(DOUBLE)}]})
    env = make("code:Custom", dataset_name="acme/puzzles")
    assert env.reset(seed=0)[0] == "Double."
    assert env.step(RIGHT).reward == 1.0


def test_the_ends_of_lines_do_not_count_unless_the_comparison_is_exact():
    tests = {"inputs": [""], "outputs": ["1 2 \n3 4 \n"]}
    answer = "```python\nprint('1 2')\nprint('3 4  ')\n```"
    assert asked(tests, compare="exact").step(answer).reward == 0.0
    assert asked(tests).step("```python\nprint(' 1  2', ' 3 4')\n```").reward == 0.0


LONG, NEXT = f"1{'0' * 5000}", f"1{'0' * 4999}1"
PRINTS = "print(10**int(input()))"
ADDS = "def f(x): return x + 1"
FUTURE = '"""Print."""\nfrom __future__ import (\n    annotations,\n)\n'
INTEGERS = {
    "a number to print": ({"inputs": ["5000"], "outputs": [10**5000]}, PRINTS),
    "a text to print": ({"inputs": ["5000"], "outputs": [f"{LONG}\n"]}, PRINTS),
    "with a future": ({"inputs": ["5000"], "outputs": [LONG]}, FUTURE + PRINTS),
    "a value": ({"inputs": [[10**5000]], "outputs": [10**5000 + 1], "fn_name": "f"}, ADDS),
    "an assertion": (f"assert f({LONG}) == {NEXT}", FUTURE + ADDS),
    "texts": (f"assert str(f({LONG})) == '{NEXT}' and int(str(f({LONG}))) == {NEXT}", ADDS),
    "a program": (
        f"def test_a():\n    y = f({LONG})\n    y += 0\n    assert str(y) == '{NEXT}'",
        ADDS,
    ),
}


@pytest.mark.slow
def test_integers_have_any_number_of_digits(subtests):
    for name, (tests, code) in INTEGERS.items():
        with subtests.test(name):
            wrong = code.replace("10**", "20**").replace("+ 1", "+ 2")
            assert asked(tests).step(f"```python\n{code}\n```").reward == 1.0
            assert asked(tests).step(f"```python\n{wrong}\n```").reward == 0.0


@pytest.mark.slow
def test_values_are_compared_as_in_python_and_a_tuple_is_a_list(subtests):
    for gold, returned, reward in [
        (True, "1", 1.0),
        (1, "1.0", 1.0),
        ([{"a": [0]}], "[{'a': [1]}]", 0.0),
        ([1, (True,), {"a": (2,)}], "(1, [True], {'a': [2]})", 1.0),
    ]:
        with subtests.test(f"{gold} {returned}"):
            tests = {"inputs": [[], []], "outputs": [gold, gold], "fn_name": "f"}
            assert asked(tests).step(f"```python\ndef f(): return {returned}\n```").reward == reward
