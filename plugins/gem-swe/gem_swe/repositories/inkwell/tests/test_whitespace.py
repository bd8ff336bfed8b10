from inkwell import Template


def test_white_space_around_outputs_is_kept() -> None:
    assert Template(" a \n {{ x }} \n b ").render(x=1) == " a \n 1 \n b "
    assert Template("\n{{x}}\n").render(x="") == "\n\n"


def test_a_minus_sign_at_the_start_strips_the_text_before() -> None:
    assert Template("a \n\t{{- x }} b").render(x=1) == "a1 b"
    assert Template("a  {%- if x %} b {% endif %}").render(x=1) == "a b "
    assert Template(" a  {{- x }} b {{ x }}").render(x=2) == " a2 b 2"


def test_a_minus_sign_at_the_end_strips_the_text_after() -> None:
    assert Template("a {{ x -}} \n b ").render(x=1) == "a 1b "
    assert Template("{% if x -%}  yes  {% endif %}").render(x=1) == "yes  "
    assert Template("{{ x -}} b {{ x }} c").render(x=2) == "2b 2 c"


def test_minus_signs_on_both_sides_strip_both_texts() -> None:
    assert Template("a \n{{- x -}}\n b").render(x=1) == "a1b"
    assert Template("({{ x -}}   {{- x }})").render(x=1) == "(11)"
    assert Template("{%- for n in x -%} {{ n }}, {%- endfor -%} ").render(x=[1, 2]) == "1,2,"


def test_comments_strip_like_outputs() -> None:
    assert Template("a {#- note #} b").render() == "a b"
    assert Template("a {# note -#} b").render() == "a b"
    assert Template("a {#- note -#} b").render() == "ab"
    assert Template("a {# note #} b").render() == "a  b"


def test_a_minus_sign_before_a_space_is_stripping_but_after_it_is_negative() -> None:
    assert Template("a {{ -x }}").render(x=4) == "a -4"
    assert Template("a {{-x }}").render(x=4) == "a4"
    assert Template("a {{- -x }} b").render(x=4) == "a-4 b"
