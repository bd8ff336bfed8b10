"""Hangman: find a secret word by guessing letters or the whole word."""

import functools
import re
from collections.abc import Sequence

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import Game, Outcome, boxed, check_range
from gem_games.word_grid import column_header
from gem_games.words import longest_word, words_of_length

__all__ = ["HangmanEnv", "HangmanOracle"]

_RULES = """\
You are playing Hangman.
I have chosen a secret English word of {length} letters{rarity}. You have {max_turns} turns to \
find it. The board shows the letters that you have found, and _ for each one that is hidden.
In each turn, guess one letter, and every place where the secret word has it is shown, or guess \
the whole word. You win when you guess the word or when all its letters are shown. A wrong guess \
costs a turn and nothing else; so does a letter that you have guessed before.
Write your guess inside \\boxed{{}}, in capitals or not: \\boxed{{{letter}}} guesses a letter, \
\\boxed{{{word}}} guesses a word. You may reason before it; if there are several boxes, the last \
one counts. A reply without a valid box ends the game.
The history of your guesses will follow here, and below it the current board.
Make your first guess."""
_STYLES = {r"\b[CR]\d+\b": "dim", "_": "dim", r"\b[A-Z]\b": "bold green"}
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class HangmanEnv(Game):
    """Find a secret word by guessing letters or the whole word.

    The reward is 0.5 / length for each revealed position. The guess that completes the word, a
    letter or the word itself, earns another 0.5, so the rewards of a won game add up to 1.0.

    Args:
        word_length: The number of letters of the secret, 3 to 12, or up to 15 if ``hardcore``. None
            draws 3, 5 or 7 in each episode.
        hardcore: Whether to draw the secret from the long word list (about 23,000 words, some of
            them rare) instead of the common one.
        max_turns: The number of guesses, 1 to 1,000. None means 10, 15 or 20 for 3, 5 or 7 letters,
            and the same proportion for other lengths.

    Raises:
        ConfigError: An option is out of range.
    """

    pattern = boxed(r"([a-zA-Z]+)")
    action_format = "\\boxed{letter} or \\boxed{word}"
    board_styles = _STYLES

    def __init__(
        self,
        *,
        word_length: int | None = 5,
        hardcore: bool = False,
        max_turns: int | None = 20,
    ) -> None:
        if not isinstance(hardcore, bool):
            raise ConfigError(f"hardcore must be True or False; got {hardcore!r}.")
        check_range("word_length", word_length, 3, longest_word(hardcore=hardcore))
        check_range("max_turns", max_turns, 1, 1000)
        self.hardcore = hardcore
        self._parameters = (word_length, max_turns)

    @property
    def available_words(self) -> tuple[str, ...]:
        """The words from which the secret is drawn."""
        return words_of_length(self.word_length, hardcore=self.hardcore)

    def start(self) -> tuple[Observation, Info]:
        word_length, max_turns = self._parameters
        self.word_length = word_length or self.rng.choice((3, 5, 7))
        self.max_turns = max_turns or (5 * self.word_length + 5) // 2
        self.secret_word, example = self.rng.sample(self.available_words, 2)
        self.guessed_letters: set[str] = set()
        self.board = ["_"] * self.word_length
        self._draw_board()
        # A random letter, which may or may not be in the secret word, reveals nothing.
        letter = self.rng.choice(_ALPHABET)
        rarity = ", which may be a rare one" if self.hardcore else ", a common one"
        return self.opening(
            _RULES.format(
                length=self.word_length,
                rarity=rarity,
                max_turns=self.max_turns,
                letter=letter,
                word=example,
            )
        )

    @property
    def solution_text(self) -> str:
        return self.secret_word

    def play(self, match: re.Match[str]) -> Outcome:
        guess = match[1].upper()
        return self._play_letter(guess) if len(guess) == 1 else self._play_word(guess)

    def _play_letter(self, letter: str) -> Outcome:
        turn = self.turn_count
        if letter in self.guessed_letters:
            return f"Turn {turn}: you have guessed the letter {letter} before.", 0.0, False
        self.guessed_letters.add(letter)
        count = self.secret_word.count(letter)
        if not count:
            return f"Turn {turn}: the letter {letter} is not in the word.", 0.0, False
        reward = self.reward_of(letter)
        self._show(letter)
        times = "once" if count == 1 else f"{count} times"
        feedback = f"Turn {turn}: the letter {letter} is in the word {times}."
        if "_" in self.board:
            return feedback, reward, False
        return f"{feedback} The word is {self.secret_word}. You win!", reward + 0.5, True

    def _play_word(self, guess: str) -> Outcome:
        turn = self.turn_count
        if len(guess) != self.word_length:
            why = f"has {len(guess)} letters, not {self.word_length}"
            return f"Turn {turn}: {guess} {why}.", 0.0, False
        if guess != self.secret_word:
            return f"Turn {turn}: {guess} is not the word.", 0.0, False
        reward = self.reward_of(guess)
        self._show(guess)
        return f"Turn {turn}: {guess} is the word. You win!", reward + 0.5, True

    def reward_of(self, letters: str) -> float:
        """Return the reward of the hidden positions that these letters would show."""
        pairs = zip(self.secret_word, self.board, strict=True)
        hidden = sum(letter in letters and shown == "_" for letter, shown in pairs)
        return 0.5 * hidden / self.word_length

    def _show(self, letters: str) -> None:
        for index, letter in enumerate(self.secret_word):
            if letter in letters:
                self.board[index] = letter
        self._draw_board()

    def _draw_board(self) -> None:
        header = column_header(self.word_length).lstrip()
        self._text = f"Board:\n{header}\n  {'   '.join(self.board)}\n\nYour next guess:"

    def render(self) -> str:
        return self._text

    def sample_random_action(self) -> Action:
        """Return a letter that was not guessed before or, sometimes, a random word."""
        letters = [letter for letter in _ALPHABET if letter not in self.guessed_letters]
        if self.action_rng.random() < 0.1 or not letters:
            return f"\\boxed{{{self.action_rng.choice(self.available_words)}}}"
        return f"\\boxed{{{self.action_rng.choice(letters)}}}"


class HangmanOracle(BaseAgent):
    """An agent that guesses the letter with the fewest expected remaining words, or the word.

    It knows the word lists. If turns are scarce, it searches to the end of the game and maximises
    the number of words that can still be found. It finds 98 % of the words of 3 letters in 10
    turns, and all words of the other registered levels. The first guess of a process takes up to
    half a second, later ones at most a millisecond.
    """

    def reset(self, env: Env) -> None:
        self._words: tuple[str, ...] = ()
        self._tried: frozenset[str] = frozenset()

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        if not self._words:
            self._read_rules(text)
        turns = re.findall(r"^Turn (\d+):", text, re.MULTILINE)
        left = self._max_turns - (int(turns[-1]) if turns else 0)
        self._tried |= set(re.findall(r"the letter ([A-Z]) is (?:not )?in the word", text))
        wrong = set(re.findall(r"([A-Z]+) is not the word\.", text))
        board = text[text.rindex("Board:\n") :].splitlines()[2].split()
        self._words = tuple(
            word for word in self._words if word not in wrong and self._fits(word, board)
        )
        return f"\\boxed{{{_plan(self._words, left, self._tried)[1]}}}"

    def _read_rules(self, text: str) -> None:
        rules = re.search(
            r"English word of (\d+) letters, (which may be a rare)?.*You have (\d+) turns", text
        )
        if rules is None:
            raise ValueError("HangmanOracle needs an observation with the rules first.")
        self._words = words_of_length(int(rules[1]), hardcore=rules[2] is not None)
        self._max_turns = int(rules[3])

    def _fits(self, word: str, board: Sequence[str]) -> bool:
        """Return whether a word is consistent with the board and the letters tried."""
        return all(
            own == shown or (shown == "_" and own not in self._tried)
            for own, shown in zip(word, board, strict=True)
        )


@functools.lru_cache(maxsize=2**14)
def _plan(words: tuple[str, ...], turns: int, tried: frozenset[str]) -> tuple[int, str]:
    """Return how many of the words can be found in these turns, and the first guess.

    The number is a lower bound, as only the two best letters are considered.
    """
    splits = [] if len(words) <= 2 or turns <= 1 else _best_splits(words, tried)
    best = (min(turns, len(words)), words[0]) if not splits else (0, "")
    for letter, groups in splits:
        known = tried | {letter}
        found = sum(_count(tuple(group), turns - 1, known) for group in groups)
        if found > best[0]:
            best = (found, letter)
        if found == len(words):
            return best
    if splits and len(words) <= turns + 2:
        best = max(best, (1 + _count(words[1:], turns - 1, tried), words[0]))
    return best


def _count(words: tuple[str, ...], turns: int, tried: frozenset[str]) -> int:
    if turns >= len(words) or (len(words) == 1 and tried.issuperset(words[0])):
        return len(words)
    return _plan(words, turns, tried)[0]


def _best_splits(words: Sequence[str], tried: frozenset[str]) -> list[tuple[str, list[list[str]]]]:
    """Return the letters with the fewest expected remaining words, and their groups of words."""
    splits = [(letter, _split(words, letter)) for letter in _ALPHABET if letter not in tried]
    splits = [split for split in splits if len(split[1]) > 1]
    splits.sort(key=lambda split: sum(len(group) ** 2 for group in split[1]))
    return splits[: 2 if len(words) <= 300 else 1]


def _split(words: Sequence[str], letter: str) -> list[list[str]]:
    """Group words by the positions of a letter."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for word in words:
        places: tuple[int, ...] = ()
        if letter in word:
            places = tuple(index for index, own in enumerate(word) if own == letter)
        groups.setdefault(places, []).append(word)
    return list(groups.values())
