"""The methods and attributes of gem-llm's board games: see ``gem.envs.game_env.hooks``."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import fifteen_puzzle, game_2048, sudoku
    from gem_games.fifteen_puzzle import FifteenPuzzleEnv
    from gem_games.game_2048 import Game2048Env
    from gem_games.minesweeper import MinesweeperEnv
    from gem_games.sokoban import SokobanEnv
    from gem_games.sudoku import SudokuEnv
    from gem_games.sudoku_grid import make_puzzle, solve
    from gem_games.tower_of_hanoi import TowerofHanoiEnv

__all__ = [
    "FifteenPuzzleHooks",
    "Game2048Hooks",
    "MinesweeperHooks",
    "SokobanHooks",
    "SudokuHooks",
    "TowerOfHanoiHooks",
]

_MINE = -1


def _lists(board: Any) -> Any:
    """Return a board as lists: numpy arrays, and rows that are, are converted."""
    if not any(hasattr(part, "tolist") for part in (board, *board)):
        return board
    return [row.tolist() if hasattr(row, "tolist") else row for row in board]


class MinesweeperHooks(GameAdapter, MinesweeperEnv):
    """State: ``grid``, ``revealed``, ``flags``, ``first_reveal``."""

    solved = "_is_solved"

    def sync(self) -> None:
        self.grid, self.revealed = _lists(self.grid), _lists(self.revealed)
        self.flags = _lists(self.flags)
        lines = list(zip(self.grid, self.revealed, self.flags, strict=True))
        cells = [list(zip(*line, strict=True)) for line in lines]
        shown = sum(seen and number != _MINE for line in cells for number, seen, _ in line)
        self.hidden_safe = self.num_safe - int(shown)
        self._symbols = [[_symbol(*cell) for cell in line] for line in cells]

    def _is_solved(self) -> bool:
        """Return whether every cell without a mine is revealed."""
        self.sync()
        return self.hidden_safe == 0

    def _place_mines(self, row: int, column: int) -> None:
        self._setup_mines(row, column)
        self._calculate_adjacent_numbers()
        self.first_reveal = False

    def _setup_mines(self, safe_row: int, safe_col: int) -> None:
        """Place the mines away from a cell."""
        super()._place_mines(safe_row, safe_col)

    def _calculate_adjacent_numbers(self) -> None:
        """Set the number of mines around each cell without one."""
        mines = {
            (row, column)
            for row, line in enumerate(self.grid)
            for column, number in enumerate(line)
            if number == _MINE
        }
        for row, line in enumerate(self.grid):
            for column in range(len(line)):
                if (row, column) not in mines:
                    near = ((row + r, column + c) for r in (-1, 0, 1) for c in (-1, 0, 1))
                    line[column] = sum(cell in mines for cell in near)

    def _open(self, row: int, column: int) -> int:
        return self._update_grid(row, column)

    def _update_grid(self, row: int, col: int) -> int:
        """Reveal a cell, and the area around it if it is a 0; return the number of cells."""
        opened: int = super()._open(row, col)
        return opened

    def sample_random_action(self, reveal_or_flag: str | None = None) -> Any:
        """Return an action for a hidden cell, of one kind if asked for."""
        action = super().sample_random_action()
        if reveal_or_flag is None:
            return action
        return action.replace("reveal", reveal_or_flag).replace("flag", reveal_or_flag)


def _symbol(number: Any, seen: Any, flagged: Any) -> str:
    if seen:
        return "*" if number == _MINE else str(int(number))
    return "F" if flagged else "."


class FifteenPuzzleHooks(GameAdapter, FifteenPuzzleEnv):
    """State: ``board``, with None for the gap."""

    solved = "_is_solved"
    solved_reward = 1.0

    def sync(self) -> None:
        self.board, self.goal_board = _lists(self.board), _lists(self.goal_board)
        self._gap = self._get_empty_position()

    def _get_empty_position(self) -> Any:
        """Return row and column of the gap."""
        return next(
            (row, column)
            for row, line in enumerate(self.board)
            for column, tile in enumerate(line)
            if not tile
        )

    def slide(self, direction: str) -> Any:
        row, column = self._get_empty_position()
        moved = self._move(direction)
        self.sync()
        return self.board[row][column] if moved else None

    def _move(self, direction: str) -> bool:
        """Slide a tile into the gap; return whether one can move in this direction."""
        self.sync()
        return super().slide(direction) is not None

    def _is_solved(self) -> bool:
        """Return whether the board is in order."""
        self.board = _lists(self.board)
        return bool(self.board == self._generate_goal_board())

    def _generate_goal_board(self) -> Any:
        """Return the board in order."""
        return fifteen_puzzle.board_of(fifteen_puzzle.ordered_tiles(self.num_rows))

    def _generate_board(self) -> Any:
        """Return a new random board."""
        draw = self._shuffle if self.init_algo == "pure_random" else self._walk
        return fifteen_puzzle.board_of(draw())

    def _is_solvable(self, board: Any = None) -> bool:
        """Return whether a board, by default that of the game, can be brought into order."""
        tiles = [tile for row in (self.board if board is None else board) for tile in row]
        return fifteen_puzzle.is_solvable(tiles, math.isqrt(len(tiles)))

    def _get_soft_reward(self) -> float:
        """Return the share of cells that are as in the ordered board."""
        return super().reward_at_limit(0.0)

    def reward_at_limit(self, reward: float) -> float:
        return self._get_soft_reward()


class SudokuHooks(GameAdapter, SudokuEnv):
    """State: ``board`` with 0 for an empty cell, ``full_grid``, ``init_num_empty``."""

    solved = "_is_puzzle_complete"

    def sync(self) -> None:
        self.board, self.full_grid = _lists(self.board), _lists(self.full_grid)
        self.num_empty = sum(not number for row in self.board for number in row)
        self._view = sudoku.drawn(self.board)

    def place(self, board: Any) -> None:
        self.full_grid, self.board = board
        self.sync()
        self.init_num_empty = self.num_empty
        self._rules_text = self._rules()

    def _generate_board(self) -> Any:
        """Return a new full grid, and the puzzle made from it."""
        numbers, solution = make_puzzle(self.scale, self.init_num_empty, self.rng)
        return sudoku.rows_of(solution, self.scale), sudoku.rows_of(numbers, self.scale)

    def is_right(self, row: int, column: int, number: int) -> bool:
        return self._is_move_correct(row, column, number)

    def _is_move_correct(self, row: int, col: int, num: int) -> bool:
        """Return whether the solution has a number in a cell; rows and columns start at 0."""
        return bool(super().is_right(row, col, num))

    def _is_puzzle_complete(self) -> bool:
        """Return whether the board is the solution."""
        self.board, self.full_grid = _lists(self.board), _lists(self.full_grid)
        return bool(self.board == self.full_grid)

    def _find_empty(self, grid: Any) -> Any:
        """Return row and column of an empty cell, from 0; None if there is none."""
        return next(
            ((r, c) for r, row in enumerate(grid) for c, n in enumerate(row) if not n), None
        )

    def is_safe(self, grid: Any, row: int, col: int, num: int) -> bool:
        """Return whether a number is not yet in a cell's row, column and subgrid."""
        box = math.isqrt(len(grid))
        top, left = row - row % box, col - col % box
        block = [grid[r][c] for r in range(top, top + box) for c in range(left, left + box)]
        return num not in {*grid[row], *(line[col] for line in grid), *block}

    def _solve_sudoku(self, grid: Any) -> bool:
        """Fill in a grid; return whether that is possible."""
        scale = len(grid)
        found = solve([number for row in grid for number in row], scale)
        if found is None:
            return False
        grid[:] = sudoku.rows_of(found, scale)
        return True


class TowerOfHanoiHooks(GameAdapter, TowerofHanoiEnv):
    """State: ``board``, a list of disks by tower."""

    def _generate_board(self) -> Any:
        """Return the towers at the start."""
        return {"A": list(range(self.num_disks, 0, -1)), "B": [], "C": []}


class Game2048Hooks(GameAdapter, Game2048Env):
    """State: ``board``, ``max_tile_achieved``, ``init_max_tile_achieved``."""

    free: ClassVar[dict[str, str]] = {**GameAdapter.free, "target_tile": "of {} by"}
    board_hooks = ("_render_board", "_get_board_str")
    solved = "_has_won"
    board: Any

    def sync(self) -> None:
        start, target = self.init_max_tile_achieved, self.target_tile
        self._doublings = math.log2(target) - math.log2(start) if target > start else 1.0

    @contextmanager
    def _as_tuples(self) -> Iterator[None]:
        """Have tuples, which gem-games needs; gem-llm has lists, which people change."""
        self.board = tuple([tuple([int(tile) for tile in row]) for row in self.board])
        try:
            yield
        finally:
            self.board = [list(row) for row in self.board]

    def played(self, match: Any) -> Any:
        with self._as_tuples():
            text, reward, done = super().played(match)
        if not done and self.is_overridden("_is_game_over") and self._is_game_over():
            return f"{text} No move is left. You lose.", reward, True
        return text, reward, done

    def drawn(self) -> str:
        with self._as_tuples():
            return super().drawn()

    def sample_random_action(self) -> Any:
        with self._as_tuples():
            return super().sample_random_action()

    def _get_board_str(self) -> str:
        """Return the board."""
        return super()._render_board().rstrip("\n")

    def _render_board(self, *_: Any, **__: Any) -> str:
        return self._get_board_str()

    def _add_tile(self) -> bool:
        self.board = [list(row) for row in self.board]
        self._add_random_tile()
        self.board = tuple(map(tuple, self.board))
        return any(0 in row for row in self.board)

    def _add_random_tile(self) -> None:
        """Put a 2 or a 4 into an empty cell."""
        with self._as_tuples():
            super()._add_tile()

    def _milestone(self, merged: int) -> float:
        self._merged = merged
        return self._get_progress_reward()

    def _get_progress_reward(self) -> float:
        """Return the reward of the last merge, if it made the largest tile so far."""
        reward: float = super()._milestone(self.__dict__.get("_merged", 0))
        return reward

    def _has_won(self) -> bool:
        """Return whether the target is reached."""
        return bool(self.max_tile_achieved >= self.target_tile)

    def _is_game_over(self) -> bool:
        """Return whether nothing can move."""
        return not game_2048.legal_moves(tuple(map(tuple, self.board)))

    def _is_valid_move(self, direction: str) -> bool:
        """Return whether something can move in a direction."""
        return direction in game_2048.legal_moves(tuple(map(tuple, self.board)))

    def _slid(self, direction: str) -> list[list[int]]:
        moved, _ = game_2048.slide(tuple(map(tuple, self.board)), direction)
        return [list(row) for row in moved]

    def _move_left(self) -> list[list[int]]:
        """Return the board after a move to the left."""
        return self._slid("left")

    def _move_right(self) -> list[list[int]]:
        """Return the board after a move to the right."""
        return self._slid("right")

    def _move_up(self) -> list[list[int]]:
        """Return the board after a move up."""
        return self._slid("up")

    def _move_down(self) -> list[list[int]]:
        """Return the board after a move down."""
        return self._slid("down")


class SokobanHooks(GameAdapter, SokobanEnv):
    """State: the arrays ``room_state`` and ``room_fixed``, ``player_position``, ``box_mapping``."""

    solved = "_check_if_all_boxes_on_target"
    solved_reward = 1.0
    room_state: Any
    room_fixed: Any
    player_position: Any

    @property
    def board(self) -> Any:
        """The room as an array; another name of ``room_state``."""
        return self.room_state

    @board.setter
    def board(self, room: Any) -> None:
        self.room_state = room

    def sync(self) -> None:
        import numpy as np  # noqa: PLC0415 - the other games do without it

        self.room_state, self.room_fixed = np.asarray(self.room_state), np.asarray(self.room_fixed)
        self.boxes_on_target = self._count_boxes_on_targets()
        row, column = self.player_position
        if self.room_state[row][column] != _PLAYER:
            row, column = next(iter(np.argwhere(self.room_state == _PLAYER)), (row, column))
        self.player_position = np.array((row, column))

    def played(self, match: Any) -> Any:
        room, fixed = self.room_state, self.room_fixed
        state = self.room_state = room.tolist()  # gem-games needs lists
        self.room_fixed = fixed.tolist()
        self.player_position = tuple(self.player_position.tolist())
        try:
            return super().played(match)
        finally:
            room[:] = state
            self.room_state, self.room_fixed = room, fixed
            self.sync()

    def _count_boxes_on_targets(self) -> int:
        """Return the number of boxes on goals."""
        return sum(row.count(_BOX_ON_GOAL) for row in self.room_state.tolist())

    def _check_if_all_boxes_on_target(self) -> bool:
        """Return whether every box is on a goal."""
        return self._count_boxes_on_targets() == self.num_boxes

    def reward_at_limit(self, reward: float) -> float:
        return self._count_boxes_on_targets() / self.num_boxes

    def _would_collide_with_wall(self, action: str) -> bool:
        """Return whether a wall is next to the player in a direction."""
        row, column = self.player_position
        by_row, by_column = _DIRECTIONS[action]
        return bool(self.room_state[row + by_row, column + by_column] == _WALL)


_WALL, _BOX_ON_GOAL, _PLAYER = 0, 3, 5
_DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
