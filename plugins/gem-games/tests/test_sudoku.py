"""Sudoku: its rules, its grids, its parameters, and its oracle."""

import itertools
import math
import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games import sudoku
from gem_games.sudoku import SudokuEnv, SudokuOracle
from gem_games.sudoku_grid import MOST_EMPTY, make_puzzle, solve

FOUR = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]


def demands(cell, number, size):
    """Return the constraints that a number in a cell satisfies: its cell, row, column and box."""
    row, column = divmod(cell, size)
    box = math.isqrt(size)
    block = row // box * box + column // box
    units = {"row": row, "column": column, "box": block}
    return [("cell", cell), *((kind, index, number) for kind, index in units.items())]


class ExactCover:
    """Counts the exact covers of all constraints (Knuth's algorithm X on sets)."""

    def __init__(self, size):
        choices = itertools.product(range(size * size), range(1, size + 1))
        self.fulfils = {choice: demands(*choice, size) for choice in choices}
        self.options = {}
        for choice, fulfilled in self.fulfils.items():
            for demand in fulfilled:
                self.options.setdefault(demand, set()).add(choice)

    def is_open(self, choice):
        return all(choice in self.options.get(demand, ()) for demand in self.fulfils[choice])

    def choose(self, choice):
        """Select a choice, and remove all others that share a constraint with it."""
        taken = []
        for demand in self.fulfils[choice]:
            for other in self.options[demand]:
                for further in self.fulfils[other]:
                    if further != demand:
                        self.options[further].discard(other)
            taken.append(self.options.pop(demand))
        return taken

    def undo(self, choice, taken):
        for demand in reversed(self.fulfils[choice]):
            self.options[demand] = taken.pop()
            for other in self.options[demand]:
                for further in self.fulfils[other]:
                    if further != demand:
                        self.options[further].add(other)

    def count(self, most):
        if not self.options:
            return 1
        found = 0
        for choice in list(min(self.options.values(), key=len)):
            taken = self.choose(choice)
            found += self.count(most - found)
            self.undo(choice, taken)
            if found >= most:
                break
        return found


def count_solutions(grid, size, most=2):
    """Count the solutions of a flat grid, up to ``most``."""
    cover = ExactCover(size)
    for choice in enumerate(grid):
        if choice[1]:
            if not cover.is_open(choice):
                return 0
            cover.choose(choice)
    return cover.count(most)


def is_solved(grid, size):
    """Return whether each row, column and box of a flat grid contains each number."""
    units = Counter()
    for cell, number in enumerate(grid):
        units.update(demands(cell, number, size)[1:])
    return len(units) == 3 * size * size and set(units.values()) == {1}


def flat(rows):
    return list(itertools.chain(*rows))


def with_board(*empty, max_turns=20):
    """Return an environment on a known board of scale 4 with the given empty cells, from 0."""
    env = SudokuEnv(scale=4, empty_cells=len(empty), max_turns=max_turns)
    env.reset(seed=0)
    env.full_grid = FOUR
    env.board = [
        [0 if (r, c) in empty else number for c, number in enumerate(row)]
        for r, row in enumerate(FOUR)
    ]
    env._view = sudoku.drawn(env.board)
    return env


def fill(env, row, column, number):
    return env.step(f"I fill \\boxed{{{row} {column} {number}}}.")


def test_the_checker_of_these_tests_counts_solutions():
    assert count_solutions(flat(FOUR), 4) == 1
    assert count_solutions([0] * 16, 4, most=1000) == 288
    assert count_solutions([1, 1] + [0] * 14, 4) == 0
    assert count_solutions([1, 2, 3, 0, 0, 0, 0, 4] + [0] * 8, 4) == 0


def test_the_board_shows_names_numbers_dots_and_subgrids():
    env = with_board((0, 1), (2, 0), (3, 3))
    fill(env, 1, 2, 2)
    assert env.render().split("\n") == [
        "Current board:",
        "    C1 C2   C3 C4",
        "R1   1  2 |  3  4",
        "R2   3  4 |  1  2",
        "-----------------",
        "R3   .  1 |  4  3",
        "R4   4  3 |  2  .",
        "",
        "Your next move:",
    ]


def shown_numbers(board_text, scale):
    """Return the rows of a drawn board, read by the columns below the names."""
    _, header, *lines = board_text.split("\n")
    ends = [match.end() for match in re.finditer(r"C\d+", header)]
    rows = [line for line in lines if line.startswith("R")]
    assert len(ends) == len(rows) == scale
    return [[line[end - 2 : end].strip() for end in ends] for line in rows]


@pytest.mark.parametrize("scale", [4, 9, 16])
def test_the_board_lines_up_with_its_names_and_follows_every_move(scale):
    env, oracle = SudokuEnv(scale=scale, empty_cells=12), SudokuOracle()
    observation, info = env.reset(seed=1)
    oracle.reset(env)
    for _ in range(12):
        observation, _, _, _, info = env.step(oracle.act(observation, info))
        shown = shown_numbers(info["suffix"], scale)
        assert shown == [[str(number or ".") for number in row] for row in env.board]


@pytest.mark.parametrize(("scale", "box"), [(4, 2), (9, 3), (16, 4)])
def test_the_rules_name_the_right_subgrids_and_counts(scale, box):
    rules, _ = SudokuEnv(scale=scale, empty_cells=7, max_turns=9).reset(seed=0)
    assert f"{scale}x{scale} board" in rules
    assert f"the {scale} subgrids of {box}x{box} cells" in rules
    assert "7 cells are empty, and you have 9 turns" in rules


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=100 if thorough() else 20)
def test_the_example_of_the_rules_is_a_number_that_the_board_shows_already(seed):
    env = gem_core.make("game:Sudoku-v0-random")
    rules, _ = env.reset(seed=seed)
    row, column, number = map(int, re.search(r"\\boxed\{(\d+) (\d+) (\d+)\}", rules).groups())
    assert env.board[row - 1][column - 1] == number


def test_a_number_of_the_solution_is_filled_in_and_earns_its_share():
    env = with_board((0, 1), (2, 0), (3, 3))
    step = fill(env, 3, 1, 2)
    assert step[1:4] == (1 / 3, False, False)
    assert step.observation == ("Turn 1: 2 is right for row 3, column 1. Empty cells left: 2.")
    assert "R3   2  1 |  4  3" in step.info["suffix"]


def test_the_last_number_wins():
    env = with_board((0, 1), (2, 0))
    assert fill(env, 1, 2, 2)[1:4] == (0.5, False, False)
    step = fill(env, 3, 1, 2)
    assert step[1:4] == (0.5, True, False)
    assert "win" in step.observation


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ((1, 1, 1), "row 1, column 1 holds a number already"),
        ((1, 1, 3), "row 1, column 1 holds a number already"),
        ((0, 1, 1), "must be from 1 to 4"),
        ((1, 5, 1), "must be from 1 to 4"),
        ((1, 2, 0), "must be from 1 to 4"),
        ((1, 2, "9" * 4_000), "must be from 1 to 4"),
        ((1, 2, 4), "4 is not the solution's number for row 1, column 2"),
    ],
)
def test_an_invalid_or_wrong_move_changes_nothing_and_says_why(move, reason):
    env = with_board((0, 1), (2, 0))
    before = env.render(), [list(row) for row in env.board]
    step = fill(env, *move)
    assert step[1:4] == (0.0, False, False)
    assert step.observation.startswith("Turn 1: ")
    assert reason in step.observation
    assert (env.render(), env.board) == before


def test_the_limit_earns_what_the_turn_earns():
    env = with_board((0, 1), (2, 0), max_turns=2)
    fill(env, 1, 2, 4)
    assert fill(env, 1, 2, 2)[1:4] == (0.5, False, True)


@pytest.mark.parametrize("text", ["1 2 2", "  1   2\t2\n", "01 002 2"])
def test_spaces_and_padding_do_not_matter(text):
    assert with_board((0, 1), (2, 0)).step(f"\\boxed{{{text}}}").reward == 0.5


@pytest.mark.parametrize("text", ["", "1 2", "1 2 2 2", "1, 2, 2", "R1 C2 2", "1 2 -2", "122"])
def test_anything_but_three_numbers_ends_the_game(text):
    step = with_board((0, 1), (2, 0)).step(f"\\boxed{{{text}}}")
    assert step[1:4] == (-0.1, True, False)
    assert "Turn 1" in step.observation


boards = st.sampled_from(sorted(MOST_EMPTY)).flatmap(
    lambda scale: st.tuples(st.just(scale), st.integers(1, MOST_EMPTY[scale]))
)


@pytest.mark.slow
@settings(max_examples=60 if thorough() else 15)
@given(board=boards, seed=st.integers(0, 10**6))
def test_a_puzzle_has_exactly_the_requested_empty_cells_and_one_solution(board, seed):
    scale, empty_cells = board
    puzzle, solution = make_puzzle(scale, empty_cells, random.Random(seed))
    assert puzzle.count(0) == empty_cells
    assert is_solved(solution, scale)
    assert all(clue in {0, number} for clue, number in zip(puzzle, solution, strict=True))
    assert count_solutions(puzzle, scale) == 1


@pytest.mark.slow
@pytest.mark.parametrize("scale", [4, 9])
def test_a_puzzle_with_the_most_empty_cells_has_one_solution_too(scale):
    for seed in range(20 if thorough() else 8):
        puzzle, _ = make_puzzle(scale, MOST_EMPTY[scale], random.Random(seed))
        assert puzzle.count(0) == MOST_EMPTY[scale]
        assert count_solutions(puzzle, scale) == 1


@pytest.mark.slow
def test_all_grids_of_scale_4_occur():
    rng = random.Random(0)
    grids = {tuple(make_puzzle(4, 1, rng)[1]) for _ in range(4000)}
    assert len(grids) == 288


@pytest.mark.slow
def test_every_cell_of_scale_9_is_emptied_and_takes_every_number():
    seen, empty = set(), Counter()
    for seed in range(150):
        puzzle, solution = make_puzzle(9, 50, random.Random(seed))
        seen.update(enumerate(solution))
        empty.update(cell for cell, number in enumerate(puzzle) if not number)
    assert len(seen) == 81 * 9
    assert len(empty) == 81
    assert max(empty.values()) < 150


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(board=boards, seed=st.integers(0, 10**6))
def test_the_solver_finds_the_solution_of_a_puzzle(board, seed):
    scale, empty_cells = board
    puzzle, solution = make_puzzle(scale, empty_cells, random.Random(seed))
    assert solve(puzzle, scale) == list(solution)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 4)), max_size=8))
@settings(max_examples=100 if thorough() else 40)
def test_the_solver_tells_grids_without_a_solution_from_the_others(clues):
    grid = [0] * 16
    for cell, number in clues:
        grid[cell] = number
    solution = solve(grid, 4)
    if count_solutions(grid, 4):
        assert is_solved(solution, 4)
        assert all(clue in {0, number} for clue, number in zip(grid, solution, strict=True))
    else:
        assert solution is None


@pytest.mark.slow
@given(seed=st.integers(0, 10**6))
@settings(max_examples=100 if thorough() else 20)
def test_the_puzzle_agrees_with_its_solution(seed):
    env = gem_core.make("game:Sudoku-v0-random")
    env.reset(seed=seed)
    assert flat(env.board).count(0) == env.init_num_empty
    assert solve(flat(env.board), env.scale) == flat(env.full_grid)


def test_the_random_level_draws_one_of_two_tasks():
    env = gem_core.make("game:Sudoku-v0-random")
    drawn = set()
    for seed in range(30):
        env.reset(seed=seed)
        drawn.add((env.scale, env.init_num_empty, env.max_turns))
    assert drawn == {(4, 10, 15), (9, 50, 50)}


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 30)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([None, 4, 9, 16]),
    empty_cells=st.none() | st.integers(1, 110),
    max_turns=st.none() | st.integers(1, 110),
)
def test_given_options_are_kept_and_the_rest_are_drawn(seed, scale, empty_cells, max_turns):
    parameters = {"scale": scale, "empty_cells": empty_cells, "max_turns": max_turns}
    if (empty_cells or 1) > min(max_turns or 110, MOST_EMPTY[scale or 16]):
        with pytest.raises(ConfigError):
            SudokuEnv(**parameters)
        return
    env = SudokuEnv(**parameters)
    env.reset(seed=seed)
    assert scale in {None, env.scale}
    assert empty_cells in {None, env.init_num_empty}
    assert max_turns in {None, env.max_turns}
    assert flat(env.board).count(0) == env.init_num_empty <= env.max_turns


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"scale": 5}, "scale"),
        ({"scale": 25}, "scale"),
        ({"scale": 9.0}, "scale"),
        ({"scale": [9]}, "scale"),
        ({"empty_cells": 0}, "empty_cells"),
        ({"empty_cells": 55}, "empty_cells"),
        ({"scale": 4, "empty_cells": 13}, "empty_cells"),
        ({"scale": None, "empty_cells": 121}, "empty_cells"),
        ({"max_turns": 0}, "max_turns"),
        ({"empty_cells": 30, "max_turns": 29}, "max_turns"),
    ],
)
def test_invalid_options_are_rejected_by_name(parameters, name):
    with pytest.raises(ConfigError, match=f"^{name} must be"):
        SudokuEnv(**parameters)


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 15)
@given(seed=st.integers(0, 10**6))
def test_random_actions_go_to_empty_cells(seed):
    env = gem_core.make("game:Sudoku-v0-random")
    env.reset(seed=seed)
    ended = False
    while not ended:
        step = env.step(env.sample_random_action())
        assert re.search("is right|is not the solution's|limit", step.observation)
        ended = step.terminated or step.truncated


@pytest.mark.parametrize(("scale", "empty_cells"), [(4, 12), (9, 54), (16, 120)])
def test_the_oracle_solves_the_hardest_boards(scale, empty_cells):
    env = SudokuEnv(scale=scale, empty_cells=empty_cells, max_turns=empty_cells)
    oracle = SudokuOracle()
    for seed in range(5 if thorough() else 2):
        observation, info = env.reset(seed=seed)
        oracle.reset(env)
        for _ in range(empty_cells):
            observation, reward, terminated, _, info = env.step(oracle.act(observation, info))
            assert reward == 1 / empty_cells
        assert terminated


def test_the_oracle_takes_over_a_board_that_another_player_began():
    env, oracle = with_board((0, 1), (2, 0), (3, 3)), SudokuOracle()
    step = fill(env, 3, 1, 2)
    oracle.reset(env)
    assert oracle.act(step.observation, step.info) == "\\boxed{1 2 2}"
