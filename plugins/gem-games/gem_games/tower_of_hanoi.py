"""TowerofHanoi: move a tower disk by disk, never a larger disk onto a smaller one."""

import functools
import re

from gem_core import Action, BaseAgent, Info, Observation, visible_text
from gem_games.base import Game, Outcome, boxed, check_range

__all__ = ["TowerofHanoiEnv", "TowerofHanoiOracle"]

_RULES = """\
You are playing Tower of Hanoi.
There are three towers, A, B and C, and {num_disks} disks, numbered by size: 1 is the smallest, \
{num_disks} the largest. At the start all disks are on tower A. Move all of them to tower C within \
{max_turns} turns.
Each turn moves the top disk of one tower to the top of another one. A disk never goes on a \
smaller disk. A move that breaks these rules changes nothing, but the turn is used.
The towers are listed from bottom to top: the last number of a list is the disk that can move.
Write the tower to take from and the tower to put on inside \\boxed{{}}, for example \
\\boxed{{{example}}}. You may reason before it; if there are several boxes, the last one counts. A \
reply without a valid box ends the game.
The history of your moves will follow here, then the towers as they stand."""
_STYLES = {r"(?m)^[ABC]:": "bold cyan", r"[\[\]]|(?<=\d),": "dim", r"\d+(?=\])": "bold yellow"}

_LEVELS = {3: 10, 4: 20, 5: 35}
"""The numbers of disks that are drawn if None is given, with their turns."""


@functools.lru_cache
def _rules(num_disks: int, max_turns: int) -> str:
    # The example is a legal first move, but not the best.
    example = "A B" if num_disks % 2 else "A C"
    return _RULES.format(num_disks=num_disks, max_turns=max_turns, example=example)


class TowerofHanoiEnv(Game):
    """Move a tower of disks from A to C.

    The reward is 1.0 for the whole tower on C; at the turn limit, the share of the disks on C; and
    0.0 for every other move. ``num_disks`` disks need ``2 ** num_disks - 1`` moves; with fewer
    turns the maximum cannot be reached.

    Args:
        num_disks: The number of disks, 1 to 12. None draws 3 to 5 in each episode, as far as
            ``max_turns`` allows, and otherwise means 3.
        max_turns: The number of moves, 1 to 10,000. None means 10, 20 or 35 for 3 to 5 disks, and
            otherwise ``2 ** num_disks + 3``.
    """

    pattern = boxed(r"([ABCabc])\s*,?\s*([ABCabc])")
    action_format = "\\boxed{from to}, such as \\boxed{B A}"
    board_styles = _STYLES

    def __init__(self, *, num_disks: int | None = 3, max_turns: int | None = 100) -> None:
        check_range("num_disks", num_disks, 1, 12)
        check_range("max_turns", max_turns, 1, 10_000)
        enough = [n for n in _LEVELS if max_turns is None or 2**n - 1 <= max_turns] or [3]
        self._numbers = enough if num_disks is None else [num_disks]
        self._max_turns = max_turns

    def start(self) -> tuple[Observation, Info]:
        num_disks = self.num_disks = self._numbers[int(self.rng.random() * len(self._numbers))]
        self.max_turns = self._max_turns or _LEVELS.get(num_disks) or 2**num_disks + 3
        self.board: dict[str, list[int]] = {"A": list(range(num_disks, 0, -1)), "B": [], "C": []}
        return self.opening(_rules(num_disks, self.max_turns))

    def play(self, match: re.Match[str]) -> Outcome:
        source, target = match[1].upper(), match[2].upper()
        turn, board = self.turn_count, self.board
        if source == target:
            return f"Turn {turn}: a disk must move to another tower than {source}.", 0.0, False
        if not board[source]:
            return f"Turn {turn}: tower {source} has no disk to move.", 0.0, False
        disk = board[source][-1]
        if board[target] and board[target][-1] < disk:
            top = board[target][-1]
            return f"Turn {turn}: disk {disk} cannot go on the smaller disk {top}.", 0.0, False
        board[target].append(board[source].pop())
        moved = f"Turn {turn}: you moved disk {disk} from {source} to {target}."
        if len(board["C"]) == self.num_disks:
            return f"{moved} All disks are on tower C. You win!", 1.0, True
        return moved, 0.0, False

    def reward_at_limit(self, reward: float) -> float:
        return len(self.board["C"]) / self.num_disks

    def render(self) -> str:
        board = self.board
        return (
            f"Towers, from bottom to top:\nA: {board['A']}\nB: {board['B']}\nC: {board['C']}\n\n"
            f"Your next move:"
        )

    def sample_random_action(self) -> Action:
        tops = {tower: disks[-1] if disks else 99 for tower, disks in self.board.items()}
        legal = [f"{s} {t}" for s in tops for t in tops if tops[s] < tops[t]]
        return f"\\boxed{{{self.action_rng.choice(legal)}}}"


class TowerofHanoiOracle(BaseAgent):
    """An agent that plays a shortest solution from any state."""

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        board = re.findall(r"^([ABC]): \[([\d, ]*)\]$", text, re.MULTILINE)[-3:]
        tower_of = {int(disk): tower for tower, disks in board for disk in disks.split(",") if disk}
        return f"\\boxed{{{_best_move(tower_of)}}}"


def _best_move(tower_of: dict[int, str]) -> str:
    """Return the first move of the shortest way to C, as ``"source target"``.

    Before the largest misplaced disk can move, all smaller ones must be on the third tower. The
    same holds for these, down to a disk that can move now.
    """
    goal, move = "C", ""
    for disk in sorted(tower_of, reverse=True):
        tower = tower_of[disk]
        if tower != goal:
            move = f"{tower} {goal}"
            goal = ({"A", "B", "C"} - {tower, goal}).pop()
    return move
