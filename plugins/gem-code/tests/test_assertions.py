"""Assertions are split into an expression for the sandbox and a value that stays outside."""

import pytest

from gem_code.assertions import read_assertions


@pytest.mark.parametrize(
    ("source", "expression", "gold"),
    [
        ("assert f(2) == 4", "f(2)", 4),
        ("assert 4 == f(2)", "f(2)", 4),
        ("assert f('a', [1]) == {'a': (1, -2.5)}, 'wrong'", "f('a', [1])", {"a": (1, -2.5)}),
        ("assert f(1) == f(2)", "bool(f(1) == f(2))", True),
        ("assert f(1)", "bool(f(1))", True),
        ("assert not f(1)", "bool(not f(1))", True),
        ("assert abs(f(1) - 2) < 0.1", "bool(abs(f(1) - 2) < 0.1)", True),
        ("assert 1 == f(1) == 2", "bool(1 == f(1) == 2)", True),
    ],
)
def test_an_assertion_is_split_into_expression_and_value(source, expression, gold):
    assert read_assertions([source]) == [("", expression, gold)]


def test_statements_before_an_assertion_are_its_setup():
    found = read_assertions(["import math\nassert f(1) == 2\nx = 3", "assert f(x) == 4"])
    assert found == [("import math", "f(1)", 2), ("import math\nx = 3", "f(x)", 4)]


def test_test_functions_are_tests():
    source = "from solution import f\n\ndef helper():\n    return 1\n\ndef test_one():\n"
    (found,) = read_assertions([source + "    assert f(helper()) == 2\n"])
    assert found.expression == "(test_one(), True)[1]"
    assert "def helper" in found.setup
    assert found.gold is True


def test_a_function_named_check_is_called_with_the_function():
    source = "def check(candidate):\n    assert candidate(1) == 2"
    (found,) = read_assertions([source], "f")
    assert (found.expression, found.gold) == ("(check(f), True)[1]", True)


def test_any_other_program_is_one_test():
    (found,) = read_assertions(["for n in range(3):\n    assert f(n) == n"])
    assert (found.expression, found.gold) == ("True", True)
    assert "for n in range(3)" in found.setup
