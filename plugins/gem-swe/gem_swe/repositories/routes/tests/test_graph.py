from collections.abc import Callable, Iterable

from routes import Edge, Graph, parse_graph
from routes.errors import ParseError


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def failing_line(text: str) -> int:
    try:
        parse_graph(text)
    except ParseError as error:
        return error.line
    return 0


def message(text: str) -> str:
    try:
        parse_graph(text)
    except ParseError as error:
        return str(error)
    return ""


def plain(edges: Iterable[Edge]) -> list[tuple[int, str, str]]:
    return [(edge.weight, edge.start, edge.end) for edge in edges]


def test_a_new_graph_is_empty_and_not_directed() -> None:
    assert Graph().nodes() == []
    assert Graph().edges() == []
    assert Graph().directed is False
    assert Graph(directed=True).directed is True


def test_nodes_are_listed_by_name() -> None:
    graph = Graph()
    graph.add_edge("m", "b")
    graph.add_node("k")
    assert graph.nodes() == ["b", "k", "m"]
    graph.add_node("a")
    assert graph.nodes() == ["a", "b", "k", "m"]


def test_a_node_that_is_added_again_keeps_its_edges() -> None:
    graph = parse_graph("a b 3\nc")
    graph.add_node("a")
    graph.add_node("c")
    assert plain(graph.leaving("a")) == [(3, "a", "b")]
    assert plain(graph.leaving("c")) == []


def test_an_undirected_edge_leads_both_ways() -> None:
    graph = parse_graph("b a 4\nb c 2")
    assert plain(graph.leaving("a")) == [(4, "a", "b")]
    assert plain(graph.leaving("b")) == [(4, "b", "a"), (2, "b", "c")]
    assert plain(graph.leaving("c")) == [(2, "c", "b")]


def test_a_directed_edge_leads_one_way() -> None:
    graph = parse_graph("b a 4\nb c 2", directed=True)
    assert plain(graph.leaving("a")) == []
    assert plain(graph.leaving("b")) == [(4, "b", "a"), (2, "b", "c")]
    assert graph.nodes() == ["a", "b", "c"]


def test_leaving_edges_are_sorted_by_their_end() -> None:
    graph = parse_graph("h z 1\nh d 9\nh p 5")
    assert [edge.end for edge in graph.leaving("h")] == ["d", "p", "z"]
    assert [edge.weight for edge in graph.leaving("h")] == [9, 5, 1]


def test_an_undirected_edge_is_listed_once_with_its_start_before_its_end() -> None:
    assert plain(parse_graph("d c 2\na b 7").edges()) == [(2, "c", "d"), (7, "a", "b")]
    assert plain(parse_graph("y x\nx y").edges()) == [(1, "x", "y")]


def test_a_directed_graph_lists_both_directions() -> None:
    assert plain(parse_graph("y x 3\nx y 5", directed=True).edges()) == [
        (3, "y", "x"),
        (5, "x", "y"),
    ]
    assert plain(parse_graph("d c 2", directed=True).edges()) == [(2, "d", "c")]


def test_edges_are_sorted_by_weight_then_start_then_end() -> None:
    assert plain(parse_graph("b d 2\na d 2\na c 2\na b 6\nc d 1").edges()) == [
        (1, "c", "d"),
        (2, "a", "c"),
        (2, "a", "d"),
        (2, "b", "d"),
        (6, "a", "b"),
    ]
    assert plain(parse_graph("q r 10\np r 9").edges()) == [(9, "p", "r"), (10, "q", "r")]


def test_only_the_lightest_of_several_edges_is_kept() -> None:
    assert plain(parse_graph("a b 5\na b 3").edges()) == [(3, "a", "b")]
    assert plain(parse_graph("a b 3\na b 5").edges()) == [(3, "a", "b")]
    assert plain(parse_graph("a b 5\nb a 4").leaving("a")) == [(4, "a", "b")]
    assert plain(parse_graph("a b 5\nb a 4").leaving("b")) == [(4, "b", "a")]


def test_weights_are_one_unless_given() -> None:
    graph = Graph()
    graph.add_edge("u", "v")
    assert plain(graph.edges()) == [(1, "u", "v")]
    assert plain(parse_graph("u v\nv w 8").edges()) == [(1, "u", "v"), (8, "v", "w")]


def test_a_weight_may_be_zero_but_not_negative() -> None:
    graph = Graph()
    graph.add_edge("a", "b", 0)
    assert plain(graph.edges()) == [(0, "a", "b")]
    assert raised(lambda: graph.add_edge("a", "c", -1)) == "InvalidGraph"
    assert raised(lambda: graph.add_edge("b", "c", -5)) == "InvalidGraph"
    assert graph.nodes() == ["a", "b"]


def test_an_edge_needs_two_nodes() -> None:
    assert raised(lambda: parse_graph("a a 2")) == "InvalidGraph"
    assert raised(lambda: Graph(directed=True).add_edge("x", "x")) == "InvalidGraph"


def test_edges_of_an_unknown_node_cannot_be_asked_for() -> None:
    assert raised(lambda: Graph().leaving("a")) == "UnknownNode"
    assert raised(lambda: parse_graph("a b").leaving("c")) == "UnknownNode"


def test_comments_and_blank_lines_are_skipped() -> None:
    graph = parse_graph("% roads\n\na b 2  % the old bridge\n   \nc % a farm\n")
    assert graph.nodes() == ["a", "b", "c"]
    assert plain(graph.edges()) == [(2, "a", "b")]


def test_a_line_that_is_not_an_edge_is_reported_with_its_number() -> None:
    assert failing_line("a b c d") == 1
    assert failing_line("a b 1\n\nb c two") == 3
    assert failing_line("a b\nb c -4\n") == 2
    assert failing_line("a b\nb c 4\n") == 0


def test_the_message_of_a_parse_error_names_the_line() -> None:
    assert message("a b 1 2") == "line 1: not an edge"
    assert message("a\nb\na b 1.5") == "line 3: not an edge"
