from collections.abc import Callable

from inkwell.lexer import Cursor, Lexer


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def tokens(source: str) -> list[tuple[str, str]]:
    return [(token.kind, token.value) for token in Lexer(source).run()]


def inside(expression: str) -> list[tuple[str, str]]:
    return tokens("{{" + expression + "}}")[1:-2]


def places(source: str) -> list[tuple[int, int]]:
    return [(token.position.line, token.position.column) for token in Lexer(source).run()]


def moved(source: str, *counts: int) -> tuple[list[str], tuple[int, int], int]:
    cursor = Cursor(source)
    taken = [cursor.advance(count) for count in counts]
    return taken, (cursor.position.line, cursor.position.column), cursor.remaining


def test_a_cursor_counts_columns_on_one_line() -> None:
    assert moved("stone") == ([], (1, 1), 5)
    assert moved("stone", 2) == (["st"], (1, 3), 3)
    assert moved("stone", 2, 1, 2) == (["st", "o", "ne"], (1, 6), 0)


def test_a_cursor_starts_again_at_column_one_after_a_line_break() -> None:
    assert moved("ab\ncd", 3) == (["ab\n"], (2, 1), 2)
    assert moved("ab\ncd", 2) == (["ab"], (1, 3), 3)
    assert moved("a\n\nbcd", 5) == (["a\n\nbc"], (3, 3), 1)


def test_a_cursor_does_not_move_beyond_the_end() -> None:
    assert moved("ab", 5) == (["ab"], (1, 3), 0)
    assert moved("abc", 2, 4, 1) == (["ab", "c", ""], (1, 4), 0)


def test_a_cursor_advances_by_one_unless_told() -> None:
    cursor = Cursor("pqr")
    assert cursor.advance() == "p"
    assert cursor.advance() == "q"
    assert cursor.remaining == 1


def test_the_distance_is_measured_from_the_cursor() -> None:
    cursor = Cursor("{{ a {{ b")
    assert cursor.distance("{{") == 0
    assert cursor.distance("a") == 3
    cursor.advance(1)
    assert cursor.distance("{{") == 4


def test_the_distance_to_something_absent_is_all_that_remains() -> None:
    cursor = Cursor("plain text")
    assert cursor.distance("{{") == 10
    cursor.advance(4)
    assert cursor.distance("{%") == 6
    assert not cursor.at("plain")
    assert cursor.at("n te")


def test_text_and_outputs_and_tags_become_tokens() -> None:
    assert tokens("") == [("end", "")]
    assert tokens("only { text }") == [("text", "only { text }"), ("end", "")]
    assert tokens("a{{b}}") == [
        ("text", "a"),
        ("open", "{{"),
        ("name", "b"),
        ("close", "}}"),
        ("end", ""),
    ]
    assert tokens("{%if x%}!") == [
        ("open", "{%"),
        ("name", "if"),
        ("name", "x"),
        ("close", "%}"),
        ("text", "!"),
        ("end", ""),
    ]


def test_names_may_have_digits_and_underscores_after_the_start() -> None:
    assert inside("a1_b") == [("name", "a1_b")]
    assert inside("_x y2") == [("name", "_x"), ("name", "y2")]
    assert inside("2x") == [("number", "2"), ("name", "x")]


def test_a_point_belongs_to_a_number_only_between_digits() -> None:
    assert inside("3.25") == [("number", "3.25")]
    assert inside("3.x") == [("number", "3"), ("operator", "."), ("name", "x")]
    assert inside("a.5") == [("name", "a"), ("operator", "."), ("number", "5")]


def test_strings_end_at_the_quote_they_began_with() -> None:
    assert inside('"it\'s"') == [("string", "it's")]
    assert inside("'say \"hi\"'") == [("string", 'say "hi"')]
    assert inside("'' 'a'") == [("string", ""), ("string", "a")]


def test_a_string_may_hold_delimiters() -> None:
    assert inside("'}}'") == [("string", "}}")]
    assert inside("'{% if %}' ~ x") == [
        ("string", "{% if %}"),
        ("operator", "~"),
        ("name", "x"),
    ]


def test_operators_of_two_characters_are_one_token() -> None:
    assert inside("a<=b") == [("name", "a"), ("operator", "<="), ("name", "b")]
    assert inside("==!=>=//") == [
        ("operator", "=="),
        ("operator", "!="),
        ("operator", ">="),
        ("operator", "//"),
    ]
    assert inside("< =/ /") == [
        ("operator", "<"),
        ("operator", "="),
        ("operator", "/"),
        ("operator", "/"),
    ]


def test_comments_leave_no_tokens() -> None:
    assert tokens("a{# gone #}b") == [("text", "a"), ("text", "b"), ("end", "")]
    assert tokens("{# {{ x }} #}") == [("end", "")]
    assert tokens("{##}z") == [("text", "z"), ("end", "")]


def test_tokens_know_their_line_and_column() -> None:
    assert places("ab{{ x }}") == [(1, 1), (1, 3), (1, 6), (1, 8), (1, 10)]
    assert places("a\n{{-\n  y+'\n' -}}") == [
        (1, 1),
        (2, 1),
        (3, 3),
        (3, 4),
        (3, 5),
        (4, 4),
        (4, 6),
    ]


def test_an_unclosed_delimiter_is_an_error() -> None:
    assert raised(lambda: Lexer("a {{ b").run()) == "ParseError"
    assert raised(lambda: Lexer("{% if x }}").run()) == "ParseError"
    assert raised(lambda: Lexer("{# note").run()) == "ParseError"
    assert raised(lambda: Lexer("{{ b -").run()) == "ParseError"
    assert raised(lambda: Lexer("b }} %} #}").run()) == ""


def test_stray_characters_and_unclosed_strings_are_errors() -> None:
    assert raised(lambda: Lexer("{{ a & b }}").run()) == "ParseError"
    assert raised(lambda: Lexer("{{ 'abc }}").run()) == "ParseError"
    assert raised(lambda: Lexer("{{ a ! b }}").run()) == "ParseError"
    assert raised(lambda: Lexer("a & b ' c").run()) == ""
