from collections.abc import Callable

from routes import Graph, UnionFind, components, parse_graph, spanning_tree, topological_order
from routes.errors import CycleFound


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def order(text: str) -> str:
    return " ".join(topological_order(parse_graph(text, directed=True)))


def cycle(text: str) -> list[str]:
    try:
        order(text)
    except CycleFound as error:
        return error.cycle
    return []


def message(text: str) -> str:
    try:
        order(text)
    except CycleFound as error:
        return str(error)
    return ""


def tree(text: str) -> list[str]:
    return [f"{edge.start}{edge.end}{edge.weight}" for edge in spanning_tree(parse_graph(text))]


def test_every_name_starts_in_a_group_of_its_own() -> None:
    union = UnionFind("dab")
    assert union.count == 3
    assert [union.leader(name) for name in "dab"] == ["d", "a", "b"]


def test_the_leader_of_a_group_is_its_first_name() -> None:
    union = UnionFind("abcdef")
    union.join("e", "c")
    assert (union.leader("e"), union.leader("c")) == ("c", "c")
    union.join("e", "f")
    union.join("b", "f")
    assert [union.leader(name) for name in "abcdef"] == ["a", "b", "b", "d", "b", "b"]


def test_joining_two_joined_groups_joins_all_their_names() -> None:
    union = UnionFind("abcdef")
    for pair in ["ab", "cd", "ef", "fd", "bc"]:
        union.join(pair[0], pair[1])
    assert [union.leader(name) for name in "abcdef"] == ["a"] * 6
    assert union.count == 1


def test_joining_tells_whether_the_groups_were_apart() -> None:
    union = UnionFind(["p", "q", "r"])
    assert [union.join("p", "q"), union.join("q", "p")] == [True, False]
    assert [union.join("r", "q"), union.join("p", "r")] == [True, False]
    assert union.join("q", "q") is False


def test_only_a_join_of_different_groups_lowers_the_count() -> None:
    union = UnionFind("wxyz")
    union.join("w", "x")
    union.join("x", "w")
    assert union.count == 3
    union.join("y", "z")
    union.join("z", "w")
    union.join("y", "x")
    assert union.count == 1


def test_large_components_come_first() -> None:
    assert components(parse_graph("a b\nx y\ny z")) == [["x", "y", "z"], ["a", "b"]]
    assert components(parse_graph("a\nc b\nd")) == [["b", "c"], ["a"], ["d"]]


def test_components_of_one_size_come_by_their_first_names() -> None:
    assert components(parse_graph("m z\nb y\nc x")) == [["b", "y"], ["c", "x"], ["m", "z"]]
    assert components(parse_graph("k\nj\nl")) == [["j"], ["k"], ["l"]]


def test_components_do_not_care_for_directions() -> None:
    arrows = parse_graph("a c\nb c\ne d", directed=True)
    assert components(arrows) == [["a", "b", "c"], ["d", "e"]]
    assert components(Graph(directed=True)) == []


def test_a_spanning_tree_leaves_out_edges_that_close_a_ring() -> None:
    assert tree("a b 1\nb c 2\na c 3") == ["ab1", "bc2"]
    assert tree("a b 7\nb c 2\nc d 4\na d 3\na c 6") == ["bc2", "ad3", "cd4"]


def test_a_spanning_tree_takes_edges_of_one_weight_in_order() -> None:
    assert tree("b c 1\na c 1\na b 1") == ["ab1", "ac1"]
    assert tree("c d 5\nb d 5\na c 5\na b 5") == ["ab5", "ac5", "bd5"]


def test_a_spanning_tree_covers_every_component() -> None:
    assert tree("x y 2\na b 3\nlone") == ["xy2", "ab3"]
    assert tree("lone") == []


def test_nodes_come_after_those_that_lead_to_them() -> None:
    assert order(
        "shirt tie\ntie jacket\ntrousers shoes\ntrousers belt\nbelt jacket\nsocks shoes"
    ) == ("shirt socks tie trousers belt jacket shoes")
    assert order("c b\nb a") == "c b a"


def test_nodes_that_can_be_next_come_by_name() -> None:
    assert order("d\nb\nc\na") == "a b c d"
    assert order("m a\nm z\nb c\nn") == "b c m a n z"


def test_a_node_waits_for_all_edges_that_lead_to_it() -> None:
    assert order("x a\ny a\nz a") == "x y z a"
    assert order("s a\ns b\na c\nb c\nc d\ns d") == "s a b c d"


def test_a_ring_is_reported_in_the_direction_of_its_edges() -> None:
    assert cycle("b c\nc a\na b") == ["a", "b", "c"]
    assert cycle("a c\nc b\nb d\nd a") == ["a", "c", "b", "d"]
    assert cycle("y x\nx y") == ["x", "y"]


def test_nodes_outside_the_ring_are_not_reported() -> None:
    assert cycle("a b\nb d\nd c\nc b\nd e") == ["b", "d", "c"]
    assert cycle("m n\nn m\nn a\na b") == ["m", "n"]


def test_of_several_cycles_the_one_met_on_the_way_back_is_reported() -> None:
    assert cycle("a b\nb a\nc d\nd c") == ["a", "b"]
    assert cycle("b x\nx b\nc x\nx c\nx a") == ["b", "x"]
    assert cycle("q a\nq r\nr q\np q\nq p") == ["p", "q"]


def test_the_message_of_a_cycle_closes_the_ring() -> None:
    assert message("b c\nc a\na b") == "a -> b -> c -> a"
    assert message("y x\nx y") == "x -> y -> x"


def test_a_graph_without_cycles_has_none_to_report() -> None:
    assert cycle("a b\na c\nb c") == []
    assert cycle("") == []


def test_each_question_needs_the_right_kind_of_graph() -> None:
    assert raised(lambda: topological_order(parse_graph("a b"))) == "InvalidGraph"
    assert raised(lambda: topological_order(Graph())) == "InvalidGraph"
    assert raised(lambda: spanning_tree(parse_graph("a b", directed=True))) == "InvalidGraph"
    assert raised(lambda: spanning_tree(Graph(directed=True))) == "InvalidGraph"
