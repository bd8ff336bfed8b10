"""Minesweeper: reveal every cell without a mine."""

import functools
import re

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_games.base import DIGITS, Game, Outcome, boxed, check_range
from gem_games.minesweeper_solver import Constraint, certain_cells, mine_chances

__all__ = ["MinesweeperEnv", "MinesweeperOracle"]

_RULES = """\
You are playing Minesweeper.
The board has {rows} rows and {cols} columns, numbered from 0, and hides {num_mines} mines. Reveal \
all {safe} cells without a mine within {max_turns} turns: then you win, whether or not you have \
flagged the mines. Revealing a mine ends the game.
On the board, . is a hidden cell, F is a cell you flagged, and a number is a revealed cell: how \
many of its up to eight neighbours are mines. Revealing a 0 also reveals all its neighbours that \
are not flagged, and so on. The mines are placed after your first reveal, {opening}.
Each turn you reveal or flag one cell, named by row and column:
\\boxed{{reveal 2 1}} reveals the cell in row 2, column 1.
\\boxed{{flag 2 1}} flags the hidden cell there, or takes the flag away. Flags are only notes.
Cells that are revealed or flagged already cannot be revealed: it uses up a turn. A flagged mine \
still explodes.
You may reason before the box; if there are several boxes, the last one counts. A reply without a \
valid box ends the game.
The history of your moves and the current board will follow here.
Make your first move."""
_CELL = r"(?<=  ){}(?=.* \n)"  # rows end in a space, the line of column numbers does not
_STYLES = {
    r"(?m)^ ?\d+ |^ {3,}[\d ]+$": "dim",
    _CELL.format("[.0]"): "dim",
    _CELL.format("1"): "bright_blue",
    _CELL.format("2"): "green",
    _CELL.format("3"): "yellow",
    _CELL.format("[4-8]"): "magenta",
    _CELL.format("F"): "bold red",
}

_NEARBY_SAFE = "never on that cell or one of its neighbours"
_ONE_SAFE = "never on that cell"
_MINE = -1
_LARGEST = 30

Cell = tuple[int, int]


class MinesweeperEnv(Game):
    """Reveal every cell without a mine.

    The first reveal is always safe. If the board has enough other cells for the mines, its
    neighbours are safe too, so that it opens an area.

    A reveal earns the share of all safe cells that it reveals, so the rewards of a won game add up
    to 1.0. Every other move earns 0.0.

    Args:
        rows: The number of rows, 2 to 30. None draws 5 to 8 in each episode.
        cols: The number of columns, 2 to 30. None means the same as ``rows`` if these are drawn
            too, and otherwise draws 5 to 8.
        num_mines: The number of mines, at least 1 and fewer than the cells of the smallest possible
            board. None means a fifth of the cells, rounded down, but at least 1.
        max_turns: The number of turns, 1 to 10,000. None means one for each cell.
    """

    pattern = boxed(rf"([a-zA-Z]+)\s+({DIGITS})\s+({DIGITS})")
    action_format = "\\boxed{reveal row column} or \\boxed{flag row column}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        rows: int | None = 8,
        cols: int | None = 8,
        num_mines: int | None = 10,
        max_turns: int | None = 20,
    ) -> None:
        check_range("rows", rows, 2, _LARGEST)
        check_range("cols", cols, 2, _LARGEST)
        check_range("num_mines", num_mines, 1, (rows or 5) * (cols or 5) - 1)
        check_range("max_turns", max_turns, 1, 10_000)
        self._parameters = (rows, cols, num_mines, max_turns)

    def start(self) -> tuple[Observation, Info]:
        rows, cols, num_mines, max_turns = self._parameters
        drawn = self.rng.randint(5, 8)
        self.rows, self.cols = rows, cols = rows or drawn, cols or drawn
        self.num_mines = num_mines or max(1, rows * cols // 5)
        self.max_turns = max_turns or rows * cols
        self.grid = [[0] * cols for _ in range(rows)]
        """The number of mines around each cell, -1 for a mine; all 0 before the first reveal."""
        self.revealed = [[False] * cols for _ in range(rows)]
        self.flags = [[False] * cols for _ in range(rows)]
        self.first_reveal = True
        self.hidden_safe = self.num_safe = rows * cols - self.num_mines
        self._symbols = [["."] * cols for _ in range(rows)]
        self._header = "   " + " ".join([f"{column:2}" for column in range(cols)])
        return self.opening(
            _RULES.format(
                rows=rows,
                cols=cols,
                num_mines=self.num_mines,
                safe=self.num_safe,
                max_turns=self.max_turns,
                opening=_NEARBY_SAFE if self.num_mines <= rows * cols - 9 else _ONE_SAFE,
            )
        )

    def play(self, match: re.Match[str]) -> Outcome:
        command, row, column = match[1].lower(), int(match[2]), int(match[3])
        turn = self.turn_count
        if command not in ("reveal", "flag"):
            text = f"Turn {turn}: {match[1]!r} is no command; reveal and flag are."
            return text, 0.0, False
        if row >= self.rows or column >= self.cols:
            text = f"Turn {turn}: there is no cell in row {match[2]}, column {match[3]}."
            return text, 0.0, False
        if command == "flag":
            return self._flag(row, column)
        return self._reveal(row, column)

    def _flag(self, row: int, column: int) -> Outcome:
        turn, cell = self.turn_count, f"({row}, {column})"
        if self.revealed[row][column]:
            return f"Turn {turn}: {cell} is revealed already, you cannot flag it.", 0.0, False
        flagged = self.flags[row][column] = not self.flags[row][column]
        self._symbols[row][column] = "F" if flagged else "."
        change = "flagged" if flagged else "took the flag from"
        return f"Turn {turn}: you {change} {cell}.", 0.0, False

    def _reveal(self, row: int, column: int) -> Outcome:
        turn, cell = self.turn_count, f"({row}, {column})"
        if self.first_reveal:
            self._place_mines(row, column)
        if self.grid[row][column] == _MINE:
            return f"Turn {turn}: {cell} hides a mine. You lose.", 0.0, True
        if self.revealed[row][column]:
            return f"Turn {turn}: {cell} is revealed already.", 0.0, False
        if self.flags[row][column]:
            return f"Turn {turn}: {cell} is flagged; take the flag away first.", 0.0, False
        opened = self._open(row, column)
        self.hidden_safe -= opened
        reward = opened / self.num_safe
        text = f"Turn {turn}: you revealed {cell}"
        if opened > 1:
            text += f" and {opened - 1} more"
        if not self.hidden_safe:
            return f"{text}. All safe cells are revealed. You win!", reward, True
        return f"{text}; {self.hidden_safe} safe cells are left.", reward, False

    def _place_mines(self, row: int, column: int) -> None:
        """Place the mines, next to the first reveal only if there is no other space."""
        self.first_reveal = False
        neighbours = _neighbours(self.rows, self.cols)
        near = neighbours[row][column]
        block = {(row, column), *near}
        far = [(r, c) for r in range(self.rows) for c in range(self.cols) if (r, c) not in block]
        if self.num_mines <= len(far):
            mines = self.rng.sample(far, self.num_mines)
        else:
            mines = far + self.rng.sample(near, self.num_mines - len(far))
        grid = self.grid
        for r, c in mines:
            for r2, c2 in neighbours[r][c]:
                grid[r2][c2] += 1
        for r, c in mines:
            grid[r][c] = _MINE

    def _open(self, row: int, column: int) -> int:
        """Reveal a safe cell, and the area around it if it is a 0; return the number of cells."""
        grid, revealed, flags = self.grid, self.revealed, self.flags
        neighbours = _neighbours(self.rows, self.cols)
        revealed[row][column] = True
        opened = [(row, column)]
        for r, c in opened:
            number = grid[r][c]
            self._symbols[r][c] = str(number)
            if number:
                continue
            for r2, c2 in neighbours[r][c]:
                if not revealed[r2][c2] and not flags[r2][c2]:
                    revealed[r2][c2] = True
                    opened.append((r2, c2))
        return len(opened)

    def render(self) -> str:
        lines = [f"{row:2}  {'  '.join(line)} \n" for row, line in enumerate(self._symbols)]
        return f"The board:\n{self._header}\n{''.join(lines)}Your next move:"

    def sample_random_action(self) -> Action:
        command = "reveal" if self.action_rng.random() < 0.9 else "flag"
        hidden = self._cells_with(".")
        if command == "flag" or not hidden:
            command, hidden = "flag", self._cells_with(".F")
        row, column = self.action_rng.choice(hidden)
        return f"\\boxed{{{command} {row} {column}}}"

    def _cells_with(self, symbols: str) -> list[Cell]:
        return [
            (row, column)
            for row, line in enumerate(self._symbols)
            for column, symbol in enumerate(line)
            if symbol in symbols
        ]


@functools.lru_cache(maxsize=32)
def _neighbours(rows: int, cols: int) -> list[list[tuple[Cell, ...]]]:
    """Return the neighbours (at most eight) of each cell, by row and column."""
    return [
        [
            tuple(
                (r, c)
                for r in range(max(row - 1, 0), min(row + 2, rows))
                for c in range(max(column - 1, 0), min(column + 2, cols))
                if (r, c) != (row, column)
            )
            for column in range(cols)
        ]
        for row in range(rows)
    ]


_BOARD_ROW = re.compile(r"^ ?\d+  ([.F\d](?:  [.F\d])+) ?$", re.MULTILINE)
_MINES = re.compile(r"hides (\d+) mines")


class MinesweeperOracle(BaseAgent):
    """An agent that reveals safe cells, or else the cell least likely to contain a mine.

    Its deduction is complete: it guesses only if no cell is provably safe.
    """

    def reset(self, env: Env) -> None:
        self._num_mines: int | None = None
        self.guesses = 0
        """The number of guesses in this episode."""

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        if self._num_mines is None:
            mines = _MINES.search(text)
            if mines is None:
                raise ValueError("MinesweeperOracle needs an observation with the rules first.")
            self._num_mines = int(mines[1])
        board = _last_board(text)
        index = self._choose(board)
        row, column = divmod(index, len(board[0]))
        # A flagged cell must be unflagged before it can be revealed.
        command = "flag" if board[row][column] == "F" else "reveal"
        return f"\\boxed{{{command} {row} {column}}}"

    def _choose(self, board: list[list[str]]) -> int:
        rows, cols = len(board), len(board[0])
        hidden = frozenset(
            row * cols + column
            for row in range(rows)
            for column in range(cols)
            if board[row][column] in ".F"
        )
        if len(hidden) == rows * cols:
            # A cell away from the edge opens most; on a 3x3 board, only a corner opens an area.
            return min(2, rows - 1) * cols + min(2, cols - 1)
        constraints = _constraints(board)
        safe, mines = certain_cells(constraints)
        if safe:
            return min(safe)
        return self._guess(constraints, hidden, mines)

    def _guess(self, constraints: list[Constraint], hidden: frozenset[int], mines: set[int]) -> int:
        reduced = {(cells - mines, count - len(cells & mines)) for cells, count in constraints}
        unsettled = [constraint for constraint in reduced if constraint[0]]
        chances = mine_chances(unsettled, hidden - mines, (self._num_mines or 0) - len(mines))
        touched = frozenset().union(*(cells for cells, _ in unsettled))
        # With equal chances, a cell next to numbers gives more information.
        best = min(chances, key=lambda cell: (round(chances[cell], 9), cell not in touched, cell))
        self.guesses += chances[best] > 1e-9
        return best


def _last_board(text: str) -> list[list[str]]:
    rows = [match[1].split("  ") for match in _BOARD_ROW.finditer(text, text.rfind("The board:"))]
    if not rows:
        raise ValueError("MinesweeperOracle found no board in the observation.")
    return rows


def _constraints(board: list[list[str]]) -> list[Constraint]:
    rows, cols = len(board), len(board[0])
    neighbours = _neighbours(rows, cols)
    found = {}
    for row in range(rows):
        for column in range(cols):
            if board[row][column] in ".F":
                continue
            cells = frozenset(
                r * cols + c for r, c in neighbours[row][column] if board[r][c] in ".F"
            )
            if cells:
                found[cells] = int(board[row][column])
    return list(found.items())
