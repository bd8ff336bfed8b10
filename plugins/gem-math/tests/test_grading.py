"""The grader: labelled pairs, properties, and answers written to break it."""

import contextlib
import json
import os
import signal
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_math.grading import grade
from gem_math.grading.allowance import Allowance
from gem_math.grading.errors import UnreadableError
from gem_math.grading.syntax import read
from gem_workers import shared_pool

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent / "grading_pairs.jsonl").read_text().split("\n")
    if line
]
COUNTED = [pair for pair in PAIRS if pair["category"] != "ambiguous" and "overruled" not in pair]
"""The pairs with a label that is neither ambiguous nor overruled by a later convention."""

numbers = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4)
FRAGMENTS = r"""
1 2 12 1,234 0.5 x y e i \pi + - * / ^ _ ( ) [ ] \{ \} { } , ; = < \le \in \cup \frac \sqrt \sqrt[3]
\sin \log_2 ln ! ° % \$ $ \text{cm} \text{or} and m \pm \infty \begin{pmatrix} \end{pmatrix} & \\ :
| ' \binom max 10^ \mathrm{ \left \boxed{ million 0.\overline{3} ... \langle \lfloor \emptyset
\mathbb{R} U \cdot e5 √ ½ ² ٣ \begin{cases} \pmod \hat{i} \det 30' 1011_2 3:45
"""
fragments = st.sampled_from(FRAGMENTS.split())


def test_the_labelled_set_is_large_and_each_category_has_both_labels():
    assert len(COUNTED) >= 400
    labels = {pair["category"]: set() for pair in COUNTED}
    for pair in COUNTED:
        labels[pair["category"]].add(pair["equal"])
    one_sided = {category for category, found in labels.items() if len(found) == 1}
    assert not one_sided


@pytest.mark.slow
def test_accuracy_on_the_labelled_pairs_is_at_least_98_percent_without_false_positives():
    wrong = Counter()
    different = [pair for pair in COUNTED if not pair["equal"]]
    same = [pair for pair in COUNTED if pair["equal"]][:: 1 if thorough() else 2]
    for pair in (*different, *same):
        correct = grade(pair["answer"], pair["gold"]).correct
        if correct != pair["equal"]:
            wrong["false positive" if correct else "false negative"] += 1
    assert wrong["false positive"] == 0
    assert wrong["false negative"] <= 0.02 * (len(different) + len(same))


@pytest.mark.slow
def test_the_forms_of_answers_in_common_datasets_are_understood():
    """Both labels occur for each kind of answer: units, chains, points, lists, words, ..."""
    lines = (Path(__file__).parent / "answer_forms.jsonl").read_text().splitlines()
    pairs = [json.loads(line) for line in lines]
    wrong = [pair for pair in pairs if grade(pair["answer"], pair["gold"]).correct != pair["equal"]]
    assert len(pairs) > 500
    assert not wrong


@pytest.mark.slow
def test_digits_and_degenerate_relations_are_graded_as_reported(subtests):
    lines = (Path(__file__).parent / "edges.jsonl").read_text(encoding="utf-8").splitlines()
    for edge in map(json.loads, lines):
        with subtests.test(f"{edge['answer']} {edge['gold']}"):
            assert grade(edge["answer"], edge["gold"]).correct == edge["equal"]


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        (r"\boxed{3} \boxed{4}", "4"),
        (r"\boxed 42", "42"),
        (r"\fbox{42}", "42"),
        (r"\dfrac{1}{2}", "0.5"),
        ("1,234", "1234"),
        (r"90^\circ", "90 degrees"),
        (r"5\text{ cm}", "5 centimeters"),
        (r"\{2, 1\}", "1, 2"),
        (r"3\times10^8", "300000000"),
        (r"\text{(B)}", "B"),
        (r"[0,1]", r"0 \le x \le 1"),
    ],
)
def test_equivalent_forms_are_correct(answer, gold):
    assert grade(answer, gold).correct


def test_answers_that_differ_or_are_of_another_kind_are_wrong(subtests):
    for answer, gold in [
        ("", "5"),
        (" ", " "),
        (r"\boxed{}", "5"),
        (r"\boxed{5", "5"),
        ("5", ""),
        ("listen", "silent"),
        ("a+b", "c+b"),
        ("2 m", "2 s"),
        ("12", "123"),
        ("1,234", "(1,234)"),
        ("(2, 1)", "(1, 2)"),
        ("[1,2)", "(1,2)"),
        ("0.333", "1/3"),
        (r"\boxed{4} \boxed{3}", "4"),
        ("0.5", r"0.5\%"),
        (r"5\text{ m}", r"5\text{ cm}"),
        (r"5\text{ cm}", r"5\%"),
        ("ab=3", "3"),
    ]:
        with subtests.test(f"{answer} {gold}"):
            assert not grade(answer, gold).correct


def test_any_of_several_golds_is_accepted():
    assert grade("0.5", ["7", r"\frac{1}{2}"]).correct
    assert not grade("0.6", ["7", r"\frac{1}{2}"]).correct
    assert not grade("0.6", []).correct


@pytest.mark.parametrize(
    ("answer", "gold", "decided_by"),
    [
        ("", "5", "empty"),
        ("5", "5", "text"),
        (r"\text{No}", "no", "text"),
        ("0.5", "1/2", "value"),
        (r"\int_0^1 2x\,dx", "1", "algebra"),
        (r"\int_0^1 2x\,dx", "2", "algebra"),
        (r"\int_0^1 ((", r"\sum (", "failure"),
    ],
)
def test_the_verdict_names_the_method_that_decided(answer, gold, decided_by):
    assert grade(answer, gold, deadline=100).decided_by == decided_by


@pytest.mark.slow
@given(numbers)
@settings(max_examples=100 if thorough() else 25)
def test_a_fraction_equals_its_other_forms(value):
    latex = rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    assert grade(latex, f"{value.numerator}/{value.denominator}").correct
    assert grade(f"x = {latex}", latex).correct
    assert grade(rf"\frac{{{2 * value.numerator}}}{{{2 * value.denominator}}}", latex).correct


@pytest.mark.slow
@given(numbers, numbers)
@settings(max_examples=100 if thorough() else 50)
def test_numbers_are_correct_exactly_if_they_are_equal(first, second):
    assert grade(str(first), str(second)).correct == (first == second)


@pytest.mark.slow
@given(st.integers(-(10**12), 10**12))
@settings(max_examples=100 if thorough() else 40)
def test_separators_of_thousands_change_nothing(number):
    for form in (
        f"{number:,}",
        f"{number:,}".replace(",", "{,}"),
        f"{number:,}".replace(",", r"\,"),
    ):
        assert grade(form, str(number)).correct


@pytest.mark.slow
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=5, unique=True), st.randoms())
@settings(max_examples=100 if thorough() else 25)
def test_a_set_has_no_order_and_a_point_has_one(items, rng):
    shuffled = items.copy()
    rng.shuffle(shuffled)
    as_text = [", ".join(map(str, some)) for some in (items, shuffled)]
    assert grade(rf"\{{{as_text[1]}\}}", rf"\{{{as_text[0]}\}}").correct
    assert grade(f"({as_text[1]})", f"({as_text[0]})").correct == (items == shuffled)


@pytest.mark.slow
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=4).filter(any),
    st.integers(1, 5),
)
@settings(max_examples=100 if thorough() else 25)
def test_a_factored_polynomial_equals_its_expansion_and_no_other(roots, scale):
    coefficients = [Fraction(scale)]
    for root in roots:
        shifted = [*coefficients, Fraction(0)]
        for power, coefficient in enumerate(coefficients):
            shifted[power + 1] -= root * coefficient
        coefficients = shifted
    degree = len(roots)
    expanded = "+".join(f"({c})x^{{{degree - power}}}" for power, c in enumerate(coefficients))
    factored = str(scale) + "".join(f"(x-({root}))" for root in roots)
    assert grade(factored, expanded).correct
    assert not grade(f"{factored}+1", expanded).correct


@pytest.mark.slow
@settings(max_examples=300 if thorough() else 60)
@given(st.lists(fragments, max_size=12).map("".join), st.lists(fragments, max_size=8).map("".join))
def test_no_answer_raises_and_every_answer_equals_itself(answer, gold):
    try:
        grade(answer, gold, deadline=0.5)
    finally:
        verdict = grade(answer, answer)
    assert verdict.correct == bool(answer.strip())


@pytest.mark.slow
@settings(max_examples=300 if thorough() else 60)
@given(st.text(max_size=60), st.text(max_size=30))
def test_no_text_makes_grading_raise_an_error(answer, gold):
    grade(answer, gold, deadline=0.5)


@pytest.mark.slow
@given(st.lists(fragments, max_size=14).map("".join))
@settings(max_examples=100 if thorough() else 60)
def test_the_parser_succeeds_or_raises_its_own_errors(text):
    with contextlib.suppress(UnreadableError, RecursionError):
        read(text)


BOMBS = {
    "power": "9**99999999",
    "tower": "10**10**10",
    "latex tower": "10^{10^{10^{10}}}",
    "tower of towers": "9^{9^{9^{9^{9^9}}}}",
    "factorials": "9!!!!!!!!!!",
    "large factorial": "(10^{12})!",
    "braces": "{" * 1_000_000,
    "closed braces": "{" * 2000 + "}" * 2000,
    "fractions": r"\frac{1}{" * 400 + "2" + "}" * 400,
    "roots": r"\sqrt" * 700 + "2",
    "digits": "9" * 100_000,
    "decimals": "0." + "123456789" * 400 + "...",
    "signs": "-" * 3000 + "1",
    "lists": "1," * 2000,
    "binomial": r"\binom{10^{15}}{10^{14}}",
    "boxes": r"\boxed{" * 100_000,
    "exponent": "1e999999999",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_a_huge_expression_is_wrong_and_needs_no_worker(bomb):
    verdict = grade(bomb, "7")
    assert not verdict.correct
    assert verdict.decided_by in {"empty", "text", "value"}


@pytest.mark.slow
def test_an_endless_computation_ends_at_its_deadline_and_affects_no_other_answer():
    bomb = r"\int_0^1 x^{10^{10^{10}}} + \sum_{k=1}^{10^{9}} \sin(k^k) dx"
    verdicts = {}

    def run(name, answer, gold):
        verdicts[name] = grade(answer, gold, deadline=0.7 if name == "bomb" else 60)

    threads = [threading.Thread(target=run, args=("bomb", bomb, "7"))]
    for number in range(6):
        case = (str(number), rf"\int_0^1 {number + 1} x\,dx", rf"\frac{{{number + 1}}}{{2}}")
        threads.append(threading.Thread(target=run, args=case))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not verdicts.pop("bomb").correct
    assert all(verdict.correct for verdict in verdicts.values()), verdicts


ENDLESS = r"\sum_{k=1}^{10^9} \sin(k)^k"
HARD = [ENDLESS.replace("9", str(number)) for number in range(9, 25)]


@pytest.mark.slow
def test_all_alternatives_share_the_time_of_an_answer():
    whole = Allowance(0.5)
    decided = [Allowance(0.2, whole).compare("equal", "1", gold) for gold in HARD]
    assert decided == [(False, "deadline")] * 16
    assert whole.left <= 0
    verdict = grade("1", HARD, deadline=0.2, answer_deadline=0.5)
    assert (verdict.correct, verdict.decided_by) == (False, "deadline")


@pytest.mark.slow
def test_an_alternative_that_needs_no_worker_counts_after_the_time_is_over():
    time = {"deadline": 0.2, "answer_deadline": 0.2}
    assert grade("0.5", [*HARD, r"\frac{1}{2}"], **time).decided_by == "value"
    assert not grade("0.5", [*HARD, r"\int_0^1 x\,dx"], **time).correct


@pytest.mark.slow
def test_time_in_which_a_worker_has_no_processor_does_not_count():
    pool = shared_pool(preload=("gem_math.grading.algebra",), memory_mib=2048)
    pid = pool.call("os:getpid", deadline=60)  # the worker that is used last is used next
    os.kill(pid, signal.SIGSTOP)
    resume = threading.Timer(1.0, os.kill, (pid, signal.SIGCONT))
    resume.start()
    time = Allowance(60.0)
    assert time.compare("equal", r"\int_0^1 3x^2\,dx", "1") == (True, "algebra")
    resume.join()
    assert 0 < 60.0 - time.left < 1.0


@pytest.mark.slow
def test_the_worker_does_not_run_answers_as_python(tmp_path):
    target = tmp_path / "written"
    code = f"__import__('pathlib').Path({str(target)!r}).touch()"
    for answer in (code, rf"\int {code}", rf"\int_0^1 \text{{{code}}} dx"):
        assert not grade(answer, r"\int_0^1 x dx").correct
    assert not target.exists()


def test_one_pool_serves_all_graders_of_a_process():
    grade(r"\int_0^1 x\,dx", "0.5")
    pool = shared_pool(preload=("gem_math.grading.algebra",), memory_mib=2048)
    assert pool is shared_pool(preload=("gem_math.grading.algebra",), memory_mib=2048)
