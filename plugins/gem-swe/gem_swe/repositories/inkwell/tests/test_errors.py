from collections.abc import Callable

from inkwell import InkwellError, Template
from inkwell.errors import Position


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def message(source: str, **values: object) -> str:
    try:
        Template(source).render(**values)
    except InkwellError as error:
        return str(error)
    return ""


def place(source: str, **values: object) -> tuple[int, int] | None:
    try:
        Template(source).render(**values)
    except InkwellError as error:
        if error.position is not None:
            return error.position.line, error.position.column
    return None


def unreadable(source: str) -> str:
    return raised(lambda: Template(source))


def test_a_message_begins_with_the_place_if_it_is_known() -> None:
    assert str(InkwellError("spilled")) == "spilled"
    assert str(InkwellError("spilled", Position(3, 14))) == "line 3, column 14: spilled"
    assert InkwellError("spilled", Position(3, 14)).message == "spilled"
    assert InkwellError("spilled", Position(3, 14)).args == ("spilled",)


def test_the_first_place_given_to_an_error_stays() -> None:
    error = InkwellError("spilled")
    assert str(error.at(Position(2, 1))) == "line 2, column 1: spilled"
    assert str(error.at(Position(5, 6))) == "line 2, column 1: spilled"
    assert str(InkwellError("x", Position(1, 1)).at(Position(2, 2))) == "line 1, column 1: x"


def test_undefined_names_are_reported_where_they_stand() -> None:
    assert message("{{ prize }}") == "line 1, column 4: 'prize' is not defined"
    assert message("ab\n  {{ 1 + prize }}") == "line 2, column 10: 'prize' is not defined"
    assert place("{% for x in xs %}\n{{ x ~\n y }}{% endfor %}", xs=[1]) == (3, 2)
    assert place("{% if a %}{% elif bb %}{% endif %}", a=0) == (1, 19)


def test_missing_attributes_and_items_are_reported_where_they_are_read() -> None:
    assert message("{{ x.yy }}", x={}) == "line 1, column 6: no item or attribute 'yy'"
    assert message("{{ x[3] }}", x=[1]) == "line 1, column 5: no item or attribute '3'"
    assert place("{{ x.a.b }}", x={"a": {}}) == (1, 8)


def test_operators_are_reported_at_the_operator() -> None:
    assert message("{{ 1 + 'a' }}") == "line 1, column 6: '+' does not work with these values"
    assert message("{{ 10 / 0 }}") == "line 1, column 7: division by zero"
    assert place("{{ 2 *\n-x }}", x="a") == (2, 1)
    assert place("{{ 1 < 2 < 3 }}") == (1, 10)
    assert place("{{ 1 in 2 }}") == (1, 6)


def test_filters_are_reported_at_their_name() -> None:
    assert message("{{ 1 | shout }}") == "line 1, column 8: unknown filter 'shout'"
    assert message("{{ 1 | length | upper }}") == (
        "line 1, column 8: only texts, lists and mappings have a length"
    )
    assert message("{{ 'x'|upper(1) }}") == (
        "line 1, column 8: 'upper' does not work with these values"
    )


def test_loops_are_reported_at_their_tag() -> None:
    assert message(" {% for x in 5 %}{% endfor %}") == (
        "line 1, column 5: 'for' needs a list or a mapping"
    )
    assert message("\n{%for x, y in xs %}{% endfor %}", xs=[1]) == (
        "line 2, column 3: cannot unpack an item into 2 names"
    )


def test_unclosed_delimiters_are_reported_where_they_open() -> None:
    assert message("ab {{ c") == "line 1, column 4: '{{' is never closed"
    assert message("\n\n {% if x") == "line 3, column 2: '{%' is never closed"
    assert message("{# a #}{# b") == "line 1, column 8: '{#' is never closed"


def test_strange_characters_are_reported_where_they_stand() -> None:
    assert message("{{ a ? b }}") == "line 1, column 6: unexpected character ?"
    assert message("{{ 'a }}") == "line 1, column 4: unclosed string '"
    assert message('{{ a ~ "b }}') == 'line 1, column 8: unclosed string "'


def test_unexpected_tokens_are_reported() -> None:
    assert message("{{ 1 + }}") == "line 1, column 8: expected a value but found '}}'"
    assert message("{{ a b }}") == "line 1, column 6: expected a close but found 'b'"
    assert message("{{ [1 2] }}") == "line 1, column 7: expected , or ] but found '2'"
    assert message("{{ a. }}") == "line 1, column 7: expected a name but found '}}'"
    assert message("{% set a 5 %}") == "line 1, column 10: expected = but found '5'"


def test_tags_without_an_end_are_reported_where_they_open() -> None:
    assert message("a {% if x %} b") == "line 1, column 6: 'if' is never ended"
    assert message("{% for x in y %}\n{% if x %}{% endif %}") == (
        "line 1, column 4: 'for' is never ended"
    )
    assert message("{% if x %}{% else %}\n{% for y in x %}") == (
        "line 2, column 4: 'for' is never ended"
    )


def test_unknown_and_misplaced_tags_are_errors() -> None:
    assert message("{% iff x %}") == "line 1, column 4: unknown or misplaced tag 'iff'"
    assert message("{% endif %}") == "line 1, column 4: unknown or misplaced tag 'endif'"
    assert unreadable("{% if x %}{% endfor %}") == "ParseError"
    assert unreadable("{% for x in y %}{% elif x %}{% endfor %}") == "ParseError"
    assert unreadable("{% if x %}{% else %}{% else %}{% endif %}") == "ParseError"


def test_incomplete_expressions_are_errors() -> None:
    assert unreadable("{{ }}") == "ParseError"
    assert unreadable("{{ (1 }}") == "ParseError"
    assert unreadable("{{ a[1 }}") == "ParseError"
    assert unreadable("{{ a | f(1, }}") == "ParseError"
    assert unreadable("{{ a not b }}") == "ParseError"


def test_keywords_are_no_values() -> None:
    assert unreadable("{{ and }}") == "ParseError"
    assert unreadable("{{ 1 or or }}") == "ParseError"
    assert unreadable("{{ in }}") == "ParseError"
    assert unreadable("{{ 1 'or' 2 }}") == "ParseError"
    assert unreadable("{{ a.in | or }}") == ""


def test_keywords_and_loop_cannot_be_set() -> None:
    assert message("{% set not = 1 %}") == "line 1, column 8: 'not' cannot be set"
    assert unreadable("{% set true = 1 %}") == "ParseError"
    assert unreadable("{% for loop in x %}{% endfor %}") == "ParseError"
    assert unreadable("{% for a, in in x %}{% endfor %}") == "ParseError"
    assert unreadable("{% set looping = 1 %}") == ""


def test_tags_take_nothing_more_than_they_need() -> None:
    assert unreadable("{% if x y %}{% endif %}") == "ParseError"
    assert unreadable("{% if x %}{% else y %}{% endif %}") == "ParseError"
    assert unreadable("{% if x %}{% endif y %}") == "ParseError"
    assert unreadable("{% for x of y %}{% endfor %}") == "ParseError"
    assert unreadable("{% set 5 = 5 %}") == "ParseError"
