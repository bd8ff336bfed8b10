from collections.abc import Callable

from routes import Cell, find_walk, parse_map
from routes.errors import ParseError
from routes.grid import distance


def raised(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return ""


def failing_line(text: str) -> int:
    try:
        parse_map(text)
    except ParseError as error:
        return error.line
    return 0


def costs(text: str) -> dict[tuple[int, int], int]:
    return {(cell.row, cell.column): cost for cell, cost in parse_map(text).costs.items()}


def places(text: str) -> dict[str, tuple[int, int]]:
    return {sign: (cell.row, cell.column) for sign, cell in parse_map(text).places.items()}


def moves(text: str, row: int, column: int) -> list[tuple[int, int, int]]:
    found = parse_map(text).moves(Cell(row, column))
    return [(direction, cell.row, cell.column) for direction, cell in found]


def walk(text: str, start: str = "A", goal: str = "B") -> tuple[int, str]:
    found = find_walk(parse_map(text), start, goal)
    return found.cost, found.moves


def settled(text: str) -> int:
    return find_walk(parse_map(text), "A", "B").settled


def test_open_cells_have_costs_and_walls_have_none() -> None:
    assert costs(".#2\n 9.") == {(0, 0): 1, (0, 2): 2, (1, 1): 9, (1, 2): 1}
    assert costs("1#\n#8") == {(0, 0): 1, (1, 1): 8}
    assert costs("##\n  ") == {}


def test_letters_are_places_that_cost_one() -> None:
    assert costs("A5\n.Z") == {(0, 0): 1, (0, 1): 5, (1, 0): 1, (1, 1): 1}
    assert places("A5\n.Z") == {"A": (0, 0), "Z": (1, 1)}
    assert places("..M") == {"M": (0, 2)}


def test_newlines_around_the_map_do_not_count() -> None:
    assert places("\n\nA.\n.B\n") == {"A": (0, 0), "B": (1, 1)}
    assert costs("\n..\n") == {(0, 0): 1, (0, 1): 1}


def test_rows_may_differ_in_length_and_be_empty() -> None:
    assert costs(".\n\n.3") == {(0, 0): 1, (2, 0): 1, (2, 1): 3}
    assert moves("..\n.", 0, 1) == [(3, 0, 0)]


def test_a_place_used_twice_is_reported_with_its_line() -> None:
    assert failing_line("A.A") == 1
    assert failing_line("A.\nB.\n.B") == 3
    assert failing_line("A.\nB.\n.C") == 0


def test_other_characters_are_reported_with_their_line() -> None:
    assert failing_line("..\n.x") == 2
    assert failing_line(".0") == 1
    assert failing_line("A9\n..\n@.") == 3
    assert failing_line("[]") == 1
    assert failing_line("..\n:") == 2


def test_moves_go_north_east_south_and_west() -> None:
    assert moves("...\n...\n...", 1, 1) == [(0, 0, 1), (1, 1, 2), (2, 2, 1), (3, 1, 0)]
    assert moves("...\n...\n...", 0, 0) == [(1, 0, 1), (2, 1, 0)]
    assert moves("...\n...\n...", 2, 2) == [(0, 1, 2), (3, 2, 1)]


def test_moves_do_not_enter_walls() -> None:
    assert moves(".#.\n...\n.#.", 1, 1) == [(1, 1, 2), (3, 1, 0)]
    assert moves("#.#\n#.#\n#.#", 1, 1) == [(0, 0, 1), (2, 2, 1)]
    assert moves("#", 0, 0) == []


def test_the_distance_counts_rows_and_columns() -> None:
    assert distance(Cell(1, 2), Cell(4, 9)) == 10
    assert distance(Cell(4, 9), Cell(1, 2)) == 10
    assert distance(Cell(0, 5), Cell(3, 1)) == 7
    assert distance(Cell(2, 2), Cell(2, 2)) == 0


def test_a_walk_goes_straight_where_it_can() -> None:
    assert walk("A...B") == (4, "EEEE")
    assert walk("B...A") == (4, "WWWW")
    assert walk("A\n.\nB") == (2, "SS")
    assert walk("A\n.\nB", "B", "A") == (2, "NN")


def test_a_walk_goes_around_walls() -> None:
    assert walk("A#B\n.#.\n...") == (6, "SSEENN")
    assert walk("...\n.#.\nA#B") == (6, "NNEESS")


def test_each_cell_but_the_first_is_paid() -> None:
    assert walk("A35B") == (9, "EEE")
    assert walk("A35B", "B", "A") == (9, "WWW")
    assert walk("A2\n#7\n#B") == (10, "ESS")


def test_a_cheap_detour_beats_an_expensive_short_cut() -> None:
    assert walk("A9B\n...") == (4, "SEEN")
    assert walk("A3B\n222") == (4, "EE")


def test_of_equally_cheap_walks_the_one_with_the_fewest_moves_is_best() -> None:
    assert walk("...\nA3B") == (4, "EE")
    assert walk("....\nA.3B") == (5, "EEE")
    assert walk(".....\nA.4.B") == (6, "NEEEES")
    assert walk("....\nA22B\n....") == (5, "EEE")


def test_of_walks_with_as_many_moves_the_first_that_differs_decides() -> None:
    assert walk("A.\n.B") == (2, "ES")
    assert walk("B.\n.A") == (2, "NW")
    assert walk(".A\nB.") == (2, "SW")
    assert walk("...\nA#B\n...") == (4, "NEES")


def test_the_later_moves_decide_when_the_first_are_equal() -> None:
    assert walk("A..\n...\n..B") == (4, "EESS")
    assert walk("..B\n...\nA..") == (4, "NNEE")
    assert walk("A.#\n...\n#.B") == (4, "ESES")


def test_a_walk_to_the_same_place_has_no_moves() -> None:
    assert walk("A.B", "A", "A") == (0, "")
    assert walk("A.B\n9..", "B", "B") == (0, "")
    assert find_walk(parse_map("..A"), "A", "A").settled == 1


def test_only_promising_cells_are_settled() -> None:
    assert settled("..........\n..A...B...\n..........") == 5
    assert settled("AB") == 2
    assert settled("A....\n.....\n....B") == 15


def test_walls_and_costs_make_more_cells_settle() -> None:
    assert settled("..A#B\n.....") == 6
    assert settled(".A5B.\n.....") == 6


def test_there_is_no_walk_through_walls() -> None:
    assert raised(lambda: walk("A#B")) == "NoPath"
    assert raised(lambda: walk("A.#\n.#B")) == "NoPath"


def test_both_places_must_be_on_the_map() -> None:
    assert raised(lambda: walk("A.C")) == "UnknownNode"
    assert raised(lambda: walk("C.B")) == "UnknownNode"
    assert raised(lambda: walk("A.B", "A", "A")) == ""
