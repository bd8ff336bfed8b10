"""WordSearch: find words hidden across and down a grid of letters."""

import itertools
import math
import random
import re
from collections.abc import Collection, Iterator, Sequence

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import DIGITS, Game, Outcome, boxed, check_range
from gem_games.word_grid import Cells, Placement, cells_of, column_header, place_words
from gem_games.words import longest_word, word_set, words_between

__all__ = ["WordSearchEnv", "WordSearchOracle", "span_of"]

_RULES = """\
You are playing WordSearch.
A grid of {side} rows and {side} columns of letters hides {count}{rarity}, each of {shortest} to \
{longest} letters. Find them all; you have {max_turns} turns, and each try costs one.
A word runs across (left to right) or down (top to bottom), never diagonally; words may cross. \
{listing}
Rows and columns are numbered from 0, from the top and from the left. Write a word inside \
\\boxed{{}} as the row and column of its first letter, then those of its last one: \
\\boxed{{{example}}} would be a word {example_reads}. You may reason before the box; if there \
are several boxes, the last one counts. A reply without a valid box ends the game.
The history of your tries will follow here, and below it the current grid, where the letters of \
the words that you have found are in brackets.
Find your first word."""
_STYLES = {r"\b[CR]\d+\b": "dim", r"\[[A-Z]\]": "bold green", "Found: .*": "cyan"}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Span = tuple[int, int, int, int]
"""The row and column of the first letter, and the row and column of the last."""


class WordSearchEnv(Game):
    """Find words hidden in a grid of letters.

    Each word earns 1 / ``num_words`` when it is first found; every other move earns 0.0.

    Args:
        hardcore: Whether to draw the words from the long word list (about 23,000 words, some of
            them rare) or from the common one. None draws one of them in each episode.
        max_turns: The number of turns, at most 1,000 and at least one per word. None means four per
            word.
        num_words: The number of words in the grid, 1 to 30. None means 5, or as many as the turns
            allow.
        shortest: The minimum length of a word, at least 3.
        longest: The maximum length of a word, at most 12, or 15 if ``hardcore``.
        show_words: Whether the rules list the hidden words.

    Raises:
        ConfigError: An option is out of range, there are fewer turns than words, or the word list
            has too few words of these lengths.
    """

    pattern = boxed(rf"({DIGITS})\s+({DIGITS})\s+({DIGITS})\s+({DIGITS})")
    action_format = "\\boxed{start_row start_column end_row end_column}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        hardcore: bool | None = False,
        max_turns: int | None = 20,
        num_words: int | None = 5,
        shortest: int = 3,
        longest: int = 12,
        show_words: bool = False,
    ) -> None:
        if hardcore is not None and not isinstance(hardcore, bool):
            raise ConfigError(f"hardcore must be True, False or None; got {hardcore!r}.")
        if not isinstance(show_words, bool):
            raise ConfigError(f"show_words must be True or False; got {show_words!r}.")
        check_range("num_words", num_words, 1, 30)
        check_range("max_turns", max_turns, num_words or 1, 1000)
        check_range("longest", longest, 3, longest_word(hardcore=bool(hardcore)))
        check_range("shortest", shortest, 3, longest)
        known = len(words_between(shortest, longest, hardcore=bool(hardcore)))
        if known < 4 * (num_words or 5):
            raise ConfigError(
                f"There are {known} words of {shortest} to {longest} letters, too few to draw "
                f"{num_words or 5} from. Allow more lengths, or reduce num_words."
            )
        self.show_words = show_words
        self._parameters = (hardcore, max_turns, num_words)
        self._lengths = (shortest, longest)

    def start(self) -> tuple[Observation, Info]:
        hardcore, max_turns, num_words = self._parameters
        self.hardcore = self.rng.choice((False, True)) if hardcore is None else hardcore
        self.num_words = num_words or min(5, max_turns or 5)
        self.max_turns = max_turns or 4 * self.num_words
        self._hide_words()
        self._words_by_span = {
            span_of(len(word), place): word for word, place in self.placed_words.items()
        }
        self.correct_words: set[str] = set()
        self.highlighted_positions: set[tuple[int, int]] = set()
        self.attempts: set[Span] = set()
        self._row_texts = [f"R{i:02}  {'   '.join(row)} " for i, row in enumerate(self.game_board)]
        self._draw_board()
        return self.opening(self._rules())

    def _hide_words(self) -> None:
        """Fill a grid that contains each word once; use a larger one if that fails."""
        known = words_between(*self._lengths, hardcore=self.hardcore)
        for extra in itertools.count():
            hidden = _draw_words(self.rng, known, self.num_words)
            longest, letters = max(map(len, hidden)), sum(map(len, hidden))
            self._side = max(round(1.5 * longest), math.isqrt(2 * letters) + 1) + extra
            placed = place_words(self.rng, hidden, self._side, crossword=False)
            if placed is None:
                continue
            self.placed_words, cells = placed
            grid = _fill(self.rng, cells, self._side, hidden)
            if grid is not None:
                self.game_board = grid
                return

    def _rules(self) -> str:
        shortest, longest = self._lengths
        listing = "Which words they are, you must find out yourself."
        if self.show_words:
            listing = f"The words are: {', '.join(sorted(self.placed_words))}."
        example = row, column, _, end = self._example()
        return _RULES.format(
            side=self._side,
            count=f"{self.num_words} English word{'s' if self.num_words > 1 else ''}",
            rarity=" (they may be rare)" if self.hardcore else " (common ones)",
            shortest=shortest,
            longest=longest,
            max_turns=self.max_turns,
            listing=listing,
            example=" ".join(map(str, example)),
            example_reads=f"across row {row}, from column {column} to column {end}",
        )

    def _example(self) -> Span:
        """Return an example span across that is not a hidden word."""
        length = self._lengths[0]
        return next(
            span
            for row in range(self._side)
            for column in range(self._side - length + 1)
            if (span := (row, column, row, column + length - 1)) not in self._words_by_span
        )

    @property
    def solution_text(self) -> str:
        return ", ".join(self.placed_words)

    def play(self, match: re.Match[str]) -> Outcome:
        turn = self.turn_count
        span = self._read(match)
        row, column, end_row, end_column = span
        where = f"from row {row}, column {column} to row {end_row}, column {end_column}"
        if max(span) >= self._side:
            return f"Turn {turn}: {where} is not within the grid.", 0.0, False
        if span in self.attempts:
            return f"Turn {turn}: you have tried {where} before.", 0.0, False
        self.attempts.add(span)
        if row != end_row and column != end_column:
            return f"Turn {turn}: {where} is not across and not down.", 0.0, False
        word = self._words_by_span.get(span)
        if word is None:
            return f"Turn {turn}: {where} is none of the hidden words.", 0.0, False
        self.correct_words.add(word)
        self._highlight(cells_of(len(word), self.placed_words[word]))
        self._draw_board()
        done = len(self.correct_words) == len(self.placed_words)
        end = " You have found all words. You win!" if done else ""
        return f"Turn {turn}: you found {word}, {where}.{end}", 1 / len(self.placed_words), done

    @staticmethod
    def _read(match: re.Match[str]) -> Span:
        """Return the ends of a span in reading order, so that swapped ends are the same span."""
        row, column, end_row, end_column = (int(match[i]) for i in (1, 2, 3, 4))
        if (end_row, end_column) < (row, column):
            return end_row, end_column, row, column
        return row, column, end_row, end_column

    def _highlight(self, cells: Collection[tuple[int, int]]) -> None:
        """Put brackets around letters; the text of a cell is three characters wide."""
        self.highlighted_positions.update(cells)
        for row, column in cells:
            line, start = self._row_texts[row], 4 + 4 * column
            self._row_texts[row] = f"{line[:start]}[{line[start + 1]}]{line[start + 3 :]}"

    def _draw_board(self) -> None:
        grid = "\n".join((column_header(self._side), *self._row_texts))
        found = f"Found: {len(self.correct_words)} of {len(self.placed_words)} words."
        self._text = f"Grid:\n{grid}\n\n{found}\n\nYour next word:"

    def render(self) -> str:
        return self._text

    def sample_random_action(self) -> Action:
        """Return a random span across or down that a word could have."""
        length = self.action_rng.randint(self._lengths[0], min(self._lengths[1], self._side))
        place = Placement(
            self.action_rng.randrange(self._side),
            self.action_rng.randint(0, self._side - length),
            "across",
        )
        row, column, end_row, end_column = span_of(length, place)
        if self.action_rng.random() < 0.5:
            row, column, end_row, end_column = column, row, end_column, end_row
        return f"\\boxed{{{row} {column} {end_row} {end_column}}}"


def span_of(length: int, place: Placement) -> Span:
    """Return row and column of the first and the last letter of a word."""
    row, column, direction = place
    if direction == "across":
        return row, column, row, column + length - 1
    return row, column, row + length - 1, column


def _draw_words(rng: random.Random, known: Sequence[str], count: int) -> list[str]:
    """Draw distinct words, none contained in another, as it would be in the grid twice."""
    drawn: list[str] = []
    while len(drawn) < count:
        word = rng.choice(known)
        if not any(word in other or other in word for other in drawn):
            drawn.append(word)
    return drawn


def _fill(
    rng: random.Random, known: Cells, side: int, words: Sequence[str]
) -> list[list[str]] | None:
    """Return the grid with random letters in its free cells, or None if it has a word twice."""
    letters = rng.choices(_ALPHABET, k=side * side)
    for (row, column), letter in known.items():
        letters[row * side + column] = letter
    grid = [letters[start : start + side] for start in range(0, side * side, side)]
    text = "\n".join(_lines(grid))
    once = all(text.find(word) == text.rfind(word) for word in words)
    return grid if once else None


def _lines(grid: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the rows and then the columns as text."""
    yield from map("".join, grid)
    yield from map("".join, zip(*grid, strict=True))


class WordSearchOracle(BaseAgent):
    """An agent that tries the known words in the grid, long ones and crossing ones first.

    It knows the word lists, and that most hidden words cross. Long words are rarely in the grid by
    chance. But there may be more words of 3 letters from the long list than turns, so it misses a
    hidden word in about 1 of 100 episodes on the hard level. An action takes at most a millisecond.
    """

    def reset(self, env: Env) -> None:
        self._spans: dict[Span, str] | None = None
        self._found: dict[Span, str] = {}

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        if self._spans is None:
            self._spans = _candidates(text)
        hits = re.findall(
            r"you found (\w+), from row (\d+), column (\d+) to row (\d+), column (\d+)", text
        )
        for word, *ends in hits:
            row, column, end_row, end_column = map(int, ends)
            self._found[row, column, end_row, end_column] = word
        if not self._spans:
            raise ValueError("WordSearchOracle has tried all words that it found in the grid.")
        best = max(self._spans, key=self._likelihood)
        del self._spans[best]
        return f"\\boxed{{{' '.join(map(str, best))}}}"

    def _likelihood(self, span: Span) -> tuple[bool, int, bool]:
        """Rank a word: hidden words are not inside others, and long words are rare by chance."""
        word = self._spans[span] if self._spans else ""
        new = not any(word in found for found in self._found.values())
        return new, len(word), any(_cross(span, found) for found in self._found)


def _cross(span: Span, other: Span) -> bool:
    """Return whether a word across and a word down share a cell."""
    across, down = (span, other) if span[0] == span[2] else (other, span)
    (row, left, same, right), (top, column, bottom, also) = across, down
    return row == same and column == also and top <= row <= bottom and left <= column <= right


def _candidates(text: str) -> dict[Span, str]:
    """Return the known words in the grid by their span."""
    rules = re.search(r"\((they may be rare|common ones)\), each of (\d+) to (\d+) letters", text)
    if rules is None:
        raise ValueError("WordSearchOracle needs an observation with the rules first.")
    listed = re.search(r"^.*The words are: (.*)\.$", text, re.MULTILINE)
    known = word_set(hardcore=rules[1] != "common ones")
    if listed is not None:
        known = frozenset(listed[1].split(", "))
    rows = re.findall(r"^R\d+ (.*)$", text[text.rindex("Grid:\n") :], re.MULTILINE)
    lines = list(_lines([re.findall(r"[A-Z]", row) for row in rows]))
    return {
        _span_in(index, start, end - 1, len(rows)): line[start:end]
        for index, line in enumerate(lines)
        for start in range(len(line))
        for end in range(start + int(rules[2]), min(start + int(rules[3]), len(line)) + 1)
        if line[start:end] in known
    }


def _span_in(line: int, start: int, last: int, side: int) -> Span:
    if line < side:
        return line, start, line, last
    return start, line - side, last, line - side
