"""Wordle: find a secret word from marks on the letters of each guess."""

import functools
import math
import re
from collections import Counter
from collections.abc import Sequence

from gem_core import Action, BaseAgent, Env, Info, Observation, visible_text
from gem_core.errors import ConfigError
from gem_games.base import Game, Outcome, boxed, check_range
from gem_games.words import longest_word, word_set, words_of_length

__all__ = ["WordleEnv", "WordleOracle", "marks"]

_RULES = """\
You are playing Wordle.
I have chosen a secret, common English word of {length} letters. You have {max_turns} turns to \
find it. After each guess I mark every letter of it:
G: the letter is in the secret word at this position.
Y: the letter is in the secret word, but at another position.
X: the letter is not in the secret word.
Each letter of the secret word explains one mark at most, G before Y: a letter that you use more \
often than the secret word does is marked X for the surplus.
{guesses} Write your guess inside \\boxed{{}}, for example \\boxed{{{example}}}. You may reason \
before it; if there are several boxes, the last one counts. A reply without a valid box ends the \
game.
The history of your guesses will follow here, so use every mark.
Make your first guess."""
_ANY_GUESS = "A guess is any {length} letters, in capitals or not, that you have not guessed yet."
_REAL_GUESS = "A guess is any English word of {length} letters that you have not guessed yet."


def marks(guess: str, secret: str) -> str:
    """Return one mark per letter of a guess: G (right position), Y (elsewhere), X (absent).

    Args:
        guess: A word as long as ``secret``, in the same case.
        secret: The secret; each of its letters accounts for at most one mark, green ones first.
    """
    result, left = ["X"] * len(secret), secret
    for index, letter in enumerate(guess):
        if letter == secret[index]:
            result[index] = "G"
            left = left.replace(letter, "", 1)
    for index, letter in enumerate(guess):
        if letter in left and result[index] == "X":
            result[index] = "Y"
            left = left.replace(letter, "", 1)
    return "".join(result)


class WordleEnv(Game):
    """Find a secret word.

    Each position earns 0.5 / length when it is green for the first time, and the secret word earns
    another 0.5, so the rewards of a won game add up to 1.0. A repeated guess, or a guess of another
    length, earns 0.0.

    Args:
        word_length: The number of letters of the secret, 3 to 12. None draws 3 to 5 in each
            episode.
        only_real_words: Whether a guess must be in the long word list; any other guess then uses a
            turn. The registered levels accept any letters.
        max_turns: The number of guesses, 1 to 1,000. None means five per letter.

    Raises:
        ConfigError: An option is out of range.
    """

    pattern = boxed(r"([a-zA-Z]+(?:\s+[a-zA-Z]+)*)")
    action_format = "\\boxed{word}"

    def __init__(
        self,
        *,
        word_length: int | None = 5,
        only_real_words: bool = False,
        max_turns: int | None = 20,
    ) -> None:
        check_range("word_length", word_length, 3, longest_word())
        check_range("max_turns", max_turns, 1, 1000)
        if not isinstance(only_real_words, bool):
            raise ConfigError(f"only_real_words must be True or False; got {only_real_words!r}.")
        self.only_real_words = only_real_words
        self._parameters = (word_length, max_turns)

    @property
    def available_words(self) -> tuple[str, ...]:
        """The words from which the secret is drawn."""
        return words_of_length(self.word_length)

    def start(self) -> tuple[Observation, Info]:
        word_length, max_turns = self._parameters
        self.word_length = word_length or self.rng.randint(3, 5)
        self.max_turns = max_turns or 5 * self.word_length
        self.secret_word, example = self.rng.sample(self.available_words, 2)
        self.previous_guesses: set[str] = set()
        self.milestones = [0] * self.word_length
        guesses = _REAL_GUESS if self.only_real_words else _ANY_GUESS
        return self.opening(
            _RULES.format(
                length=self.word_length,
                max_turns=self.max_turns,
                guesses=guesses.format(length=self.word_length),
                example=example,
            )
        )

    @property
    def solution_text(self) -> str:
        return self.secret_word

    def play(self, match: re.Match[str]) -> Outcome:
        guess, turn = "".join(match[1].split()).upper(), self.turn_count
        if len(guess) != self.word_length:
            why = f"has {len(guess)} letters, not {self.word_length}"
            return f"Turn {turn}: {guess} {why}.", 0.0, False
        if guess in self.previous_guesses:
            return f"Turn {turn}: you have guessed {guess} before.", 0.0, False
        if self.only_real_words and guess not in word_set(hardcore=True):
            return f"Turn {turn}: {guess} is not a word that I know.", 0.0, False
        self.previous_guesses.add(guess)
        marked = self.evaluate(guess)
        reward = self.reward_of(marked)
        if guess == self.secret_word:
            return f"Turn {turn}: {guess} is the secret word. You win!", reward + 0.5, True
        feedback = f"Turn {turn}: you guessed {guess}.\n{' '.join(guess)}\n{' '.join(marked)}"
        return feedback, reward, False

    def evaluate(self, guess: str) -> str:
        """Return the marks of a guess in capital letters; see ``marks``."""
        return marks(guess, self.secret_word)

    def reward_of(self, marked: str) -> float:
        """Return the reward of the positions that are green for the first time."""
        new = 0
        for index, mark in enumerate(marked):
            if mark == "G" and not self.milestones[index]:
                self.milestones[index] = 1
                new += 1
        return 0.5 * new / self.word_length

    def render(self) -> str:
        return "Your next guess:"

    def sample_random_action(self) -> Action:
        """Return a random word of the right length."""
        return f"\\boxed{{{self.action_rng.choice(self.available_words)}}}"


class WordleOracle(BaseAgent):
    """An agent that guesses the word with the highest entropy of marks over the remaining words.

    It knows the word list. Of the remaining words, it compares at most 40 as guesses against at
    most 200 as secrets, which takes a few milliseconds.
    """

    def reset(self, env: Env) -> None:
        self._words: Sequence[str] = ()

    def act(self, observation: Observation, info: Info) -> Action:
        text = visible_text(observation, info)
        if not self._words:
            length = re.search(r"English word of (\d+) letters", text)
            if length is None:
                raise ValueError("WordleOracle needs an observation with the rules first.")
            self._words = words_of_length(int(length[1]))
        for guess, spaced in re.findall(r"you guessed (\w+)\.\n[A-Z ]+\n([XYG ]+)", text):
            marked = spaced.replace(" ", "")
            self._words = tuple(word for word in self._words if marks(guess, word) == marked)
        return f"\\boxed{{{_best_guess(tuple(self._words))}}}"


@functools.lru_cache(maxsize=1024)
def _best_guess(words: tuple[str, ...]) -> str:
    sample = words[:: max(1, len(words) // 200)]
    guesses = sample[:: max(1, len(sample) // 40)]
    return max(guesses, key=lambda guess: _entropy(guess, sample))


def _entropy(guess: str, words: Sequence[str]) -> float:
    counts = Counter(marks(guess, word) for word in words)
    return -sum(count * math.log2(count) for count in counts.values())
