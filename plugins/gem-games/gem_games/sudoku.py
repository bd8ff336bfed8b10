"""Sudoku: complete a grid that has exactly one solution."""

import functools
import math
import re
from collections.abc import Sequence

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import DIGITS, Game, Outcome, boxed, check_range
from gem_games.sudoku_grid import MOST_EMPTY, make_puzzle, solve

__all__ = ["SudokuEnv", "SudokuOracle", "drawn", "rows_of"]

_RULES = """\
You are playing Sudoku on a {scale}x{scale} board.
Fill every empty cell so that each row, each column and each of the {scale} subgrids of \
{box}x{box} cells holds every number from 1 to {scale} exactly once. The board has exactly one \
solution.
Rows R1 to R{scale} are counted from the top, columns C1 to C{scale} from the left; a dot is an \
empty cell. The board always shows the current state, with the numbers that you have filled in.
{empty} cells are empty, and you have {max_turns} turns. Each turn you fill one cell. A number \
that is not the solution's is refused: the cell stays empty, but the turn is used. Cells that hold \
a number cannot be changed. The game ends when the board is complete.
Write row, column and number inside \\boxed{{}}: \\boxed{{{row} {column} {number}}} means row \
{row}, column {column}, number {number} (which that cell already holds). You may reason before it; \
if there are several boxes, the last one counts. A reply without a valid box ends the game.
The history of your moves will follow here, then the board."""
_STYLES = {r"[RC]\d+|[.|]|-+": "dim", r"(?<![RC\d])\d+": "bold cyan"}

_LEVELS = {4: (10, 15), 9: (50, 50), 16: (100, 100)}
"""The default numbers of empty cells and turns by scale."""


class SudokuEnv(Game):
    """Complete a grid that has exactly one solution.

    Each correct number earns ``1 / (number of empty cells at the start)``; every other move earns
    0.0.

    Args:
        empty_cells: The exact number of empty cells at the start: 1 to 12 on scale 4, up to 54 on
            scale 9, up to 120 on scale 16. None means 10, 50 or 100 by scale (or fewer if there are
            fewer turns).
        max_turns: The number of moves, from ``empty_cells`` to 10,000. None means 15, 50 or 100 by
            scale (or more if there are more empty cells).
        scale: The number of rows: 4, 9 or 16. None draws 4 or 9 in each episode, if there is room
            for ``empty_cells``, and otherwise means 16.
    """

    pattern = boxed(rf"({DIGITS})\s+({DIGITS})\s+({DIGITS})")
    action_format = "\\boxed{row column number}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        empty_cells: int | None = 30,
        max_turns: int | None = 100,
        scale: int | None = 9,
    ) -> None:
        if scale is not None and not (isinstance(scale, int) and scale in MOST_EMPTY):
            raise ConfigError(f"scale must be 4, 9 or 16; got {scale!r}.")
        check_range("empty_cells", empty_cells, 1, MOST_EMPTY[16 if scale is None else scale])
        check_range("max_turns", max_turns, 1, 10_000)
        if empty_cells is not None and max_turns is not None and empty_cells > max_turns:
            raise ConfigError(
                f"max_turns must be at least empty_cells, since a turn fills one cell; got "
                f"max_turns={max_turns} and empty_cells={empty_cells}."
            )
        self._parameters = (empty_cells, max_turns, scale)

    def start(self) -> tuple[Observation, Info]:
        empty_cells, max_turns, scale = self._parameters
        if scale is None:
            roomy = [s for s in (4, 9) if (empty_cells or 1) <= MOST_EMPTY[s]]
            scale = self.rng.choice(roomy or [16])
        usual_empty, usual_turns = _LEVELS[scale]
        self.scale = scale
        self.init_num_empty = empty_cells or min(usual_empty, max_turns or usual_empty)
        self.max_turns = max_turns or max(usual_turns, self.init_num_empty)
        puzzle, solution = make_puzzle(scale, self.init_num_empty, self.rng)
        self.board, self.full_grid = rows_of(puzzle, scale), rows_of(solution, scale)
        self.num_empty = self.init_num_empty
        self._view = drawn(self.board)
        return self.opening(self._rules())

    def _rules(self) -> str:
        clues = [
            (r, c) for r, row in enumerate(self.board) for c, number in enumerate(row) if number
        ]
        row, column = self.rng.choice(clues)
        return _RULES.format(
            scale=self.scale,
            box=math.isqrt(self.scale),
            empty=self.num_empty,
            max_turns=self.max_turns,
            row=row + 1,
            column=column + 1,
            number=self.board[row][column],
        )

    def play(self, match: re.Match[str]) -> Outcome:
        row, column, number = (int(digits) for digits in match.groups())
        turn, scale = self.turn_count, self.scale
        if not (1 <= row <= scale and 1 <= column <= scale and 1 <= number <= scale):
            return f"Turn {turn}: all three numbers must be from 1 to {scale}.", 0.0, False
        where = f"row {row}, column {column}"
        if self.board[row - 1][column - 1]:
            return f"Turn {turn}: {where} holds a number already.", 0.0, False
        if not self.is_right(row - 1, column - 1, number):
            return f"Turn {turn}: {number} is not the solution's number for {where}.", 0.0, False
        self.board[row - 1][column - 1] = number
        self.num_empty -= 1
        self._view = _fill_in(self._view, row, column, number, scale)
        reward = 1.0 / self.init_num_empty
        if not self.num_empty:
            win = f"Turn {turn}: {number} is right for {where}. The board is complete. You win!"
            return win, reward, True
        left = f"Empty cells left: {self.num_empty}."
        return f"Turn {turn}: {number} is right for {where}. {left}", reward, False

    def is_right(self, row: int, column: int, number: int) -> bool:
        """Return whether the solution has a number in a cell; rows and columns start at 0."""
        return self.full_grid[row][column] == number

    def render(self) -> str:
        return self._view

    def sample_random_action(self) -> Action:
        empty = [
            (r, c)
            for r, row in enumerate(self.board, 1)
            for c, number in enumerate(row, 1)
            if not number
        ]
        row, column = self.action_rng.choice(empty)
        return f"\\boxed{{{row} {column} {self.action_rng.randint(1, self.scale)}}}"


def rows_of(grid: Sequence[int], scale: int) -> list[list[int]]:
    """Return the rows of a grid of ``scale`` by ``scale`` numbers."""
    return [list(grid[start : start + scale]) for start in range(0, scale * scale, scale)]


@functools.cache
def _frame(scale: int) -> tuple[str, str, list[str]]:
    """Return the header, the divider between subgrids, and the text of a cell by number."""
    box, width = math.isqrt(scale), 3 if scale < 10 else 4
    names = [f"C{c}".rjust(width) for c in range(1, scale + 1)]
    header = "   " + "  ".join("".join(names[i : i + box]) for i in range(0, scale, box))
    cells = [str(number or ".").rjust(width) for number in range(scale + 1)]
    return header, "-" * len(header), cells


def drawn(board: list[list[int]]) -> str:
    """Return a board, with 0 for an empty cell, as text."""
    scale, box = len(board), math.isqrt(len(board))
    header, divider, cells = _frame(scale)
    lines = ["Current board:", header]
    for r, row in enumerate(board):
        if r and not r % box:
            lines.append(divider)
        texts = [cells[number] for number in row]
        parts = ["".join(texts[i : i + box]) for i in range(0, scale, box)]
        lines.append(f"R{r + 1}".ljust(3) + " |".join(parts))
    return "\n".join([*lines, "", "Your next move:"])


def _fill_in(view: str, row: int, column: int, number: int, scale: int) -> str:
    """Return the drawn board with a number in an empty cell (rows and columns start at 1)."""
    text = _frame(scale)[2][number]
    bars_before = (column - 1) // math.isqrt(scale)
    start = view.index(f"\nR{row} ") + 4 + (column - 1) * len(text) + 2 * bars_before
    return view[:start] + text + view[start + len(text) :]


class SudokuOracle(BaseAgent):
    """An agent that solves the board once and then fills the empty cells row by row."""

    def reset(self, env: Env) -> None:
        self._solution: list[int] | None = None

    def act(self, observation: Observation, info: Info) -> Action:
        board, scale = _read(visible_text(observation, info))
        if self._solution is None:
            self._solution = solve(board, scale)
        if self._solution is None or 0 not in board:
            raise ValueError("SudokuOracle found a board that is complete or has no solution.")
        cell = board.index(0)
        row, column = divmod(cell, scale)
        return f"\\boxed{{{row + 1} {column + 1} {self._solution[cell]}}}"


def _read(text: str) -> tuple[list[int], int]:
    """Return the last board of a text as a flat grid, and its scale."""
    rows = re.findall(r"^R\d+ ([\d. |]+)$", text[text.rfind("\nR1 ") + 1 :], re.MULTILINE)
    grid = [0 if cell == "." else int(cell) for row in rows for cell in re.findall(r"\d+|\.", row)]
    return grid, len(rows)
