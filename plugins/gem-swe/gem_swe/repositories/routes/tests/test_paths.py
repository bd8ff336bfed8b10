from collections.abc import Callable

from routes import Graph, Path, best_paths, parse_graph, shortest_path

TOWN = """
home  mill  4
home  park  2
park  mill  1
mill  pier  5
park  pier  8
pier  quay  3
mill  quay  9
isle  lido  1
"""


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def plain(path: Path) -> tuple[int, int, str]:
    return path.cost, path.hops, " ".join(path.nodes)


def ends(graph: Graph, source: str, avoid: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    return [(path.nodes[-1], path.cost) for path in best_paths(graph, source, avoid)]


def test_the_cheapest_path_wins_over_the_one_with_fewer_edges() -> None:
    town = parse_graph(TOWN)
    assert plain(shortest_path(town, "home", "mill")) == (3, 2, "home park mill")
    assert plain(shortest_path(town, "home", "quay")) == (11, 4, "home park mill pier quay")
    assert plain(shortest_path(town, "park", "pier")) == (6, 2, "park mill pier")


def test_an_undirected_path_can_be_walked_back() -> None:
    town = parse_graph(TOWN)
    assert plain(shortest_path(town, "mill", "home")) == (3, 2, "mill park home")
    assert plain(shortest_path(town, "quay", "park")) == (9, 3, "quay pier mill park")


def test_a_directed_path_follows_the_edges() -> None:
    ring = parse_graph("a b 2\nb c 2\nc a 2", directed=True)
    assert plain(shortest_path(ring, "a", "b")) == (2, 1, "a b")
    assert plain(shortest_path(ring, "b", "a")) == (4, 2, "b c a")


def test_the_path_to_the_source_is_the_source_alone() -> None:
    town = parse_graph(TOWN)
    assert plain(shortest_path(town, "home", "home")) == (0, 0, "home")
    assert plain(shortest_path(town, "isle", "isle")) == (0, 0, "isle")


def test_of_equally_cheap_paths_the_one_with_the_fewest_edges_is_best() -> None:
    graph = parse_graph("a b 1\nb z 1\na c 2\nc z 0\na z 2")
    assert plain(shortest_path(graph, "a", "z")) == (2, 1, "a z")
    free = parse_graph("a b 0\nb c 0\nc d 0\na m 0\nm d 0")
    assert plain(shortest_path(free, "a", "d")) == (0, 2, "a m d")


def test_of_paths_with_as_many_edges_the_first_by_name_is_best() -> None:
    graph = parse_graph("s q 1\ns p 3\nq t 3\np t 1")
    assert plain(shortest_path(graph, "s", "t")) == (4, 2, "s p t")
    assert plain(shortest_path(graph, "t", "s")) == (4, 2, "t p s")
    deep = parse_graph("s b\nb y\ny t\ns c\nc x\nx t")
    assert plain(shortest_path(deep, "s", "t")) == (3, 3, "s b y t")


def test_best_paths_come_from_near_to_far() -> None:
    town = parse_graph(TOWN)
    assert ends(town, "home") == [("home", 0), ("park", 2), ("mill", 3), ("pier", 8), ("quay", 11)]
    assert ends(town, "lido") == [("lido", 0), ("isle", 1)]


def test_best_paths_of_one_cost_come_with_fewer_edges_first_then_by_name() -> None:
    star = parse_graph("x c 2\nx a 1\na b 1\nx d 2")
    assert ends(star, "x") == [("x", 0), ("a", 1), ("c", 2), ("d", 2), ("b", 2)]
    assert [plain(path) for path in best_paths(parse_graph("k m 0\nk l 0"), "k")] == [
        (0, 0, "k"),
        (0, 1, "k l"),
        (0, 1, "k m"),
    ]


def test_a_node_to_avoid_is_neither_reached_nor_passed() -> None:
    town = parse_graph(TOWN)
    assert plain(shortest_path(town, "home", "pier", avoid=["park"])) == (9, 2, "home mill pier")
    assert plain(shortest_path(town, "home", "pier", ["mill"])) == (10, 2, "home park pier")
    assert ends(town, "home", ("pier", "park")) == [("home", 0), ("mill", 4), ("quay", 13)]


def test_avoiding_the_source_has_no_effect() -> None:
    town = parse_graph(TOWN)
    assert plain(shortest_path(town, "home", "mill", avoid=["home"])) == (3, 2, "home park mill")
    assert ends(town, "isle", ("isle",)) == [("isle", 0), ("lido", 1)]


def test_there_is_no_path_to_another_component_or_to_a_node_to_avoid() -> None:
    town = parse_graph(TOWN)
    assert raised(lambda: shortest_path(town, "home", "lido")) == "NoPath"
    assert raised(lambda: shortest_path(town, "home", "quay", ["mill", "park"])) == "NoPath"
    assert raised(lambda: shortest_path(town, "home", "mill", ["mill"])) == "NoPath"


def test_there_is_no_path_against_the_only_edge() -> None:
    line = parse_graph("a b\nb c", directed=True)
    assert raised(lambda: shortest_path(line, "c", "a")) == "NoPath"
    assert raised(lambda: shortest_path(line, "b", "a")) == "NoPath"
    assert raised(lambda: shortest_path(line, "a", "c")) == ""


def test_both_ends_of_a_path_must_be_nodes() -> None:
    town = parse_graph(TOWN)
    assert raised(lambda: shortest_path(town, "home", "moon")) == "UnknownNode"
    assert raised(lambda: shortest_path(town, "moon", "home")) == "UnknownNode"
    assert raised(lambda: next(best_paths(town, "moon"))) == "UnknownNode"
