"""The functions of ``gem.utils``."""

import math
import random
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem.utils import constants, math_grader, parsing, qa_em, sandbox, seeding

EQUAL = [
    ("1/2", "0.5"),
    (r"\frac12", "1/2"),
    ("1,000", "1000"),
    ("1.0", "1"),
    ("6", "6.0"),
    (".5", "0.5"),
    ("1 1/2", "3/2"),
    ("x+1", "1+x"),
    ("(x+1)^2", "x^2+2x+1"),
    (r"2\sqrt{2}", r"\sqrt{8}"),
    (r"\sqrt2", r"\sqrt{2}"),
    (r"5\text{ cm}", "5"),
    ("5", r"5\text{ cm}"),
    ("10", r"10\text{ apples}"),
    ("20", r"20\%"),
    ("12", r"12\mathrm{~m}^2"),
    (r"12\mathrm{~m}^2", "12"),
    (r"90^\circ", "90"),
    ("x=5", "5"),
    (r"\$5", "5"),
    (r"\text{A}", "A"),
    (r"\text{Yes}", "yes"),
    ("(1, 2)", "(1,2)"),
    (r"-\frac{1}{2}", r"\frac{-1}{2}"),
    (r"2\pi", r"2 \pi"),
    ("2/4", "1/2"),
    ("12/2", "6"),
    ("2^{3}", "8"),
    ("10^10", "10000000000"),
    ("1,2", "2,1"),
    ("50%", "0.5"),
]
DIFFERENT = [
    ("[1,2)", "(1,2)"),
    ("0.333", "1/3"),
    ("3.14", r"\pi"),
    ("", "5"),
    # What gem-llm takes for equal:
    ("a+b", "c+b"),
    ("x+a", "x+h"),
    ("2 m", "2 s"),
    ("ab=3", "3"),
]


@pytest.mark.slow
def test_equal_answers_are_right_in_every_function(subtests):
    for answer, gold in EQUAL:
        with subtests.test(f"{answer} and {gold}"):
            assert math_grader.grade(answer, gold)
            assert math_grader.grade(answer, rf"\boxed{{{gold}}}", fast=False)
            assert math_grader.grade_answer_mathd(answer, gold)
            assert math_grader.grade_answer_sympy(answer, gold)
            assert math_grader.is_latex_equal(answer, gold)
            assert math_grader.is_value_equal(answer, gold)
            assert math_grader.are_equal_under_sympy(gold, answer)


def test_different_answers_are_wrong(subtests):
    for answer, gold in DIFFERENT:
        with subtests.test(f"{answer} and {gold}"):
            assert not math_grader.grade(answer, gold)
            assert not math_grader.grade(answer, gold, fast=False)
            assert not math_grader.grade_answer_sympy(answer, gold)


def test_nothing_is_equal_only_to_nothing():
    assert math_grader.grade_answer_mathd(None, None)
    assert not math_grader.grade_answer_mathd(None, "1")


RESPONSES = [
    ("boxed_reward_fn", r"\boxed{3}", "3", (True, 1.0)),
    ("boxed_reward_fn", r"\boxed{3}", 3, (True, 1.0)),
    ("boxed_reward_fn", r"\boxed{3}", ["4", "3"], (True, 1.0)),
    ("boxed_reward_fn", r"\boxed{4}", "3", (True, 0.0)),
    ("boxed_reward_fn", "3", "3", (False, 0.0)),
    ("r1_distill_qwen_math_reward_fn", r"<think></think>\boxed{3}", "3", (True, 1.0)),
    ("r1_distill_qwen_math_reward_fn", r"\boxed{3}</think>4", "3", (False, 0.0)),
    ("r1_distill_qwen_math_reward_fn", r"</think></think>\boxed{3}", "3", (False, 0.0)),
    ("answer_tag_reward_fn", "a</think> <answer>3</answer>", "3", (True, 1.0)),
    ("answer_tag_reward_fn", r"a</think> <answer>\boxed{3}</answer>", "3", (True, 1.0)),
    ("answer_tag_reward_fn", r"a</think> <answer>\boxed{3</answer>", "3", (True, 0.0)),
    ("answer_tag_reward_fn", "<answer>3</answer>", "3", (False, 0.0)),
    ("answer_tag_reward_fn_for_orz", "<answer>3</answer>", "3", (True, 1.0)),
    ("answer_tag_reward_fn_for_orz", "<answer>4</answer>", "3", (True, 0.0)),
    ("answer_tag_reward_fn_for_orz", "3", "3", (False, 0.0)),
]


def test_responses_are_paid(subtests):
    for function, response, gold, (formatted, reward) in RESPONSES:
        pay = getattr(math_grader, function)
        with subtests.test(f"{function} {response} {gold}"):
            assert pay(response, gold) == ({"formatted": formatted}, reward)
            if formatted:
                paid = pay(response, gold, False, 5.0, -1.0)[1]
                assert paid == (5.0 if reward else -1.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\boxed{a} \boxed{b{c}d}", "b{c}d"),
        (r"\fbox{a}", None),
        (r"\boxed a", None),
        (r"\boxed{a", None),
        (r"\boxed 7 {x}", None),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        ("nothing", None),
        (r"\boxed{}", ""),
    ],
)
def test_the_last_box_is_found(text, expected):
    assert parsing.extract_last_boxed_answer(text) == expected
    assert math_grader.extract_answer(text) == expected
    assert math_grader.extract_boxed_answer(text) == expected


def test_boxes_come_with_and_without_their_marks():
    assert parsing.last_boxed_only_string(r"a \boxed{b} c") == r"\boxed{b}"
    assert parsing.last_boxed_only_string(r"a \fbox{b} c") == r"\fbox{b}"
    assert parsing.last_boxed_only_string("\\boxed}") == "\\boxed}"
    assert parsing.remove_boxed(None) is None
    assert parsing.remove_boxed("{b}") is None


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(st.text(alphabet="ab{} \\"), st.text(alphabet="ab {}\\"))
def test_boxes_never_raise_and_hold_what_was_put_in(before, after):
    box = parsing.extract_last_boxed_answer(rf"{before}\boxed{{{after}}}")
    if "{" not in after and "}" not in after and "\\" not in after:
        assert box == after


@pytest.mark.parametrize(
    ("text", "code", "tagged"),
    [
        ("```python\na\n``` ```\nb\n```", "b", None),
        ("```c++\na\n```", "a", None),
        ("<answer> a </answer> <answer>\nb\n</answer>", None, "b"),
        ("nothing ```", None, None),
    ],
)
def test_code_and_tags_are_found(text, code, tagged):
    assert parsing.extract_code_from_model(text) == code
    assert parsing.extract_last_tagged_answer(text) == tagged


def test_short_answers_are_compared():
    assert qa_em.normalize_answer("The  A-Team, an (ok)!") == "ateam ok"
    assert qa_em.em_check("the Beatles", ["Stones", "Beatles"])
    assert qa_em.em_check("Beatles!", "the beatles")
    assert not qa_em.em_check("a", "the")


@pytest.mark.parametrize(
    ("expression", "elements"),
    [("(1,2)", ["1", "2"]), ("1,000", ["1000"]), ("", []), ("((1),2)", ["((1),2)"]), ("7", ["7"])],
)
def test_tuples_are_split(expression, elements):
    assert math_grader.split_tuple(expression) == elements


@pytest.mark.slow
def test_expressions_are_measured():
    assert math_grader.count_unknown_letters_in_expr("sqrt(x)+frac(y)") == 2
    plain = {"x+y": True, "x+y+z": False, "x^{2}": False, "x^(2)": False, "2^12": False}
    assert {text: math_grader.should_allow_eval(text) for text in plain} == plain
    assert math_grader.should_allow_eval("2^3^4") is False
    assert math_grader.numeric_equal(1.0, 1.00001)
    assert not math_grader.numeric_equal(1.0, 1.001)
    assert math_grader.symbolic_equal(r"\frac{1}{2}", 0.5)
    assert float(math_grader.latex_eval(r"\frac{1}{4}")) == 0.25


@pytest.mark.parametrize(
    ("answer", "normal"),
    [
        (r"\frac12 \text{cm}", r"\frac{1}{2}"),
        ("1,000", "1000"),
        (r"$\sqrt3$", r"\sqrt{3}"),
        (r"\text{blue}", "blue"),
        ("5 dollars", "5"),
    ],
)
def test_answers_are_made_plain(answer, normal):
    assert math_grader.normalize_final_answer(answer) == normal


@pytest.mark.parametrize(
    ("text", "repeats"), [("ab" * 80, True), ("hello world", False), ("", False)]
)
def test_repetition_is_seen(text, repeats):
    assert math_grader.repeatness(text) is repeats


def test_a_function_that_takes_too_long_is_ended():
    with pytest.raises(math_grader.TimeoutException, match="Too long"):  # noqa: SIM117
        with math_grader.timeout(0.05, "Too long"):
            time.sleep(5)
    assert math_grader.run_with_timeout_signal(lambda x, y: x + y, (1,), {"y": 2}) == 3
    assert math_grader.run_with_timeout_signal(lambda: 1 / 0) is None
    assert math_grader.run_with_timeout_signal(time.sleep, (5,), timeout_seconds=0.05) is None


@pytest.mark.slow
def test_an_outer_time_limit_outlives_an_inner_one():
    def work():
        with math_grader.timeout(0.2, "outer"):
            with math_grader.timeout(10, "inner"):
                pass
            time.sleep(5)

    with pytest.raises(math_grader.TimeoutException, match="outer"):
        work()


def test_functions_have_time_limits_in_other_threads():
    found = []

    def work():
        found.append(math_grader.run_with_timeout_signal(lambda: 3))
        found.append(math_grader.run_with_timeout_signal(time.sleep, (0.5,), timeout_seconds=0.05))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [3, None]


@pytest.mark.slow
def test_programs_are_run():
    assert sandbox.run_python("print(' hi ')", "none") == (True, " hi \n", "")
    assert sandbox.run_python("print(input())", "bwrap", stdin="in") == (True, "in\n", "")
    assert sandbox.run_python("print(floor(pi), Counter('aa'))", "none")[0]
    ok, out, errors = sandbox.run_python("print(1)\n1/0", "none")
    assert (ok, out) == (False, "1\n")
    assert errors.endswith("ZeroDivisionError: division by zero")
    ok, _, errors = sandbox.run_python("while True: pass", "none", timeout=1)
    assert (ok, errors) == (False, "Execution timed out after 1 seconds.")
    ok, _, errors = sandbox.run_python("input()", "none")
    assert "EOFError" in errors
    assert sandbox.run_python("...", "none") == (False, "", "SyntaxError: invalid syntax")
    assert sandbox.run_python("import os; os.write(1, b'\\xff')", "none")[1] == "\ufffd"
    ok, _, errors = sandbox.run_python("x = bytearray(8 << 30)", "none")
    assert not ok
    assert "memory" in errors.lower()
    assert sandbox.subprocess_run("print(3)", ["python"], "none") == (True, "3\n", "")
    with pytest.raises(ValueError, match="sandbox_type is one of"):
        sandbox.run_python("1", "jail")
    assert sandbox.sandbox_id("process") == "process"


def test_constants_and_forbidden_imports_are_those_of_gem_llm():
    assert constants.TERMINAL_STATE == "<\uff5cTERMINAL_STATE\uff5c>"
    assert constants.LanguageGameReward.format_error_reward == -0.1
    assert (sandbox.DEFAULT_TIMEOUT, sandbox.CLI_ARG_SIZE_LIMIT) == (10, 3072)
    assert sandbox.check_forbidden_imports("import  subprocess")
    assert sandbox.check_forbidden_imports("from socket import *")
    assert sandbox.check_forbidden_imports("os.system('x')")
    assert not sandbox.check_forbidden_imports("import socketry, os")


def test_the_texts_of_imports_bring_their_names():
    names = {}
    text = constants.BASE_IMPORTS.replace("import pandas as pd\n", "")  # if it is installed
    exec(text, names)
    wanted = (
        "accumulate chain combinations count permutations product groupby islice repeat "
        "zip_longest cycle pairwise deepcopy ascii_lowercase ascii_uppercase floor log log2 log10 "
        "sqrt comb gcd ceil inf isqrt factorial atan2 pi prod defaultdict deque Counter "
        "OrderedDict heappush heappop heapify merge nlargest nsmallest heapreplace reduce cache "
        "lru_cache cmp_to_key partial randrange shuffle itemgetter sub xor or_ iand re_search "
        "commonprefix List Deque time copy string math collections bisect heapq functools random "
        "itertools operator re datetime sys io os np"
    )
    assert not [name for name in wanted.split() if name not in names]
    assert callable(names["time"])
    assert names["bisect"].__name__ == "bisect"


def test_the_texts_of_exercises_bring_lists_and_trees():
    names = {}
    exec(constants.BASE_LEETCODE_IMPORTS, names)
    values = names["list_node"]([1, 2])
    assert (values.val, values.next.val, values.next.next) == (1, 2, None)
    assert names["list_node"]([]) is None
    assert names["is_same_list"](values, names["list_node"]([1, 2]))
    assert not names["is_same_list"](values, names["list_node"]([1, 2, 3]))
    tree = names["tree_node"]([1, None, 2, 3])
    assert (tree.left, tree.right.val, tree.right.left.val) == (None, 2, 3)
    assert names["tree_node"]([]) is None
    assert names["is_same_tree"](tree, names["tree_node"]([1, None, 2, 3]))
    assert not names["is_same_tree"](tree, names["tree_node"]([1, 2, None, 3]))


def test_global_generators_are_seeded_on_demand():
    drawn = []
    for _ in range(2):
        seeding.set_seed(3)
        drawn.append((random.random(), np.random.rand()))
    assert drawn[0] == drawn[1]
    seeding.set_seed(None)
    generator, seed = seeding.np_random(5)
    assert isinstance(generator, seeding.RNG)
    assert seeding.RandomNumberGenerator is seeding.RNG
    assert seed == 5
    assert generator.random() == seeding.np_random(np.int64(5))[0].random()
    fresh, entropy = seeding.np_random()
    assert fresh.random() == np.random.Generator(np.random.PCG64(entropy)).random()
    for wrong in (-1, "a", 1.5):
        with pytest.raises(ValueError, match="non-negative"):
            seeding.np_random(wrong)
    assert math.isfinite(fresh.random())
