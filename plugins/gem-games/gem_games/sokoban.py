"""Sokoban: push every box onto a goal."""

import re
from collections.abc import Sequence

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import Game, Outcome, boxed, check_range
from gem_games.sokoban_levels import cells, generate, shift
from gem_games.sokoban_solver import Position, solve

__all__ = ["SokobanEnv", "SokobanOracle"]

_RULES = """\
You are playing Sokoban.
The board has {height} rows and {width} columns. Push all {num_boxes} boxes onto the {num_boxes} \
goals within {max_turns} turns; any box may go to any goal.
# is a wall, _ is floor, O is a goal, X is a box, √ is a box on a goal, and P is you. You cover \
what you stand on: if a goal seems to be missing, you are standing on it.
Each turn you move one cell up, down, left or right. Moving against a box pushes it one cell, if \
the cell behind it is floor or a goal. You cannot pull boxes, push two at once, or walk through \
walls; such a move changes nothing, but uses up a turn. A box in a corner that is no goal is lost.
Write your move inside \\boxed{{}}: \\boxed{{up}}, \\boxed{{down}}, \\boxed{{left}} or \
\\boxed{{right}}. You may reason before it; if there are several boxes, the last one counts. A \
reply without a valid box ends the game.
The history of your moves and the current board will follow here.
Make your first move."""

_SYMBOLS = "#_O√XP"
_WALL, _FLOOR, _GOAL, _BOX_ON_GOAL, _BOX, _PLAYER = range(6)
_STYLES = {"[#_]": "dim", "P": "bold cyan", "X": "yellow", "√": "bold green", "O": "magenta"}
_DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
_SIZES = ((6, 6), (8, 8))
_TURNS_PER_BOX = 8


class SokobanEnv(Game):
    """Push every box onto a goal. Every level can be solved within 80 % of the turn limit.

    The reward is 1.0 when all boxes are on goals; at the turn limit, the share of boxes on goals;
    and 0.0 for every other move.

    Args:
        dim_room: The numbers of rows and columns including the walls, 5 to 15 each. None draws
            (6, 6) or (8, 8) in each episode.
        num_boxes: The number of boxes, 1 to 10, and at most one per five cells inside the outer
            walls. None means one per seven cells (2 in a 6x6 room, 5 in an 8x8 room), or fewer if
            ``max_turns`` requires it.
        max_turns: The number of moves, from 8 per box to 1,000. None means 10 per box.
    """

    pattern = boxed("(up|down|left|right)", re.IGNORECASE | re.ASCII)
    board_styles = _STYLES
    action_format = "\\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}"

    def __init__(
        self,
        *,
        dim_room: Sequence[int] | None = (6, 6),
        num_boxes: int | None = 3,
        max_turns: int | None = 100,
    ) -> None:
        size = None if dim_room is None else _checked_size(dim_room)
        check_range("num_boxes", num_boxes, 1, _most_boxes(size or _SIZES[-1]))
        check_range("max_turns", max_turns, _TURNS_PER_BOX * (num_boxes or 1), 1000)
        self._parameters = (size, num_boxes, max_turns)
        self.action_space = list(_DIRECTIONS)

    def start(self) -> tuple[Observation, Info]:
        size, num_boxes, max_turns = self._parameters
        if size is None:
            size = self.rng.choice([s for s in _SIZES if (num_boxes or 1) <= _most_boxes(s)])
        if num_boxes is None:
            most = (max_turns or 1000) // _TURNS_PER_BOX
            num_boxes = min(max(1, _area(size) // 7), 10, most)
        self.dim_room, self.num_boxes = size, num_boxes
        self.max_turns = max_turns or 10 * num_boxes
        self._make_level()
        height, width = size
        return self.opening(
            _RULES.format(height=height, width=width, num_boxes=num_boxes, max_turns=self.max_turns)
        )

    def _make_level(self) -> None:
        height, width = self.dim_room
        # A fifth of the turns is left for detours.
        budget = self.max_turns * 4 // 5
        level = generate(self.rng, height, width, self.num_boxes, budget)
        self.room_fixed = [[_WALL] * width for _ in range(height)]
        _fill(self.room_fixed, level.floor, _FLOOR)
        _fill(self.room_fixed, level.goals, _GOAL)
        self.room_state = [row[:] for row in self.room_fixed]
        _fill(self.room_state, level.boxes, _BOX)
        _fill(self.room_state, level.player, _PLAYER)
        self.player_position = _coordinates(level.player, width)
        self.box_mapping = {
            _coordinates(goal, width): _coordinates(box, width)
            for goal, box in level.origins.items()
        }
        """The cell of the box that the known solution pushes onto each goal."""
        self.solution_moves = level.moves
        """The length of the known solution, an upper bound of the shortest."""
        self.boxes_on_target = 0

    def play(self, match: re.Match[str]) -> Outcome:
        direction, turn = match[1].lower(), self.turn_count
        by_row, by_column = _DIRECTIONS[direction]
        row, column = self.player_position
        to_row, to_column = row + by_row, column + by_column
        ahead = self.room_state[to_row][to_column]
        if ahead == _WALL:
            return f"Turn {turn}: you cannot move {direction}, a wall is there.", 0.0, False
        done = "moved"
        if ahead in (_BOX, _BOX_ON_GOAL):
            if not self._push_box(to_row, to_column, by_row, by_column):
                return f"Turn {turn}: you cannot push the box {direction}.", 0.0, False
            done = "pushed a box"
        self.room_state[row][column] = self.room_fixed[row][column]
        self.room_state[to_row][to_column] = _PLAYER
        self.player_position = to_row, to_column
        count = f"{self.boxes_on_target} of {self.num_boxes} boxes are on goals"
        if self.boxes_on_target == self.num_boxes:
            return (
                f"Turn {turn}: you {done} {direction}. All boxes are on goals. You win!",
                1.0,
                True,
            )
        return f"Turn {turn}: you {done} {direction}; {count}.", 0.0, False

    def _push_box(self, row: int, column: int, by_row: int, by_column: int) -> bool:
        """Push the box at (row, column) if there is room behind it; return whether it moved."""
        to_row, to_column = row + by_row, column + by_column
        behind = self.room_state[to_row][to_column]
        if behind not in (_FLOOR, _GOAL):
            return False
        self.room_state[to_row][to_column] = _BOX_ON_GOAL if behind == _GOAL else _BOX
        self.boxes_on_target += (behind == _GOAL) - (self.room_fixed[row][column] == _GOAL)
        for goal, box in self.box_mapping.items():
            if box == (row, column):
                self.box_mapping[goal] = to_row, to_column
                break
        return True

    def reward_at_limit(self, reward: float) -> float:
        return self.boxes_on_target / self.num_boxes

    def render(self) -> str:
        board = "\n".join([" ".join([_SYMBOLS[code] for code in row]) for row in self.room_state])
        return f"The board:\n{board}\nYour next move:"

    def sample_random_action(self) -> Action:
        legal = [name for name in self.action_space if self._is_legal(name)]
        return f"\\boxed{{{self.action_rng.choice(legal or self.action_space)}}}"

    def _is_legal(self, direction: str) -> bool:
        (row, column), (by_row, by_column) = self.player_position, _DIRECTIONS[direction]
        ahead = self.room_state[row + by_row][column + by_column]
        if ahead in (_BOX, _BOX_ON_GOAL):
            ahead = self.room_state[row + 2 * by_row][column + 2 * by_column]
        return ahead in (_FLOOR, _GOAL)


def _checked_size(dim_room: Sequence[int]) -> tuple[int, int]:
    try:
        height, width = dim_room
    except (TypeError, ValueError):
        raise ConfigError(
            f"dim_room must be two whole numbers, rows and columns; got {dim_room!r}."
        ) from None
    if height is None or width is None:
        raise ConfigError(f"dim_room must give both rows and columns; got {dim_room!r}.")
    check_range("dim_room's rows", height, 5, 15)
    check_range("dim_room's columns", width, 5, 15)
    return height, width


def _area(size: tuple[int, int]) -> int:
    return (size[0] - 2) * (size[1] - 2)


def _most_boxes(size: tuple[int, int]) -> int:
    return min(10, _area(size) // 5)


def _fill(room: list[list[int]], mask: int, code: int) -> None:
    for cell in cells(mask):
        row, column = _coordinates(cell, len(room[0]))
        room[row][column] = code


def _coordinates(cell: int, width: int) -> tuple[int, int]:
    return divmod(cell.bit_length() - 1, width)


_BOARD = re.compile(rf"(?:^[{_SYMBOLS}](?: [{_SYMBOLS}])+$\n?)+", re.MULTILINE)
_LIMIT = re.compile(r"within (\d+) turns")


class SokobanOracle(BaseAgent):
    """An agent that follows a short solution, and searches again if it leaves the path."""

    def reset(self, env: Env) -> None:
        self._policy: dict[Position, str] = {}
        self._limit = 1000

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        boards = _BOARD.findall(text)
        if not boards:
            raise ValueError("SokobanOracle found no board in the observation.")
        rows = [line.split(" ") for line in boards[-1].splitlines()]
        limit = _LIMIT.search(text)
        if limit is not None:
            self._limit = int(limit[1])
        position = _mask(rows, "X√"), _mask(rows, "P")
        if position not in self._policy:
            self._plan(rows, position)
        return f"\\boxed{{{self._policy[position]}}}"

    def _plan(self, rows: list[list[str]], position: Position) -> None:
        width, floor, goals = len(rows[0]), _mask(rows, "_OX√P"), _mask(rows, "O√")
        if goals.bit_count() < position[0].bit_count():
            goals |= position[1]
        solution = solve(floor, width, goals, position, limit=self._limit)
        # A lost position has no good move, so make any.
        self._policy[position] = "up"
        for after in solution.positions if solution else []:
            position = self._walk_and_push(floor, width, position, after)

    def _walk_and_push(self, floor: int, width: int, before: Position, after: Position) -> Position:
        """Add the moves up to and including one push to the policy; return ``after``."""
        (boxes, player), (_, target) = before, after
        offsets = {"up": -width, "down": width, "left": -1, "right": 1}
        to = after[0] & ~boxes
        push = next(name for name, offset in offsets.items() if shift(target, offset) == to)
        behind = shift(target, -offsets[push])
        moves = {behind: push}
        frontier = [behind]
        for cell in frontier:
            for name, offset in offsets.items():
                source = shift(cell, -offset)
                if source & floor & ~boxes and source not in moves:
                    moves[source] = name
                    frontier.append(source)
        while player != behind:
            self._policy[boxes, player] = moves[player]
            player = shift(player, offsets[moves[player]])
        self._policy[boxes, player] = push
        return after


def _mask(rows: list[list[str]], symbols: str) -> int:
    text = "".join(symbol for row in rows for symbol in row)
    return sum(1 << index for index, symbol in enumerate(text) if symbol in symbols)
