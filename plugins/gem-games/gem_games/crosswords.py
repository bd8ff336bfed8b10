"""Crosswords: fill in crossing words from their clues, letter by letter."""

import functools
import re
from bisect import bisect_right

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import DIGITS, Game, Outcome, boxed, check_range
from gem_games.crossword_clues import clues
from gem_games.word_grid import Cells, Placement, cells_of, column_header, place_words

__all__ = ["CrosswordsEnv", "CrosswordsOracle"]

_RULES = """\
You are playing Crosswords.
A grid of {side} rows and {side} columns hides {words} of {letters} letters in all (a letter where \
two words cross counts once). Fill in every letter, one per turn; you have {max_turns} turns.
Rows and columns are numbered from 0, from the top and from the left. In the grid, _ is an unknown \
letter and . is a cell that is not used. Each clue names the direction of its word (across: left \
to right; down: top to bottom), the cell of its first letter and its number of letters.
Write your move inside \\boxed{{}} as row, column and letter, for example \\boxed{{{example}}}. \
A wrong letter, and a cell that is filled, not used or outside the grid, costs a turn. You may \
reason before the box; if there are several boxes, the last one counts. A reply without a valid \
box ends the game.
The history of your moves will follow here, and below it the current grid and the clues.
Fill in your first letter."""
_STYLES = {
    r"\b[CR]\d+\b": "dim",
    r"(?<=  )\.": "dim",
    r"(?<=  )_": "yellow",
    r"(?<=  )[A-Z]\b": "bold green",
    r"(?m)^\d+\. .*? letters:": "cyan",
}


class CrosswordsEnv(Game):
    """Fill in crossing words from their clues.

    A correct letter earns 1 / number of letter cells; every other move earns 0.0. There are always
    enough turns to fill all letter cells.

    Args:
        hardcore: Whether words and clues are hard (5 to 16 letters) or easy (3 to 11 letters). None
            draws one of them in each episode.
        max_turns: The number of turns, at most 1,000, and enough for ``num_words`` short words.
            None means 20 for every three words, or more if the words need it.
        num_words: The number of words in the grid, 1 to 20. None means 3, or as many as the turns
            allow.

    Raises:
        ConfigError: An option is out of range, or there are too few turns for the words.
    """

    pattern = boxed(rf"({DIGITS})\s+({DIGITS})\s+([a-zA-Z])")
    action_format = "\\boxed{row column letter}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        hardcore: bool | None = False,
        max_turns: int | None = 100,
        num_words: int | None = 5,
    ) -> None:
        if hardcore is not None and not isinstance(hardcore, bool):
            raise ConfigError(f"hardcore must be True, False or None; got {hardcore!r}.")
        check_range("num_words", num_words, 1, 20)
        check_range("max_turns", max_turns, 1, 1000)
        fewest = _fewest_letters(num_words or 1, hardcore=hardcore is not False)
        if max_turns is not None and max_turns < fewest:
            raise ConfigError(
                f"{num_words or 1} words need at least {fewest} turns; got max_turns={max_turns}."
            )
        self._parameters = (hardcore, max_turns, num_words)

    def start(self) -> tuple[Observation, Info]:
        hardcore, max_turns, num_words = self._parameters
        self.hardcore = self.rng.choice((False, True)) if hardcore is None else hardcore
        self.num_words = num_words or _words_that_fit(max_turns, hardcore=self.hardcore)
        self.max_turns = max_turns or max(
            round(self.num_words * 20 / 3),
            _fewest_letters(self.num_words, hardcore=self.hardcore),
        )
        self.placed_words, cells = self._place(self._draw_words())
        table = clues(hardcore=self.hardcore)
        self.clues = {word: table[word] for word in self.placed_words}
        self.total_letter_cells = self._missing = len(cells)
        self.solution = [["."] * self._side for _ in range(self._side)]
        self.board = [["."] * self._side for _ in range(self._side)]
        for (row, column), letter in cells.items():
            self.solution[row][column], self.board[row][column] = letter, "_"
        self._clue_lines = self._list_clues()
        self._draw_board()
        return self.opening(self._rules())

    def _draw_words(self) -> list[str]:
        """Draw words one by one, leaving enough turns for the shortest of the others."""
        pool = list(_by_length(hardcore=self.hardcore))
        budget = self.max_turns
        drawn: list[str] = []
        for others in range(self.num_words - 1, -1, -1):
            reserve = sum(map(len, pool[:others]))
            size = bisect_right(pool, budget - reserve, key=len)
            word = pool.pop(int(self.rng.random() * max(size, others + 1)))
            budget -= len(word)
            drawn.append(word)
        return drawn

    def _place(self, words: list[str]) -> tuple[dict[str, Placement], Cells]:
        """Place the words in a grid that grows until they fit."""
        self._side = max(3, round(1.5 * max(map(len, words))))
        while (placed := place_words(self.rng, words, self._side, crossword=True)) is None:
            self._side += 1
        # Sorted by position, not in the order of placement.
        return dict(sorted(placed[0].items(), key=lambda item: item[1])), placed[1]

    def _list_clues(self) -> str:
        return "\n".join(
            f"{number}. {place.direction.capitalize()} from row {place.row}, column "
            f"{place.column}, {len(word)} letters: {self.clues[word]}"
            for number, (word, place) in enumerate(self.placed_words.items(), 1)
        )

    def _rules(self) -> str:
        row, column, _ = next(iter(self.placed_words.values()))
        # The example must not reveal a letter.
        letter = "A" if self.solution[row][column] != "A" else "E"
        return _RULES.format(
            side=self._side,
            words=f"{self.num_words} word{'s' if self.num_words > 1 else ''}",
            letters=self.total_letter_cells,
            max_turns=self.max_turns,
            example=f"{row} {column} {letter}",
        )

    def play(self, match: re.Match[str]) -> Outcome:
        turn, letter = self.turn_count, match[3].upper()
        row, column = int(match[1]), int(match[2])
        if row >= self._side or column >= self._side:
            return f"Turn {turn}: row {row}, column {column} is outside the grid.", 0.0, False
        where = f"Turn {turn}: {letter} at row {row}, column {column}"
        if self.board[row][column] != "_":
            why = "is not used" if self.board[row][column] == "." else "is already filled"
            return f"{where} is not possible: the cell {why}.", 0.0, False
        if self.solution[row][column] != letter:
            return f"{where} is incorrect.", 0.0, False
        self.board[row][column] = letter
        self._missing -= 1
        self._draw_board()
        done = self._missing == 0
        end = " The crossword is complete. You win!" if done else ""
        return f"{where} is correct.{end}", 1 / self.total_letter_cells, done

    def _draw_board(self) -> None:
        rows = (f"R{i:02}  " + "   ".join(row) for i, row in enumerate(self.board))
        grid = "\n".join((column_header(self._side), *rows))
        self._text = f"Grid:\n{grid}\n\nClues:\n{self._clue_lines}\n\nYour next letter:"

    def render(self) -> str:
        return self._text

    def sample_random_action(self) -> Action:
        """Return a random letter for a random empty cell."""
        cells = [
            (row, column)
            for row, line in enumerate(self.board)
            for column, letter in enumerate(line)
            if letter == "_"
        ]
        row, column = self.action_rng.choice(cells) if cells else (0, 0)
        letter = self.action_rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return f"\\boxed{{{row} {column} {letter}}}"


@functools.cache
def _by_length(*, hardcore: bool) -> tuple[str, ...]:
    return tuple(sorted(clues(hardcore=hardcore), key=lambda word: (len(word), word)))


def _fewest_letters(num_words: int, *, hardcore: bool) -> int:
    return sum(map(len, _by_length(hardcore=hardcore)[:num_words]))


def _words_that_fit(max_turns: int | None, *, hardcore: bool) -> int:
    """Return 3, or fewer if there are too few turns for 3 words."""
    if max_turns is None:
        return 3
    return max(n for n in (1, 2, 3) if n == 1 or _fewest_letters(n, hardcore=hardcore) <= max_turns)


class CrosswordsOracle(BaseAgent):
    """An agent that looks up the clues in ``crossword_clues``; its return is always 1.0."""

    def reset(self, env: Env) -> None:
        self._letters: Cells = {}

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        text = text[text.rindex("Grid:\n") :]
        if not self._letters:
            self._letters = _solve(text)
        board = re.findall(r"^R\d+  (.*)$", text, re.MULTILINE)
        for (row, column), letter in self._letters.items():
            if board[row][4 * column] == "_":
                return f"\\boxed{{{row} {column} {letter}}}"
        raise ValueError("CrosswordsOracle found no empty cell.")


@functools.cache
def _words_by_clue() -> dict[str, str]:
    tables = (clues(hardcore=False), clues(hardcore=True))
    return {clue: word for table in tables for word, clue in table.items()}


def _solve(text: str) -> Cells:
    letters: Cells = {}
    pattern = r"^\d+\. (Across|Down) from row (\d+), column (\d+), \d+ letters: (.*)$"
    for direction, row, column, clue in re.findall(pattern, text, re.MULTILINE):
        word = _words_by_clue()[clue]
        place = Placement(int(row), int(column), direction.lower())
        letters.update(zip(cells_of(len(word), place), word, strict=True))
    return letters
