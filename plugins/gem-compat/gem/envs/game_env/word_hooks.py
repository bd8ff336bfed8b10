"""The methods and attributes of gem-llm's games of words and codes: see ``hooks``."""

from collections.abc import Sequence
from typing import Any

from gem.envs.game_env.adapter import GameAdapter
from gem.requirements import needs

with needs("gem-games"):
    from gem_games import word_search
    from gem_games.crosswords import CrosswordsEnv
    from gem_games.guess_the_number import GuessTheNumberEnv
    from gem_games.hangman import HangmanEnv
    from gem_games.mastermind import MastermindEnv
    from gem_games.word_grid import Placement
    from gem_games.word_search import WordSearchEnv
    from gem_games.wordle import WordleEnv

__all__ = [
    "CrosswordsHooks",
    "GuessTheNumberHooks",
    "HangmanHooks",
    "MastermindHooks",
    "WordSearchHooks",
    "WordleHooks",
]


class GuessTheNumberHooks(GameAdapter, GuessTheNumberEnv):
    """State: ``game_number``, ``previous_guesses``."""

    def read(self, action: Any) -> Any:
        """Return the parts of a guess; unless it is in the range, 0 or a sign is a format error."""
        match = super().read(action)
        if match is None or self.min_number <= int(match[1]) <= self.max_number:
            return match
        return match if match[1].isdigit() and int(match[1]) else None


class MastermindHooks(GameAdapter, MastermindEnv):
    """State: ``game_code``, ``milestone``, ``previous_guesses``."""

    def evaluate(self, guess: Any) -> Any:
        return self._evaluate_guess(list(guess))

    def reward_of(self, black: int) -> float:
        return self.get_current_success_internal_reward(black)

    def _evaluate_guess(self, player_guess: list[int]) -> tuple[int, int]:
        """Return the numbers of black and white pegs."""
        black, white = super().evaluate(player_guess)
        return black, white

    def get_current_success_internal_reward(self, blackpeg: int) -> float:
        """Return the reward of a guess with these black pegs, and keep the largest number."""
        return float(super().reward_of(blackpeg))


class _OwnWords:
    """A game whose words may be assigned."""

    word_length: int
    _own_words: tuple[str, ...] = ()

    @property
    def available_words(self) -> tuple[str, ...]:
        """The words from which the next secret is drawn; those that were assigned, if any fit."""
        own = [word for word in self._own_words if len(word) == self.word_length]
        words: Any = super()
        return (*own, *own)[: max(2, len(own))] or words.available_words  # the game draws two

    @available_words.setter
    def available_words(self, words: Sequence[str]) -> None:
        self._own_words = tuple(str(word).upper() for word in words)


class WordleHooks(_OwnWords, GameAdapter, WordleEnv):
    """State: ``secret_word``, ``milestones``, ``previous_guesses``."""

    def evaluate(self, guess: str) -> str:
        return "".join(self._evaluate_guess(guess))

    def reward_of(self, marked: str) -> float:
        return self.get_current_success_internal_reward(list(marked))

    def _evaluate_guess(self, player_guess: str) -> list[str]:
        """Return a mark for each letter: G, Y or X."""
        return list(super().evaluate(player_guess))

    def get_current_success_internal_reward(self, feedback: Any) -> float:
        """Return the reward of the positions that are green for the first time."""
        return float(super().reward_of("".join(feedback)))


class HangmanHooks(_OwnWords, GameAdapter, HangmanEnv):
    """State: ``secret_word``, ``board``, ``guessed_letters``."""

    def sync(self) -> None:
        self._draw_board()

    def _generate_board(self) -> list[str]:
        """Return the board at the start."""
        return ["_"] * self.word_length

    def _show(self, letters: str) -> None:
        self._reveal_letter(letters)
        self._draw_board()

    def _reveal_letter(self, player_guess: str) -> None:
        """Show letters on the board."""
        super()._show(player_guess)

    def reward_of(self, letters: str) -> float:
        return self.get_current_success_internal_reward(letters)

    def get_current_success_internal_reward(self, player_guess: str) -> float:
        """Return the reward of the hidden positions that these letters would show."""
        return float(super().reward_of(player_guess))

    def sample_random_word(self) -> str:
        """Return a word of the right length."""
        return str(self.action_rng.choice(self.available_words))

    def sample_random_letter(self) -> str:
        """Return a letter."""
        return self.action_rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


class CrosswordsHooks(GameAdapter, CrosswordsEnv):
    """State: ``board``, ``solution``, ``placed_words``, ``clues``, ``total_letter_cells``."""

    solved = "_is_game_over"

    def sync(self) -> None:
        self._side = len(self.board)
        self._missing = sum(letter == "_" for row in self.board for letter in row)
        self._draw_board()

    def place(self, board: Any) -> None:
        self.solution, words, self.clues = board
        self.placed_words = {word: Placement(*at) for word, at in words.items()}
        self.board = self._hide_letters(self.solution)
        self.total_letter_cells = sum(letter == "_" for row in self.board for letter in row)
        self._side = len(self.board)
        self._clue_lines = self._list_clues()
        self._rules_text = self._rules()

    def opening(self, rules: str) -> Any:
        if self.is_overridden("_hide_letters"):
            self.board = self._hide_letters(self.solution)
        return super().opening(rules)

    def _generate_board(self) -> Any:
        """Return a new grid of letters, the placed words, and their clues."""
        twin: Any = self.fork()
        twin.__class__ = self.original  # not the overridden method that asks for this
        twin.rng.seed(self.rng.getrandbits(64))
        twin.start()
        return twin.solution, dict(twin.placed_words), dict(twin.clues)

    def _hide_letters(self, grid: Any) -> Any:
        """Return a grid with ``_`` for every letter."""
        return [["." if letter == "." else "_" for letter in row] for row in grid]

    def _list_clues(self) -> str:
        return self._clue_generator()

    def _clue_generator(self) -> str:
        """Return the list of clues."""
        return str(super()._list_clues())

    def _get_percentage_completion(self) -> float:
        """Return the share of letters that are filled in."""
        self.sync()
        return 1.0 - self._missing / self.total_letter_cells

    def _is_game_over(self) -> bool:
        """Return whether every letter is filled in."""
        self.sync()
        return self._missing == 0


class WordSearchHooks(GameAdapter, WordSearchEnv):
    """State: ``game_board``, ``placed_words``, ``correct_words``, ``attempts``."""

    def sync(self) -> None:
        self._side = len(self.game_board)
        places = {word: Placement(*at) for word, at in self.placed_words.items()}
        self.placed_words = places
        self._words_by_span = {
            word_search.span_of(len(word), place): word for word, place in places.items()
        }
        rows = enumerate(self.game_board)
        self._row_texts = [f"R{i:02}  {'   '.join(row)} " for i, row in rows]
        self._highlight(set(self.highlighted_positions))
        self._draw_board()

    def _are_coordinates_valid(
        self, start_row: int, start_col: int, end_row: int, end_col: int
    ) -> bool:
        """Return whether both cells are within the grid."""
        cells = (start_row, start_col, end_row, end_col)
        return all(0 <= number < len(self.game_board) for number in cells)

    def _map_coordinate_to_word(
        self, start_row: int, start_col: int, end_row: int, end_col: int
    ) -> str | None:
        """Return the hidden word with these ends; None if there is none."""
        self.sync()
        ends = sorted([(start_row, start_col), (end_row, end_col)])
        found: str | None = self._words_by_span.get((*ends[0], *ends[1]))
        return found

    def _check_word(self, start_row: int, start_col: int, end_row: int, end_col: int) -> bool:
        """Return whether a hidden word has these ends."""
        return self._map_coordinate_to_word(start_row, start_col, end_row, end_col) is not None
