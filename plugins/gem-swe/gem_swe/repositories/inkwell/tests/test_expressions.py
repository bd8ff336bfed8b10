from collections.abc import Callable
from datetime import date

from inkwell import Template


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def shown(expression: str, **values: object) -> str:
    return Template("{{ " + expression + " }}", autoescape=False).render(**values)


def failure(expression: str, **values: object) -> str:
    return raised(lambda: shown(expression, **values))


def test_multiplication_binds_tighter_than_addition() -> None:
    assert shown("2 + 3 * 4") == "14"
    assert shown("2 * 3 + 4") == "10"
    assert shown("(2 + 3) * 4") == "20"
    assert shown("20 - 6 / 2") == "17"


def test_operators_of_one_level_group_from_the_left() -> None:
    assert shown("10 - 4 - 3") == "3"
    assert shown("24 / 4 * 2") == "12"
    assert shown("17 % 10 // 2") == "3"
    assert shown("10 - (4 - 3)") == "9"


def test_a_minus_sign_binds_tighter_than_multiplication() -> None:
    assert shown("-7 // 2") == "-4"
    assert shown("3 * -2 + 1") == "-5"
    assert shown("- -x", x=5) == "5"
    assert shown("-x.y", x={"y": 3}) == "-3"


def test_division_gives_fractions_and_double_slash_whole_numbers() -> None:
    assert shown("7 / 2") == "3.5"
    assert shown("7 // 2") == "3"
    assert shown("7 % 4") == "3"
    assert shown("6 / 3") == "2"


def test_division_by_zero_is_an_error() -> None:
    assert failure("1 / x", x=0) == "OperationError"
    assert failure("1 // x", x=0) == "OperationError"
    assert failure("1 % x", x=0) == "OperationError"
    assert shown("x * 5 - x", x=0) == "0"
    assert shown("4 / x ~ 4 % x ~ 4 // x", x=1) == "404"


def test_plus_joins_two_texts() -> None:
    assert shown("'ink' + 'well'") == "inkwell"
    assert shown("a + b + 'z'", a="x", b="y") == "xyz"
    assert failure("'a' + 1") == "OperationError"
    assert failure("1 + 'a'") == "OperationError"


def test_a_tilde_joins_any_two_values() -> None:
    assert shown("1 ~ 'st'") == "1st"
    assert shown("'<' ~ none ~ true ~ '>'") == "<true>"
    assert shown("1 + 2 ~ 3") == "33"


def test_calculations_need_numbers() -> None:
    assert failure("'a' * 2") == "OperationError"
    assert failure("2 - none") == "OperationError"
    assert failure("'b' - 'a'") == "OperationError"
    assert failure("true + 1") == "OperationError"
    assert shown("x - y", x=2.5, y=1) == "1.5"


def test_comparisons_of_numbers_at_the_border() -> None:
    assert [shown(f"{n} < 3") for n in (2, 3, 4)] == ["true", "false", "false"]
    assert [shown(f"{n} <= 3") for n in (2, 3, 4)] == ["true", "true", "false"]
    assert [shown(f"{n} > 3") for n in (2, 3, 4)] == ["false", "false", "true"]
    assert [shown(f"{n} >= 3") for n in (2, 3, 4)] == ["false", "true", "true"]


def test_texts_are_compared_by_their_characters() -> None:
    assert shown("'abc' < 'abd'") == "true"
    assert shown("'b' <= 'a'") == "false"
    assert failure("'1' < 2") == "OperationError"
    assert failure("1 > '2'") == "OperationError"
    assert failure("none < 1") == "OperationError"


def test_any_two_values_can_be_tested_for_equality() -> None:
    assert shown("'1' == 1") == "false"
    assert shown("'1' != 1") == "true"
    assert shown("x == [1, 2]", x=[1, 2]) == "true"
    assert shown("none != none") == "false"


def test_comparison_binds_looser_than_addition() -> None:
    assert shown("1 + 1 < 3") == "true"
    assert shown("3 == 1 + 2") == "true"
    assert shown("2 in [1] or 2 > 1 + 1") == "false"


def test_not_binds_looser_than_comparison_and_tighter_than_and() -> None:
    assert shown("not 1 == 2") == "true"
    assert shown("not 3 in [1, 2]") == "true"
    assert shown("not false and false") == "false"
    assert shown("not not 'x'") == "true"


def test_and_binds_tighter_than_or() -> None:
    assert shown("true or false and false") == "true"
    assert shown("(true or false) and false") == "false"
    assert shown("false and false or true") == "true"


def test_and_gives_the_first_falsy_value_or_the_last() -> None:
    assert shown("3 and 5") == "5"
    assert shown("0 and 5") == "0"
    assert shown("3 and ''") == ""
    assert shown("1 and 2 and 3") == "3"


def test_or_gives_the_first_truthy_value_or_the_last() -> None:
    assert shown("3 or 5") == "3"
    assert shown("0 or 5") == "5"
    assert shown("'' or 0") == "0"
    assert shown("none or [] or 'c'") == "c"


def test_the_right_side_is_evaluated_only_when_needed() -> None:
    assert shown("0 and missing") == "0"
    assert shown("1 or missing") == "1"
    assert failure("1 and missing") == "UndefinedError"
    assert failure("0 or missing") == "UndefinedError"


def test_in_looks_into_lists_texts_and_keys() -> None:
    assert shown("2 in [1, 2]") == "true"
    assert shown("'ell' in 'inkwell'") == "true"
    assert shown("'a' in x", x={"a": 0}) == "true"
    assert shown("0 in x", x={"a": 0}) == "false"
    assert shown("'z' in x", x=("y", "zz")) == "false"


def test_in_needs_something_to_look_into() -> None:
    assert failure("1 in 12") == "OperationError"
    assert failure("'a' in none") == "OperationError"
    assert shown("1 in '12'") == "false"


def test_in_finds_a_text_only_in_one_piece() -> None:
    assert shown("'we' in 'inkwell'") == "true"
    assert shown("'ik' in 'inkwell'") == "false"
    assert shown("'inkwells' in 'inkwell'") == "false"
    assert shown("'' in 'ink'") == "true"


def test_a_point_reads_entries_and_attributes() -> None:
    assert shown("x.year", x=date(2024, 2, 29)) == "2024"
    assert shown("x.a.b", x={"a": {"b": "deep"}}) == "deep"
    assert shown("x.items", x={"items": 4}) == "4"
    assert shown("x._id", x={"_id": 9}) == "9"


def test_attributes_that_are_private_or_callable_do_not_exist() -> None:
    assert failure("x.__class__", x=date(2024, 1, 1)) == "UndefinedError"
    assert failure("x.isoformat", x=date(2024, 1, 1)) == "UndefinedError"
    assert failure("x.upper", x="text") == "UndefinedError"
    assert failure("x.__doc__", x=5) == "UndefinedError"


def test_missing_entries_and_attributes_are_undefined() -> None:
    assert failure("x.b", x={"a": 1}) == "UndefinedError"
    assert failure("x['b']", x={"a": 1}) == "UndefinedError"
    assert failure("x.century", x=date(2024, 1, 1)) == "UndefinedError"
    assert failure("x[0]", x=date(2024, 1, 1)) == "UndefinedError"
    assert failure("x.a", x=None) == "UndefinedError"


def test_an_index_reads_items_from_either_end() -> None:
    assert shown("x[0] ~ x[2]", x=["a", "b", "c"]) == "ac"
    assert shown("x[-1] ~ x[-3]", x=("a", "b", "c")) == "ca"
    assert shown("'word'[1]") == "o"
    assert shown("x[i + 1][0]", x=[[5], [6], [7]], i=1) == "7"


def test_an_index_outside_is_undefined() -> None:
    assert failure("x[2]", x=[1, 2]) == "UndefinedError"
    assert failure("x[-3]", x=[1, 2]) == "UndefinedError"
    assert failure("x['0']", x=[1, 2]) == "UndefinedError"
    assert shown("x[-2]", x=[1, 2]) == "1"


def test_a_mapping_is_read_with_any_key() -> None:
    assert shown("x[3]", x={3: "three"}) == "three"
    assert shown("x[k]", x={"a b": 1}, k="a b") == "1"
    assert shown("x['']", x={"": 2}) == "2"


def test_literals() -> None:
    assert shown("1.50") == "1.5"
    assert shown("'a' ~ \"b\"") == "ab"
    assert shown("true ~ false ~ none") == "truefalse"
    assert shown("[1, 'x', [2.0]]") == "1, x, 2"
    assert shown("[]") == ""


def test_values_are_shown_as_text() -> None:
    assert shown("x", x=2.0) == "2"
    assert shown("x", x=-0.25) == "-0.25"
    assert shown("x", x=[1, None, True]) == "1, , true"
    assert shown("x", x=date(2024, 2, 29)) == "2024-02-29"
    assert shown("x", x=("a", 3.0)) == "a, 3"


def test_filters_bind_tighter_than_operators() -> None:
    assert shown("'a' + 'b' | upper") == "aB"
    assert shown("('a' + 'b') | upper") == "AB"
    assert shown("-x | round", x=2.5) == "-3"
    assert shown("x | length + 1", x="abc") == "4"
