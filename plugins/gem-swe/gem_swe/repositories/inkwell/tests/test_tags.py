from collections.abc import Callable

from inkwell import Template


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def test_the_first_true_branch_is_shown() -> None:
    template = Template(
        "{% if n >= 90 %}great{% elif n >= 60 %}good{% elif n >= 50 %}fair{% else %}poor{% endif %}"
    )
    assert template.render(n=95) == "great"
    assert template.render(n=60) == "good"
    assert template.render(n=59) == "fair"
    assert template.render(n=0) == "poor"


def test_an_if_without_else_shows_nothing_when_false() -> None:
    template = Template("[{% if x %}on{% endif %}]")
    assert template.render(x=1) == "[on]"
    assert template.render(x=0) == "[]"
    assert template.render(x=[]) == "[]"


def test_only_the_needed_conditions_are_evaluated() -> None:
    template = Template("{% if a %}A{% elif b %}B{% else %}{{ c }}{% endif %}")
    assert template.render(a=True) == "A"
    assert template.render(a=False, b=True) == "B"
    assert raised(lambda: template.render(a=False)) == "UndefinedError"
    assert raised(lambda: template.render(a=False, b=False)) == "UndefinedError"


def test_ifs_can_be_nested() -> None:
    template = Template(
        "{% if a %}{% if b %}both{% else %}a{% endif %}{% else %}{% if b %}b{% endif %}{% endif %}."
    )
    assert template.render(a=1, b=1) == "both."
    assert template.render(a=1, b=0) == "a."
    assert template.render(a=0, b=1) == "b."
    assert template.render(a=0, b=0) == "."


def test_a_loop_runs_over_all_items_in_order() -> None:
    template = Template("{% for x in xs %}<{{ x }}>{% endfor %}")
    assert template.render(xs=["c", "a", "b"]) == "<c><a><b>"
    assert template.render(xs=(7,)) == "<7>"
    assert template.render(xs=[]) == ""


def test_a_loop_counts_from_one() -> None:
    template = Template("{% for x in xs %}{{ loop.index }}/{{ loop.length }}{{ x }} {% endfor %}")
    assert template.render(xs=["a", "b", "c"]) == "1/3a 2/3b 3/3c "
    assert template.render(xs=["z"]) == "1/1z "


def test_a_loop_knows_its_first_and_last_item() -> None:
    template = Template(
        "{% for x in xs %}{% if loop.first %}({% endif %}{{ x }}"
        "{% if loop.last %}){% else %}, {% endif %}{% endfor %}"
    )
    assert template.render(xs=[1]) == "(1)"
    assert template.render(xs=[1, 2]) == "(1, 2)"
    assert template.render(xs=[1, 2, 3, 4]) == "(1, 2, 3, 4)"


def test_the_else_of_a_loop_is_for_no_items() -> None:
    template = Template("{% for x in xs %}{{ x }}{% else %}none{% endfor %}")
    assert template.render(xs=[]) == "none"
    assert template.render(xs=None) == "none"
    assert template.render(xs={}) == "none"
    assert template.render(xs=[""]) == ""
    assert template.render(xs=[1, 2]) == "12"


def test_pairs_are_unpacked_in_order() -> None:
    template = Template("{% for a, b in xs %}{{ a }}={{ b }};{% endfor %}")
    assert template.render(xs=[(1, 2), [3, 4]]) == "1=2;3=4;"
    assert template.render(xs={"k": "v", "l": "w"}) == "k=v;l=w;"
    assert (
        Template("{% for a, b, c in xs %}{{ c }}{{ a }}{{ b }}{% endfor %}").render(xs=[(1, 2, 3)])
        == "312"
    )


def test_a_single_name_gets_the_whole_item() -> None:
    template = Template("{% for x in xs %}{{ x[1] }}{{ x | length }} {% endfor %}")
    assert template.render(xs=[(1, 2), [3, 4, 5]]) == "22 43 "
    assert template.render(xs={"k": "v"}) == "v2 "


def test_items_that_do_not_fit_the_names_are_an_error() -> None:
    template = Template("{% for a, b in xs %}{{ a }}{% endfor %}")
    assert raised(lambda: template.render(xs=[(1, 2, 3)])) == "OperationError"
    assert raised(lambda: template.render(xs=[(1,)])) == "OperationError"
    assert raised(lambda: template.render(xs=["ab"])) == "OperationError"
    assert raised(lambda: template.render(xs=[(1, 2), 3])) == "OperationError"
    assert template.render(xs=[("", 2)]) == ""


def test_only_lists_and_mappings_can_be_looped_over() -> None:
    template = Template("{% for x in xs %}{{ x }}{% endfor %}")
    assert raised(lambda: template.render(xs="abc")) == "OperationError"
    assert raised(lambda: template.render(xs=3)) == "OperationError"
    assert raised(lambda: template.render(xs=False)) == "OperationError"


def test_nested_loops_count_on_their_own() -> None:
    template = Template(
        "{% for row in rows %}{% for x in row %}{{ loop.index }}{{ x }}{% endfor %}"
        "-{{ loop.index }}{{ loop.last }} {% endfor %}"
    )
    assert template.render(rows=[["a", "b"], ["c"]]) == "1a2b-1false 1c-2true "
    assert template.render(rows=[[], ["z"]]) == "-1false 1z-2true "


def test_the_name_of_a_loop_hides_an_outer_one_until_the_end() -> None:
    template = Template("{{ x }}{% for x in xs %}{{ x }}{% endfor %}{{ x }}")
    assert template.render(x="o", xs=[1, 2]) == "o12o"
    assert template.render(x="p", xs=[]) == "pp"


def test_loop_and_its_names_are_unknown_outside() -> None:
    assert (
        raised(lambda: Template("{% for x in xs %}{% endfor %}{{ x }}").render(xs=[1]))
        == "UndefinedError"
    )
    assert (
        raised(lambda: Template("{% for x in xs %}{% endfor %}{{ loop.index }}").render(xs=[1]))
        == "UndefinedError"
    )
    assert (
        raised(lambda: Template("{% for x in xs %}{% else %}{{ loop }}{% endfor %}").render(xs=[]))
        == "UndefinedError"
    )


def test_set_gives_a_name_a_value() -> None:
    assert Template("{% set a = 2 + 3 %}{{ a }}{{ a * 2 }}").render() == "510"
    assert Template("{% set a = a + 1 %}{{ a }}{% set a = a + 1 %}{{ a }}").render(a=1) == "23"
    assert Template("{% if x %}{% set a = 'in' %}{% endif %}{{ a }}").render(x=1, a="out") == "in"


def test_set_within_a_loop_ends_with_the_round() -> None:
    template = Template(
        "{% set n = 10 %}{% for x in xs %}{% set n = n + x %}{{ n }} {% endfor %}{{ n }}"
    )
    assert template.render(xs=[1, 2]) == "11 12 10"
    assert template.render(xs=[]) == "10"
    assert (
        raised(
            lambda: Template(
                "{% for x in xs %}{% if x %}{{ n }}{% endif %}{% set n = 1 %}{% endfor %}"
            ).render(xs=[0, 1])
        )
        == "UndefinedError"
    )


def test_names_of_outer_loops_are_seen_in_inner_ones() -> None:
    template = Template(
        "{% for a in xs %}{% for b in ys %}{{ a }}{{ b }}{{ c }} {% endfor %}{% endfor %}"
    )
    assert template.render(xs=[1, 2], ys=["x", "y"], c="!") == "1x! 1y! 2x! 2y! "
    assert template.render(xs=[3], ys=["z"], c="?") == "3z? "


def test_a_template_can_be_rendered_again_with_other_values() -> None:
    values = {"n": 1}
    template = Template("{% set n = n + 1 %}{{ n }}")
    assert template.render(**values) == "2"
    assert template.render(**values) == "2"
    assert template.render(n=8) == "9"
    assert raised(lambda: template.render()) == "UndefinedError"
