from inkwell import Markup, Template
from inkwell.values import escape


def test_what_is_special_in_html_is_escaped() -> None:
    assert Template("{{ x }}").render(x="<b> & </b>") == "&lt;b&gt; &amp; &lt;/b&gt;"
    assert Template("{{ x }}").render(x='"it\'s"') == "&quot;it&#39;s&quot;"
    assert Template("{{ x }}").render(x=["<", 1]) == "&lt;, 1"
    assert Template("{{ '&lt;' }}").render() == "&amp;lt;"


def test_the_text_of_the_template_is_not_escaped() -> None:
    assert Template("<p>{{ x }} & more</p>").render(x="a>b") == "<p>a&gt;b & more</p>"
    assert Template("{% if x %}<i>{{ x }}</i>{% endif %}").render(x="'") == "<i>&#39;</i>"
    assert Template("{% for x in xs %}<{{ x }}>{% endfor %}").render(xs=["&", 2]) == "<&amp;><2>"
    assert Template("{% for x in xs %}{% else %}<hr>{% endfor %}").render(xs=[]) == "<hr>"


def test_markup_is_shown_as_it_is() -> None:
    assert Template("{{ x }}").render(x=Markup("<b>")) == "<b>"
    assert Template("{{ x | safe }}").render(x="<b>&") == "<b>&"
    assert Template("{{ x | safe }}").render(x=5) == "5"
    assert Template("{{ [x] }}").render(x=Markup("<b>")) == "&lt;b&gt;"


def test_text_made_from_markup_is_escaped_again() -> None:
    assert Template("{{ x + 'c' }}").render(x=Markup("<b>")) == "&lt;b&gt;c"
    assert Template("{{ x | upper }}").render(x=Markup("<b>")) == "&lt;B&gt;"
    assert Template("{{ x | upper | safe }}").render(x=Markup("<b>")) == "<B>"


def test_escaping_can_be_turned_off_for_a_template() -> None:
    assert Template("{{ x }}", autoescape=False).render(x="<&>") == "<&>"
    assert Template("{{ x | escape }}", autoescape=False).render(x="<&>") == "&lt;&amp;&gt;"
    assert Template("{% if 1 %}{{ x }}{% endif %}", False).render(x="'") == "'"
    assert Template("{{ x }}", autoescape=True).render(x="'") == "&#39;"


def test_nothing_is_escaped_twice() -> None:
    assert Template("{{ x | escape }}").render(x="<") == "&lt;"
    assert Template("{{ x | escape | escape }}").render(x="&") == "&amp;"
    assert Template("{{ x | safe | escape }}").render(x="<") == "<"


def test_escape_takes_any_value() -> None:
    assert str(escape("a < b")) == "a &lt; b"
    assert str(escape(Markup("a < b"))) == "a < b"
    assert str(escape(None)) == ""
    assert str(escape(2.0)) == "2"


def test_a_rendered_template_is_plain_text_in_another() -> None:
    inner = Template("<li>{{ x }}</li>").render(x="a&b")
    assert Template("<ul>{{ x | safe }}</ul>").render(x=inner) == "<ul><li>a&amp;b</li></ul>"
    assert Template("{{ x }}").render(x=Template("<br>").render()) == "&lt;br&gt;"
