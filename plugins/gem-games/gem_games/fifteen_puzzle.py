"""FifteenPuzzle: slide tiles into the one gap until they are in order."""

import functools
import heapq
import re
from itertools import pairwise, product
from math import isqrt
from typing import Literal

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import Game, Outcome, boxed, check_range

__all__ = ["FifteenPuzzleEnv", "FifteenPuzzleOracle", "board_of", "is_solvable", "ordered_tiles"]

_RULES = """\
You are playing the {greatest}-puzzle.
The board has {rows} rows and {rows} columns with tiles numbered 1 to {greatest} and one gap, \
shown as __. Bring the tiles into order within {max_turns} turns:
{goal}
Each turn you slide one tile into the gap. The direction is the one in which the tile moves: up \
moves the tile below the gap up, left moves the tile right of the gap to the left, and so on. \
A direction in which no tile can move changes nothing, but uses up a turn.
Write your move inside \\boxed{{}}: \\boxed{{up}}, \\boxed{{down}}, \\boxed{{left}} or \
\\boxed{{right}}. You may reason before it; if there are several boxes, the last one counts. A \
reply without a valid box ends the game.
The history of your moves and the current board will follow here.
Make your first move."""
_STYLES = {r"\d+": "bold cyan", "__": "yellow"}

# The offset (rows down, columns right) from the gap to the tile that moves in a direction.
_SOURCES = {"up": (1, 0), "down": (-1, 0), "left": (0, 1), "right": (0, -1)}
_TURNS = {2: 10, 3: 20, 4: 50}
# The number of moves for the hardest board; for 5 rows, the best proven upper bound.
_FARTHEST = {2: 6, 3: 31, 4: 80, 5: 208}

_TEXTS: dict[int | None, str] = {None: "__", **{tile: f"{tile:2}" for tile in range(1, 100)}}

Board = list[list[int | None]]


class FifteenPuzzleEnv(Game):
    """Slide tiles into order. Every start can be solved within the turn limit.

    The reward is 1.0 for the ordered board; at the turn limit, the share of all cells (including
    the gap) that are as in the ordered board; and 0.0 for every other move.

    Args:
        num_rows: The number of rows and columns, 2 to 10. None draws 2, 3 or 4 in each episode.
        max_turns: The number of moves, 1 to 10,000. None means 10, 20 and 50 for 2, 3 and 4 rows
            and ``num_rows ** 3`` for more; with ``pure_random``, the moves of the hardest board.
        init_algo: How to draw the start. ``monte_carlo`` makes random moves from the ordered board,
            never directly back, and no more than there are turns; with 2 rows, all starts within
            the turn limit are equally likely. ``pure_random`` makes all solvable boards of 2 to 5
            rows equally likely; ``max_turns`` must allow for the hardest of them (6, 31, 80 and
            208 moves).
        mc_rand_moves: The maximum number of moves of ``monte_carlo``, 1 to 10,000; half of the
            starts use one move less, as the parity of the moves limits the positions of the gap.
    """

    pattern = boxed("(up|down|left|right)", re.IGNORECASE | re.ASCII)
    action_format = "\\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        num_rows: int | None = 2,
        max_turns: int | None = 20,
        init_algo: Literal["monte_carlo", "pure_random"] = "monte_carlo",
        mc_rand_moves: int = 100,
    ) -> None:
        if init_algo not in ("monte_carlo", "pure_random"):
            raise ConfigError(
                f"init_algo must be 'monte_carlo' or 'pure_random'; got {init_algo!r}."
            )
        pure_random = init_algo == "pure_random"
        check_range("num_rows", num_rows, 2, max(_FARTHEST) if pure_random else 10)
        check_range("max_turns", max_turns, 1, 10_000)
        # ``check_range`` accepts None, which is not allowed here.
        check_range("mc_rand_moves", 0 if mc_rand_moves is None else mc_rand_moves, 1, 10_000)
        self._sizes = list(_TURNS) if num_rows is None else [num_rows]
        if pure_random and max_turns is not None:
            self._sizes = [rows for rows in self._sizes if _FARTHEST[rows] <= max_turns]
        if not self._sizes:
            raise ConfigError(
                f"pure_random needs max_turns of at least {_FARTHEST[num_rows or 2]} for "
                f"{num_rows or 2} rows, so that every start can be solved; got {max_turns}. "
                f"Increase it, or use monte_carlo."
            )
        self._max_turns = max_turns
        self.init_algo = init_algo
        self.mc_rand_moves = mc_rand_moves

    def start(self) -> tuple[Observation, Info]:
        rows = self.num_rows = self.rng.choice(self._sizes)
        pure_random = self.init_algo == "pure_random"
        usual = _FARTHEST[rows] if pure_random else _TURNS.get(rows, rows**3)
        self.max_turns = self._max_turns or usual
        self.greatest_num = rows * rows - 1
        self.goal_board = board_of(ordered_tiles(rows))
        draw = self._shuffle if pure_random else self._walk
        while (tiles := draw()) == ordered_tiles(rows):
            pass
        self.board, self._gap = board_of(tiles), divmod(tiles.index(None), rows)
        return self.opening(_rules(rows, self.max_turns))

    def _walk(self) -> list[int | None]:
        """Make random moves from the ordered board, none of which undoes the previous one."""
        most = min(self.mc_rand_moves, self.max_turns)
        if self.num_rows == 2:
            # The 12 solvable boards form a cycle, and the walk goes around it.
            moves = self.rng.choice([n for n in range(1, 12) if min(n, 12 - n) <= most])
        else:
            moves = max(1, most - self.rng.randint(0, 1))
        tiles, onward = ordered_tiles(self.num_rows), _onward(self.num_rows)
        before, gap, random = -1, len(tiles) - 1, self.rng.random
        for _ in range(moves):
            cells = onward[before, gap]
            before, gap = gap, cells[int(random() * len(cells))]
            tiles[before], tiles[gap] = tiles[gap], None
        return tiles

    def _shuffle(self) -> list[int | None]:
        """Return the tiles in a random order that can be solved."""
        rows = self.num_rows
        tiles = ordered_tiles(rows)
        self.rng.shuffle(tiles)
        gap = tiles.index(None)
        if not is_solvable(tiles, rows):
            first, second = self.rng.sample([i for i in range(rows * rows) if i != gap], 2)
            tiles[first], tiles[second] = tiles[second], tiles[first]
        return tiles

    def play(self, match: re.Match[str]) -> Outcome:
        direction, turn = match[1].lower(), self.turn_count
        tile = self.slide(direction)
        if tile is None:
            return f"Turn {turn}: no tile can move {direction}.", 0.0, False
        row, column = self._gap
        if row == column == self.num_rows - 1 and self.board == self.goal_board:
            return f"Turn {turn}: {tile} moved {direction}. All is in order. You win!", 1.0, True
        return f"Turn {turn}: {tile} moved {direction}.", 0.0, False

    def slide(self, direction: str) -> int | None:
        """Slide a tile into the gap and return it; None if no tile can move so."""
        (gap_row, gap_column), (down, right) = self._gap, _SOURCES[direction]
        row, column = gap_row + down, gap_column + right
        if not (0 <= row < self.num_rows and 0 <= column < self.num_rows):
            return None
        tile = self.board[gap_row][gap_column] = self.board[row][column]
        self.board[row][column] = None
        self._gap = row, column
        return tile

    def reward_at_limit(self, reward: float) -> float:
        pairs = zip(self.board, self.goal_board, strict=True)
        right = sum(a == b for row, goal in pairs for a, b in zip(row, goal, strict=True))
        return right / self.num_rows**2

    def render(self) -> str:
        return f"The board:\n{_drawn(self.board)}\n\nYour next move:"

    def sample_random_action(self) -> Action:
        (row, column), cells = self._gap, range(self.num_rows)
        legal = [
            name
            for name, (down, right) in _SOURCES.items()
            if row + down in cells and column + right in cells
        ]
        return f"\\boxed{{{self.action_rng.choice(legal)}}}"


@functools.lru_cache
def _rules(rows: int, max_turns: int) -> str:
    goal = _drawn(board_of(ordered_tiles(rows)))
    return _RULES.format(greatest=rows * rows - 1, rows=rows, max_turns=max_turns, goal=goal)


def ordered_tiles(rows: int) -> list[int | None]:
    """Return the tiles in order, row by row; None is the gap."""
    return [*range(1, rows * rows), None]


def board_of(tiles: list[int | None]) -> Board:
    """Return the rows of tiles."""
    rows = isqrt(len(tiles))
    return [tiles[start : start + rows] for start in range(0, len(tiles), rows)]


@functools.cache
def _onward(rows: int) -> dict[tuple[int, int], list[int]]:
    """Return the next cells of the gap, by its previous cell (-1 for none) and its cell."""
    beside = [
        [
            row * rows + column
            for row, column in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
            if 0 <= row < rows and 0 <= column < rows
        ]
        for r, c in product(range(rows), repeat=2)
    ]
    return {
        (before, gap): [cell for cell in cells if cell != before]
        for gap, cells in enumerate(beside)
        for before in (-1, *cells)
    }


def _drawn(board: Board) -> str:
    return "\n".join([" ".join([_TEXTS[tile] for tile in row]) for row in board])


def is_solvable(tiles: list[int | None], rows: int) -> bool:
    """Return whether the tiles can be brought into order.

    A move swaps the gap with a tile and moves it by one cell, so the parity of the permutation plus
    the distance of the gap from its corner never changes; for the ordered board it is even.
    """
    order = [tile or rows * rows for tile in tiles]
    inversions = sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])
    row, column = divmod(tiles.index(None), rows)
    return (inversions + row + column) % 2 == 0


_CELL = r"(?: ?\d+|__)"
_BOARD = re.compile(rf"(?:^{_CELL}(?: {_CELL})+$\n?)+", re.MULTILINE)
_LIMIT = re.compile(r"order within (\d+) turns")
_SEARCHED = 60_000
_NO_LIMIT = 10**6

State = tuple[int, ...]
"""The tiles row by row; 0 is the gap."""
Line = tuple[slice, State]
"""The cells of a row or column in a state, and the tiles that belong there."""


class FifteenPuzzleOracle(BaseAgent):
    """An agent that searches for a solution within the turn limit once, and then follows it."""

    def reset(self, env: Env) -> None:
        self._policy: dict[State, str] = {}
        self._limit = _NO_LIMIT

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        boards = _BOARD.findall(text)
        if not boards:
            raise ValueError("FifteenPuzzleOracle found no board in the observation.")
        limit = _LIMIT.search(text)
        if limit is not None:
            self._limit = int(limit[1])
        state = tuple(int(cell) if cell != "__" else 0 for cell in boards[-1].split())
        if state not in self._policy:
            self._plan(state)
        return f"\\boxed{{{self._policy[state]}}}"

    def _plan(self, start: State) -> None:
        rows = round(len(start) ** 0.5)
        directions = {1: "left", -1: "right", rows: "up", -rows: "down"}
        # If no solution is found in time, make any legal move.
        self._policy[start] = "down" if start.index(0) >= rows else "up"
        for before, after in pairwise(_solve(start, rows, self._limit)):
            self._policy[before] = directions[after.index(0) - before.index(0)]


def _solve(start: State, rows: int, limit: int) -> list[State]:
    """Return the boards of a solution of at most ``limit`` moves, or else of any length."""
    searches = [(2.0, limit), (1.2, limit), (5.0, _NO_LIMIT)]
    paths = (_weighted_a_star(start, rows, *search) for search in searches)
    return next((path for path in paths if path), [])


def _weighted_a_star(start: State, rows: int, greed: float, limit: int) -> list[State]:
    """Search in order of moves made plus ``greed`` times a lower bound of the remaining moves.

    The bound is the sum of the tiles' distances to their places and ``_steps_aside`` of each line.
    A greed above 1 finds long solutions fast. Boards too far away for the limit are skipped. The
    result is empty if no solution was found in time.
    """
    distances, moves_from, lines = _distances(rows), _moves_from(rows), _lines(rows)
    left = sum(distances[tile][cell] for cell, tile in enumerate(start))
    left += sum(_steps_aside(start[line], tiles) for line, tiles in lines)
    parents: dict[State, State | None] = {start: None}
    made = {start: 0}
    heap = [(greed * left, left, 0, start)]
    while heap and len(made) < _SEARCHED:
        _, left, moves, state = heapq.heappop(heap)
        if left == 0:
            return _path(parents, state)
        if moves > made[state]:
            continue
        moves += 1
        gap = state.index(0)
        for cell, crossed in moves_from[gap]:
            tile = state[cell]
            swapped = list(state)
            swapped[gap], swapped[cell] = tile, 0
            after = tuple(swapped)
            if moves >= made.get(after, _NO_LIMIT):
                continue
            still = left + distances[tile][gap] - distances[tile][cell]
            for line, tiles in crossed:
                still += _steps_aside(after[line], tiles) - _steps_aside(state[line], tiles)
            if moves + still <= limit:
                made[after], parents[after] = moves, state
                heapq.heappush(heap, (moves + greed * still, still, moves, after))
    return []


def _path(parents: dict[State, State | None], last: State) -> list[State]:
    path, state = [last], parents[last]
    while state is not None:
        path.append(state)
        state = parents[state]
    return path[::-1]


def _distances(rows: int) -> list[list[int]]:
    """Return for each tile the distance of each cell to the tile's place; 0 for the gap."""
    cells = range(rows * rows)
    table = [[0] * len(cells)]
    for place in cells[:-1]:
        row, column = divmod(place, rows)
        table.append([abs(c // rows - row) + abs(c % rows - column) for c in cells])
    return table


def _lines(rows: int) -> list[Line]:
    """Return the rows, then the columns."""
    size = rows * rows
    parts = [slice(i * rows, (i + 1) * rows) for i in range(rows)]
    parts += [slice(i, size, rows) for i in range(rows)]
    return [(part, tuple(range(1, size))[part]) for part in parts]


def _moves_from(rows: int) -> list[list[tuple[int, list[Line]]]]:
    """Return, for each cell of the gap, its neighbours and the lines whose order a move changes.

    A move along a row keeps the order in that row and changes the two columns.
    """
    lines, table = _lines(rows), []
    for gap in range(rows * rows):
        row, column = divmod(gap, rows)
        across = [c for c in (column - 1, column + 1) if 0 <= c < rows]
        along = [r for r in (row - 1, row + 1) if 0 <= r < rows]
        moves = [(row * rows + c, [lines[rows + column], lines[rows + c]]) for c in across]
        moves += [(r * rows + column, [lines[row], lines[r]]) for r in along]
        table.append(moves)
    return table


@functools.lru_cache(maxsize=2**17)
def _steps_aside(line: State, tiles: State) -> int:
    """Return the number of moves that tiles must make out of a row or column and back.

    Of the tiles that belong in the line, those outside the longest ordered subsequence must let
    others pass: two moves each, in addition to their distances (the linear conflicts of Hansson,
    Mayer and Yung, 1992).
    """
    here = [tile for tile in line if tile in tiles]
    longest: list[int] = []
    for i, tile in enumerate(here):
        shorter = [length for length, other in zip(longest, here[:i], strict=True) if other < tile]
        longest.append(1 + max(shorter, default=0))
    return 2 * (len(here) - max(longest, default=0))
