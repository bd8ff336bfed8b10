from collections.abc import Callable

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


def test_upper_works_on_the_text_of_any_value() -> None:
    assert shown("'ink Well' | upper") == "INK WELL"
    assert shown("true | upper") == "TRUE"
    assert shown("none | upper") == ""


def test_title_capitalizes_each_word() -> None:
    assert shown("'the OLD man' | title") == "The Old Man"
    assert shown("'  two\n\twords ' | title") == "Two Words"
    assert shown("\"it's o'clock\" | title") == "It's O'clock"
    assert shown("'a' | title") == "A"


def test_default_replaces_none_and_undefined_names() -> None:
    assert shown("x | default('-')", x=None) == "-"
    assert shown("x | default('-')") == "-"
    assert shown("x.y.z | default(0)", x={}) == "0"
    assert shown("x | default('-')", x="given") == "given"
    assert shown("[x | default]") == ""


def test_default_replaces_falsy_values_only_on_demand() -> None:
    assert shown("x | default('-')", x=0) == "0"
    assert shown("x | default('-')", x="") == ""
    assert shown("x | default('-', true)", x=0) == "-"
    assert shown("x | default('-', true)", x=[]) == "-"
    assert shown("x | default('-', true)", x=5) == "5"


def test_no_other_filter_takes_undefined_names() -> None:
    assert failure("x | upper") == "UndefinedError"
    assert failure("x | length | default(1)", x=None) == "FilterError"
    assert failure("x | default(y)") == "UndefinedError"
    assert shown("x | upper | default(1)") == "1"


def test_length_counts_characters_items_and_entries() -> None:
    assert shown("'four' | length") == "4"
    assert shown("x | length", x=[1, 2, 3]) == "3"
    assert shown("x | length", x={"a": 1, "b": 2}) == "2"
    assert failure("12 | length") == "FilterError"
    assert failure("none | length") == "FilterError"


def test_join_puts_a_separator_between_items() -> None:
    assert shown("x | join", x=["a", "b"]) == "ab"
    assert shown("x | join(', ')", x=["a", 2, 3.0]) == "a, 2, 3"
    assert shown("x | join('-')", x=("z",)) == "z"
    assert shown("x | join('-')", x=[]) == ""


def test_join_can_put_another_separator_before_the_last_item() -> None:
    assert shown("x | join(', ', ' and ')", x=[1, 2, 3, 4]) == "1, 2, 3 and 4"
    assert shown("x | join(', ', ' and ')", x=[1, 2]) == "1 and 2"
    assert shown("x | join(', ', ' and ')", x=[1]) == "1"
    assert shown("x | join(', ', '')", x=["a", "b", "c"]) == "a, bc"


def test_join_needs_a_list() -> None:
    assert failure("'abc' | join('-')") == "FilterError"
    assert failure("7 | join") == "FilterError"
    assert failure("x | join", x={"a": 1}) == "FilterError"


def test_round_goes_away_from_zero_at_the_half() -> None:
    assert [shown("x | round", x=x) for x in (0.4, 0.5, 1.5, 2.5)] == ["0", "1", "2", "3"]
    assert [shown("x | round", x=x) for x in (-0.4, -0.5, -2.5)] == ["0", "-1", "-3"]
    assert shown("1.005 | round(2)") == "1.01"
    assert shown("2.344 | round(2)") == "2.34"


def test_round_gives_whole_numbers_without_digits() -> None:
    kind = {"kind": lambda value: type(value).__name__}
    assert Template("{{ 2.7 | round | kind }}", filters=kind).render() == "int"
    assert Template("{{ 2.7 | round(1) | kind }}", filters=kind).render() == "float"
    assert shown("1234 | round(-2)") == "1200"
    assert shown("1250 | round(-2)") == "1300"
    assert shown("3.14159 | round(1)") == "3.1"


def test_round_takes_numbers_only() -> None:
    assert failure("'2.5' | round") == "FilterError"
    assert failure("true | round") == "FilterError"
    assert failure("2.5 | round('1')") == "FilterError"


def test_pluralize_is_plural_for_all_numbers_but_one() -> None:
    template = Template("{{ n }} cat{{ n | pluralize }}")
    assert [template.render(n=n) for n in (0, 1, 2)] == ["0 cats", "1 cat", "2 cats"]
    assert shown("1.0 | pluralize('y', 'ies')") == "y"
    assert shown("x | pluralize", x=-1) == "s"
    assert shown("2 | pluralize('y')") == "s"
    assert shown("3 | pluralize('y', 'ies')") == "ies"


def test_pluralize_counts_the_items_of_a_list() -> None:
    assert shown("x | pluralize('is', 'are')", x=["a"]) == "is"
    assert shown("x | pluralize('is', 'are')", x=["a", "b"]) == "are"
    assert shown("x | pluralize('is', 'are')", x=[]) == "are"
    assert failure("true | pluralize") == "FilterError"


def test_truncate_leaves_short_texts_alone() -> None:
    assert shown("'one two three' | truncate(13)") == "one two three"
    assert shown("'one two three' | truncate(20)") == "one two three"
    assert shown("'' | truncate(0)") == ""
    assert shown("x | truncate", x="a" * 30) == "a" * 30


def test_truncate_cuts_after_the_last_word_that_fits() -> None:
    assert shown("'one two three' | truncate(12)") == "one two..."
    assert shown("'one two three' | truncate(10)") == "one two..."
    assert shown("'one two three' | truncate(9)") == "one..."
    assert shown("'one two three' | truncate(8, '+')") == "one two+"
    assert shown("'one  two three' | truncate(8, '')") == "one  two"


def test_truncate_never_leaves_spaces_before_its_end() -> None:
    assert shown("'ab  cd ef' | truncate(6, '.')") == "ab."
    assert shown("'ab  cdefg' | truncate(4, '.')") == "ab."
    assert shown("'a bc def' | truncate(5, '~')") == "a bc~"


def test_truncate_cuts_a_first_word_that_is_too_long() -> None:
    assert shown("'extraordinary' | truncate(8)") == "extra..."
    assert shown("'extraordinary' | truncate(4)") == "e..."
    assert shown("'extraordinary' | truncate(3, '')") == "ext"
    assert shown("x | truncate", x="a" * 31) == "a" * 27 + "..."


def test_truncate_needs_room_for_one_character() -> None:
    assert failure("'abcdef' | truncate(3)") == "FilterError"
    assert failure("'abcdef' | truncate(1, '..')") == "FilterError"
    assert failure("'abcdef' | truncate(0, '')") == "FilterError"
    assert shown("'abcdef' | truncate(1, '')") == "a"


def test_indent_leaves_the_first_line_alone() -> None:
    assert shown("x | indent", x="a\nb\nc") == "a\n    b\n    c"
    assert shown("x | indent(2)", x="a\nb") == "a\n  b"
    assert shown("x | indent(3)", x="one") == "one"


def test_indent_takes_the_first_line_on_demand() -> None:
    assert shown("x | indent(1, true)", x="a\nb") == " a\n b"
    assert shown("x | indent(2, true)", x="a\n b") == "  a\n   b"
    assert shown("x | indent(2, false)", x="a\nb") == "a\n  b"


def test_indent_skips_blank_lines() -> None:
    assert shown("x | indent(2)", x="a\n\nb\n") == "a\n\n  b\n"
    assert shown("x | indent(2, true)", x="\n \nb") == "\n \n  b"


def test_filters_can_be_chained() -> None:
    assert shown("x | join(' ') | title | truncate(7, '')", x=["ab", "cd", "ef"]) == "Ab Cd"
    assert shown("'abc' | upper | length") == "3"
    assert shown("x[0] | upper ~ x[1]", x=["a", "b"]) == "Ab"
    assert shown("(x | default([7]))[0]") == "7"


def test_own_filters_get_the_value_and_the_arguments_in_order() -> None:
    own = {"around": lambda value, left, right="!": f"{left}{value}{right}"}
    assert Template("{{ x | around('a') }}", filters=own).render(x=1) == "a1!"
    assert Template("{{ x | around('a', 'b') }}", filters=own).render(x=2) == "a2b"
    assert Template("{{ x | around('a') | upper }}", filters=own).render(x="y") == "AY!"


def test_own_filters_win_over_the_usual_ones_in_their_template_only() -> None:
    own = {"upper": lambda value: "mine"}
    assert Template("{{ 'a' | upper }}", filters=own).render() == "mine"
    assert Template("{{ 'a' | upper }}").render() == "A"
    assert Template("{{ 'a' | upper }}", filters={}).render() == "A"


def test_unknown_filters_and_wrong_arguments_are_errors() -> None:
    assert failure("1 | shout") == "FilterError"
    assert failure("1 | upper(2)") == "FilterError"
    assert failure("x | join(1)", x=["a", "b"]) == "FilterError"
    assert failure("'abc' | truncate('2')") == "FilterError"
    assert failure("missing | shout") == "FilterError"
