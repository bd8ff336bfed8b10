"""Exact match and F1: which answers count as the same."""

import re
import string
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_qa.scoring import exact_match, f1, normalize_answer, unformatted

few = settings(max_examples=100 if thorough() else 25)

PIECES = ["a", "an", "the", "The", "A", "no", "yes", "b", "b"]
PIECES += ["1.5", "-", "15", "(", "\u2019", "1,234"]
ANSWERS = st.one_of(
    st.text(max_size=12),
    st.lists(st.sampled_from(PIECES), max_size=4).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
)
ASCII = st.text(st.characters(codec="ascii"), max_size=30)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  A-Team, an (ok)!", "ateam ok"),
        ("  Theatre of\tthe absurd\n", "theatre of absurd"),
        ("a the an", ""),
        ("U.S.A.", "usa"),
        ("rock 'n' roll", "rock n roll"),
        ("Müller", "müller"),
    ],
)
def test_normalisation_removes_case_punctuation_articles_and_spaces(text, normal):
    assert normalize_answer(text) == normal


@pytest.mark.slow
@few
@given(ASCII)
@example("b\0a\0the")
def test_ascii_text_is_normalised_as_in_squad(text):
    kept = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    pieces = re.split(r"(\W+)", kept)
    words = [" " if piece in {"a", "an", "the"} else piece for piece in pieces]
    assert normalize_answer(text) == " ".join("".join(words).split())


@pytest.mark.slow
@few
@given(ANSWERS)
@example("e-\u0301")
@example("\u037e\u1fef")
@example("\u0130A")
def test_normalising_twice_changes_nothing(text):
    assert normalize_answer(normalize_answer(text)) == normalize_answer(text)


def test_typed_and_typeset_text_match(subtests):
    for typed, typeset in [
        ("Hallowe'en", "Hallowe\u2019en"),
        ('"Yes"', "\u201cYes\u201d"),
        ("1914-1918", "1914\u20131918"),
        ("-5", "\u22125"),
        ("and so on...", "and so on\u2026"),
        ("caf\u00e9", "cafe\u0301"),
        ("New York", "New\u00a0York"),
        ("cooperation", "co\u00adoperation"),
    ]:
        with subtests.test(typed=typed, typeset=typeset):
            assert exact_match(typed, [typeset])
            assert exact_match(typeset, [typed])


def test_answers_that_match(subtests):
    for answer, gold in (
        ("C++", "c++."),
        ("(A+)", "a+"),
        ("A-", "A\u2212"),
        ("the A-Team", "ateam"),
        ("1914-1918", "1914 \u2013 1918"),
        ("-5 degrees", "\u22125 degrees"),
        ("1,234,567 km", "1234567 km"),
        ("1 / 2", "1/2"),
        (".5", "0.5"),
        ("15%", "15"),
        ("**Paris** -", "- Paris"),
        ("well-known", "wellknown"),
        ("the Beatles", "Beatles"),
        ("PARIS.", "Paris"),
        ("A", "A"),
        ("the the", "The The"),
        ("+", "+"),
        ("1,234", "1234"),
        ("5", "5.0"),
        ("1990.", "1990"),
        ("$5", "5"),
        ("True", "True"),
    ):
        with subtests.test(answer=answer, gold=gold):
            assert exact_match(answer, [gold])


def test_answers_that_do_not_match(subtests):
    for answer, gold in (
        ("C", "C++"),
        ("C#", "C++"),
        ("A-", "A+"),
        ("A", "A-"),
        ("AB-", "AB+"),
        ("12", "1/2"),
        ("5 degrees", "-5 degrees"),
        ("-$5 fee", "$5 fee"),
        ("1.5 kg", "15 kg"),
        ("2:1", "21"),
        ("10^2", "102"),
        ("1+1", "11"),
        ("5", ".5"),
        ("1990", "1990+"),
        ("three", "3"),
        ("Beyonc\u00e9", "Beyonce"),
        ("a", "the"),
        ("", ""),
        ("", "The"),
        (" ", "\n"),
        ("the", "The The"),
        ("+", "-"),
        ("1.5", "15"),
        ("-5", "5"),
        ("1.234", "1,234"),
        ("007", "7"),
        ("10\u00b2", "102"),
        ("Paris, France", "Paris"),
        ("Pari", "Paris"),
        ("not true", "true"),
    ):
        with subtests.test(answer=answer, gold=gold):
            assert not exact_match(answer, [gold])


def test_number_words_percent_and_accents_are_read_where_it_is_asked_for(subtests):
    for answer, gold in (
        ("15 percent", "15%"),
        ("15 per cent", "15"),
        ("three", "3"),
        ("Forty-six", "46"),
        ("two hundred and five", "205"),
        ("one thousand two hundred", "1,200"),
        ("three million", "3,000,000"),
        ("nineteen eighty four", "Nineteen Eighty-Four"),
        ("Formula One", "Formula 1"),
        ("minus 5", "-5"),
        ("Minus five degrees", "\u22125 degrees"),
        ("negative 0.5", "-.5"),
        ("10 minus 5", "10-5"),
        ("Beyonc\u00e9", "Beyonce"),
    ):
        with subtests.test(answer=answer, gold=gold):
            assert exact_match(answer, [gold], "meaning")
            assert exact_match(gold, [answer], "meaning")
            assert f1(answer, [gold], "meaning") == 1.0
    for answer, gold in (
        ("C", "C++"),
        ("three", "13"),
        ("minus 5", "5"),
        ("nineteen eighty four", "103"),
    ):
        with subtests.test(answer=answer, gold=gold):
            assert not exact_match(answer, [gold], "meaning")


def test_the_normalisation_of_squad_is_an_option():
    for answer, gold in (("C", "C++"), ("12", "1/2"), ("1.5", "15"), ("5 degrees", "-5 degrees")):
        assert exact_match(answer, [gold], "squad")
    for answer, gold in (("a", "the"), ("", ""), ("three", "3"), ("5.0", "5")):
        assert not exact_match(answer, [gold], "squad")


@pytest.mark.parametrize("answer", [r"C\#", r"\text{C}\#", r"\text{C\#}", r"{\texttt{C#}}"])
def test_latex_hides_no_sign(answer):
    assert exact_match(unformatted(answer), ["C#"])
    assert not exact_match(unformatted(answer), ["C"])


def test_an_environment_compares_as_it_is_told():
    row = {"question": "Which language?", "answer": "C++"}
    for compare, reward in (("text", 0.0), ("meaning", 0.0), ("squad", 1.0)):
        env = gem_core.make("qa:Custom", data=[row], compare=compare)
        env.reset(seed=0)
        assert env.step("<answer>C</answer>").reward == reward
    with pytest.raises(ConfigError, match="compare must be one of text, meaning, squad"):
        gem_core.make("qa:Custom", data=[row], compare="squat")


def test_a_registered_grader_compares_as_it_is_told(subtests):
    row = {"problem": "What is 2 - 7?", "answer": "-5"}
    for grader in ("exact-match", "f1"):
        for compare, correct in (("text", False), ("meaning", True), ("squad", False)):
            with subtests.test(grader=grader, compare=compare):
                options = {"id": grader, "compare": compare}
                env = gem_core.make("math:Custom", data=[row], grader=options)
                env.reset(seed=0)
                assert env.step(r"\boxed{minus 5}").info["correct"] == correct
        with pytest.raises(ConfigError, match="compare must be one of text, meaning, squad"):
            gem_core.make("math:Custom", data=[row], grader={"id": grader, "compare": "squat"})


def test_any_gold_may_match_and_without_golds_nothing_matches():
    assert exact_match("the Danube", ["River Danube", "Danube"])
    assert not exact_match("Danube", [])
    assert f1("Danube", []) == 0.0


@few
@given(ANSWERS, ANSWERS)
def test_both_scores_are_symmetric(first, second):
    assert exact_match(first, [second]) == exact_match(second, [first])
    assert f1(first, [second]) == f1(second, [first])


@few
@given(ANSWERS, st.lists(ANSWERS, max_size=3))
def test_f1_is_between_0_and_1_and_1_for_an_exact_match(answer, golds):
    assert 0.0 <= f1(answer, golds) <= 1.0
    if exact_match(answer, golds):
        assert f1(answer, golds) == 1.0


@pytest.mark.slow
@few
@given(st.text(min_size=1, max_size=12).filter(str.strip))
def test_every_text_with_content_matches_itself(text):
    assert exact_match(text, [text])
    assert exact_match(f"  {text}\n", [text])


@few
@given(*[st.lists(st.sampled_from("bcdefg"), min_size=1, max_size=6)] * 2)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(answer, gold):
    shared = sum((Counter(answer) & Counter(gold)).values())
    precision, recall = shared / len(answer), shared / len(gold)
    expected = 2 * precision * recall / (precision + recall) if shared else 0.0
    assert f1(" ".join(answer), [" ".join(gold)]) == pytest.approx(expected)


def test_f1_takes_the_best_gold():
    assert f1("Johann Sebastian Bach", ["Mozart", "Bach", "J. S. Bach"]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("answer", "gold"), [("no, not yet", "no"), ("yes", "yes indeed"), ("1.5", "15")]
)
def test_a_wrong_yes_no_or_number_scores_0(answer, gold):
    assert f1(answer, [gold]) == 0.0
