from routes import (
    Path,
    Walk,
    find_walk,
    format_path,
    format_walk,
    parse_graph,
    parse_map,
    shortest_path,
)


def best(text: str, source: str, target: str, directed: bool = False) -> str:
    graph = parse_graph(text, directed)
    return format_path(graph, shortest_path(graph, source, target))


def walked(moves: str) -> str:
    return format_walk(Walk(0, moves, 0))


def test_a_path_shows_weights_and_cost() -> None:
    assert best("a b 2\nb c 3\na c 9", "a", "c") == "a -2- b -3- c (5)"
    assert best("a b 2\nb c 3\na c 9", "c", "b") == "c -3- b (3)"
    assert best("hub x 10\nhub y 20", "x", "y") == "x -10- hub -20- y (30)"


def test_a_path_in_a_directed_graph_shows_arrows() -> None:
    assert best("a b 2\nb c 3\na c 9", "a", "c", directed=True) == "a -2-> b -3-> c (5)"
    assert best("a b 2\nb a 7", "b", "a", directed=True) == "b -7-> a (7)"


def test_a_path_without_edges_is_its_node() -> None:
    assert best("a b 2", "b", "b") == "b (0)"
    assert best("a b 2", "a", "a", directed=True) == "a (0)"


def test_the_cost_of_a_path_is_taken_from_the_path() -> None:
    graph = parse_graph("a b 4")
    assert format_path(graph, Path(6, 1, ("a", "b"))) == "a -4- b (6)"
    assert format_path(graph, Path(4, 1, ("b", "a"))) == "b -4- a (4)"


def test_repeated_moves_are_counted() -> None:
    assert walked("EEESEE") == "3E S 2E"
    assert walked("NNW") == "2N W"
    assert walked("S" * 12) == "12S"


def test_single_moves_have_no_number() -> None:
    assert walked("NESW") == "N E S W"
    assert walked("W") == "W"


def test_a_walk_without_moves_stays() -> None:
    assert walked("") == "stay"
    assert format_walk(find_walk(parse_map("A.B"), "B", "B")) == "stay"


def test_a_walk_on_a_map_can_be_formatted() -> None:
    assert format_walk(find_walk(parse_map("A..#\n.#.B"), "A", "B")) == "2E S E"
    assert format_walk(find_walk(parse_map("B#\n..\n#A"), "A", "B")) == "N W N"
