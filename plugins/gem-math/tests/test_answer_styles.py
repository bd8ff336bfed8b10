"""The styles in which people write one value: units, names, chains, cells, ordinals, points."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_math.grading import grade

whole = st.integers(2, 9999)
small = st.integers(-99, 99)
counted = st.sampled_from(
    r"""
    red balls | students in the class | \text{ students in the class} | of the students | miles away
    \text{ ways to choose a team} | apples for each child | U.S. dollars | \text{ U.S. dollars}
    sq. in. | \text{ cu. ft.} | (cm) | p.m. | miles per hour | /hour | \text{ hours in a week}
    sheets of paper | \text{ units of length}
    """.strip()
    .replace("\n", "|")
    .split("|")
).map(str.strip)
limits = st.sampled_from(
    r"""
    or more apples | apples at least | balls at most | to 20 apples | minus some apples
    times as many | choose two | if it is even | million people | more than before | percent or so
    """.strip()
    .replace("\n", "|")
    .split("|")
).map(str.strip)
prices = st.sampled_from(["", " per week", "/hour", r"\text{ per day}", " profit", " in total"])
currencies = st.sampled_from(
    [r"\$", "$", r"US\$", "USD ", "Rs. ", "INR ", "€", r"\euro ", "£", "¥"]
)


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 30)
@given(whole, counted)
def test_a_number_may_be_followed_by_what_it_counts(number, words):
    answer = f"{number} {words}" if words[0].isalpha() or words[0] == "(" else f"{number}{words}"
    assert grade(answer, f"{number}").correct
    assert not grade(answer, f"{number + 1}").correct
    assert not grade(answer, rf"{number}\text{{ pencils}}").correct


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 30)
@given(whole, limits)
def test_words_that_change_a_number_are_not_what_it_counts(number, words):
    assert not grade(f"{number} {words}", f"{number}").correct
    assert not grade(rf"{number}\text{{ {words}}}", f"{number}").correct


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 40)
@given(currencies, whole, prices)
def test_a_price_may_have_any_currency_and_a_rate(currency, number, rate):
    answer = f"{currency}{number}{rate}"
    assert grade(answer, f"{number}").correct
    assert not grade(answer, f"{number + 1}").correct
    assert not grade(answer, rf"{number}\text{{ cents}}").correct


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        (r"\$5", r"\$5 profit", True),
        (r"\$5", r"5 USD", True),
        (r"\$5", "€5", False),
        (r"\$5", r"\$5 per week", False),
        (r"\$7\text{ per week}", r"\$1\text{ per day}", True),
        (r"\$5\text{ per hour}", r"\$5/hour", True),
        (r"5\text{ apples}", "5 apples in the basket", True),
        (r"5\text{ apples}", "5 red balls", False),
        (r"12\text{ sq in}", r"12\text{ in}^2", True),
        (r"12\text{ sq in}", r"12\text{ in}", False),
        ("12", "3 pi radians", False),
    ],
)
def test_units_with_details_are_compared_by_what_they_measure(gold, answer, right):
    assert grade(answer, gold).correct is right


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(small, st.sampled_from(["x", "n", r"\theta", "a_1"]), small)
def test_a_value_may_stand_before_its_name(number, name, other):
    assert grade(f"{number}={name}", f"{number}").correct
    assert grade(f"{number}={name}", f"{name}={number}").correct
    assert not grade(f"{number}={name}+{abs(other) + 1}", f"{number}").correct
    assert grade(f"{other}={name}", f"{number}").correct == (number == other)


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 50)
@given(
    whole,
    st.sampled_from(
        [
            r"\frac{m}{n}",
            r"\frac{AB}{CD}",
            r"\frac{a+b}{2}",
            r"(a+b)^2",
            r"|AB|^2",
            r"\sin^2 A",
            r"\triangle ABC",
            r"\text{Area of the triangle }ABC",
            r"\therefore n",
            r"[ABC]",
        ]
    ),
    st.sampled_from([r"\frac{x}{y}", r"\frac{a}{2}", "a^2", "(x-1)^2", r"\sin^2 x", "xy", "2n"]),
)
def test_a_description_names_a_value_and_an_equation_does_not(number, description, equation):
    assert grade(f"{description}={number}", f"{number}").correct
    assert grade(f"{description}={number - 1}+1={number}", f"{number}").correct
    assert not grade(f"{description}={number + 1}={number}", f"{number}").correct
    assert not grade(f"{equation}={number}", f"{number}").correct


@pytest.mark.slow
@settings(max_examples=10 if thorough() else 3)
@given(st.integers(2, 9), small)
def test_a_chain_of_sums_counts_if_each_side_is_the_value(top, wrong):
    total = top * (top + 1) // 2
    assume(wrong != total)
    chain = rf"\sum_{{k=1}}^{{{top}}} k"
    assert grade(f"{chain}={total}", f"{total}", deadline=100).correct
    assert grade(f"S={chain}={total - 1}+1={total}", f"{total}", deadline=100).correct
    assert not grade(f"{chain}={wrong}", f"{wrong}", deadline=100).correct
    assert not grade(f"{chain}={wrong}={total}", f"{total}", deadline=100).correct
    assert not grade(f"{chain}={total}", f"x={wrong}", deadline=100).correct


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(
    small,
    st.sampled_from(
        [
            r"\begin{cases}%s\end{cases}",
            r"\begin{tabular}{c}%s\end{tabular}",
            r"\begin{aligned}[t]%s\end{aligned}",
            r"\begin{array}[b]{c}%s\end{array}",
            r"\begin{aligned}&%s\\\end{aligned}",
            r"\bold{%s}",
            r"x^2=9\Rightarrow x=%s",
            r"2x=1\implies x=%s",
            r"\therefore x=%s",
        ]
    ),
)
def test_a_value_in_a_cell_or_after_a_conclusion_is_the_value(number, form):
    assert grade(form % number, f"{number}").correct
    assert not grade(form % number, f"{number + 1}").correct


ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
"""


def test_an_ordinal_is_its_number(subtests):
    for number, word in [*enumerate(ORDINALS.split(), 1)]:
        with subtests.test(word):
            marks = {1: "st", 2: "nd", 3: "rd"}
            gold = f"{number}{marks.get(number, 'th')}"
            for answer in (word, rf"\text{{{word}}}", f"{number}-{marks.get(number, 'th')}"):
                assert grade(answer, gold).correct
                assert grade(answer, f"{number}").correct
                assert not grade(answer, f"{number + 1}").correct


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("23", "twenty-third", True),
        ("20", "twentieth", True),
        (r"\frac{1}{3}", "third", False),
        (r"\frac{1}{3}", "one third", True),
        (r"\text{third}", "3rd", True),
    ],
)
def test_ordinals_are_not_fractions(gold, answer, right):
    assert grade(answer, gold).correct is right


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 8)
@given(small, small)
def test_a_point_is_written_in_many_ways_but_keeps_its_order(a, b):
    assume(a != b)
    ways = [
        f"(x={a}, y={b})",
        rf"x={a},\quad y={b}",
        rf"x={a}\\y={b}",
        rf"\begin{{pmatrix}}{a}\\{b}\end{{pmatrix}}",
        rf"\begin{{bmatrix}}{a}&{b}\end{{bmatrix}}",
        rf"({a},{b})^T",
        rf"\langle {a},{b}\rangle",
        rf"{a}\mathbf{{i}}+({b})\mathbf{{j}}",
    ]
    column = ways[3]
    for way in ways:
        assert grade(way, f"({a},{b})").correct
        assert not grade(way, f"({b},{a})").correct
    for way in [*ways[:4], *ways[5:]]:
        assert grade(way, column).correct
    for other in (ways[4], f"[{a},{b}]", f"{a},{b}", rf"\{{{a},{b}\}}", f"{a}"):
        assert not grade(other, column).correct


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 12)
@given(small, small, small, small)
def test_several_points_may_be_written_by_names(a, b, c, d):
    assume((a, b) != (c, d) and b != d)
    gold = f"({a},{b}),({c},{d})"
    assert grade(rf"x={a},y={b}\text{{ or }}x={c},y={d}", gold).correct
    assert grade(rf"x={c},y={d};\ x={a},y={b}", gold).correct
    assert not grade(rf"x={a},y={d}\text{{ or }}x={c},y={b}", gold).correct or a == c
    assert not grade(f"x={a},x={c},y={b},y={d}", gold).correct
    assert grade(rf"\pm({a},{b})", f"({a},{b}),({-a},{-b})").correct


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 20)
@given(small, st.integers(1, 9), st.integers(2, 5), st.integers(2, 5))
def test_terms_before_dots_may_be_few_or_many(first, step, few, many):
    def terms(count, by):
        return ", ".join(str(first + by * number) for number in range(count))

    gold = rf"{terms(few, step)}, \ldots, n"
    assert grade(rf"{terms(many, step)}, \ldots, n", gold).correct
    assert not grade(rf"{terms(many, step + 1)}, \ldots, n", gold).correct
    assert not grade(rf"{terms(many, step)}, \ldots, m", gold).correct
    assert not grade(terms(many, step), gold).correct


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        (r"(0,\infty)", r"\mathbb{R}^+", True),
        (r"(0,\infty)", r"\mathbb{R}_{>0}", True),
        (r"(-\infty,0)", r"\mathbb{R}^-", True),
        (r"[0,\infty)", r"\mathbb{R}^+", False),
        (r"x\ne 0", r"\mathbb{R}-\{0\}", True),
        (r"x\ne 1", r"\mathbb{R}-\{0\}", False),
        (r"2\text{ hours}", r"120\text{ min.}", True),
        (r"\min(1,2)", r"\text{min}(1,2)", True),
        (r"20\%", r"20\text{ percentage points}", True),
        ("12", r"12\text{ yr. old}", True),
    ],
)
def test_other_notations_of_sets_and_units_are_understood(gold, answer, right):
    assert grade(answer, gold).correct is right


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(st.lists(st.integers(0, 99), min_size=2, max_size=5), st.integers(100, 999))
def test_a_list_without_spaces_has_no_thousands(numbers, large):
    gold = ", ".join(map(str, [*numbers, large]))
    assert grade(",".join(map(str, [*numbers, large])), gold).correct
    assert not grade(",".join(map(str, [*numbers, large + 1])), gold).correct
