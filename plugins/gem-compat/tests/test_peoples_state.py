"""Code written for gem-llm saves the state of a game, assigns it later, and plays on."""

import copy
import json
import pickle

import numpy as np
import pytest

import gem
from gem.envs.game_env.fifteen_puzzle import FifteenPuzzleEnv
from gem.envs.game_env.hangman import HangmanEnv
from gem.envs.game_env.hooks import game_class
from gem.envs.game_env.minesweeper import MinesweeperEnv
from gem.envs.game_env.sokoban import SokobanEnv
from gem.envs.game_env.sudoku import SudokuEnv
from gem.envs.game_env.wordle import WordleEnv
from gem.envs.reasoning_gym import ReasoningGymEnv
from gem_core.errors import ConfigError, EpisodeEndedError

pytestmark = pytest.mark.filterwarnings("ignore:.*the episode has ended")

STATES = {
    "guess_the_number": "min_number max_number max_turns game_number previous_guesses",
    "mastermind": "game_code previous_guesses milestone",
    "minesweeper": "grid revealed flags first_reveal",
    "wordle": "secret_word available_words previous_guesses milestones",
    "fifteen_puzzle": "board goal_board greatest_num",
    "hangman": "secret_word board guessed_letters available_words",
    "sudoku": "full_grid board init_num_empty",
    "tower_of_hanoi": "board",
    "sokoban": "room_state room_fixed box_mapping player_position",
    "crosswords": "board solution clues placed_words total_letter_cells",
    "word_search": "game_board placed_words correct_words highlighted_positions attempts",
}
"""The attributes of each game whose moves draw nothing at random."""


def as_array(value):
    """Return a board of lists as an array, and anything else unchanged."""
    is_board = isinstance(value, list) and value and isinstance(value[0], list)
    return np.array(value, dtype=object) if is_board else value


FORMS = {"copies": copy.deepcopy, "arrays": as_array, "the same objects": lambda value: value}


@pytest.mark.slow
@pytest.mark.parametrize("name", STATES)
def test_a_game_goes_on_from_assigned_state(name, subtests):
    for kind, form in FORMS.items():
        with subtests.test(kind):
            _check_assigned_state(name, form)


def _check_assigned_state(name, form):
    env = game_class(name)(seed=5)
    env.step(env.sample_random_action())  # the first move of Minesweeper draws the mines
    names = [*STATES[name].split(), "turn_count"]
    saved = copy.deepcopy({key: getattr(env, key) for key in names})
    actions = [env.sample_random_action() for _ in range(12)]
    first = [env.step(action)[:4] for action in actions]
    for key, value in copy.deepcopy(saved).items():
        setattr(env, key, form(value))
    twins = env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    for twin in twins:
        assert [twin.step(action)[:4] for action in actions] == first


def test_arrays_are_boards_for_the_methods_that_people_call():
    solved = np.array([[1, 2, 3], [4, 5, 6], [7, 8, None]], dtype=object)
    puzzle = FifteenPuzzleEnv(20, 3, seed=1)
    puzzle.board = solved.copy()
    assert puzzle._is_solved()
    puzzle.board = np.array([[1, 2, 3], [4, 5, 6], [7, 0, 8]])
    assert puzzle._get_empty_position() == (2, 1)
    assert puzzle.step(r"\boxed{left}")[1:3] == (1.0, True)
    sudoku = SudokuEnv(8, 15, 4, seed=1)
    sudoku.board = np.array(sudoku.full_grid)
    assert sudoku._is_puzzle_complete()
    mines = MinesweeperEnv(4, 4, 2, 20, seed=1)
    mines.step(r"\boxed{reveal 0 0}")
    shown = mines._render_board()
    mines.grid, mines.revealed, mines.flags = map(
        np.array, (mines.grid, mines.revealed, mines.flags)
    )
    assert mines._render_board() == shown
    json.dumps([mines.grid, mines.revealed, mines.flags, sudoku.board])


def test_the_room_of_sokoban_may_be_assigned_as_its_board():
    env = SokobanEnv((6, 6), 30, 1, seed=1)
    start, shown = env.board.copy(), env.get_task_suffix()
    moves = [env.step(rf"\boxed{{{way}}}") for way in ("up", "left", "down", "right")]
    assert len(moves) == 4
    env.board = start.copy()
    assert (env.room_state == start).all()
    assert env.get_task_suffix() == shown
    env.board = start.tolist()
    env.step(r"\boxed{up}")
    assert isinstance(env.board, np.ndarray)


@pytest.mark.parametrize("cls", [WordleEnv, HangmanEnv])
def test_secrets_are_drawn_from_words_that_were_assigned(cls):
    env = cls(5, seed=1)
    own = env.available_words
    env.available_words = ["crane", "slate", "toolongone"]
    assert {env.reset(seed=seed) and env.secret_word for seed in range(9)} == {"CRANE", "SLATE"}
    env.available_words = ["crane"]
    assert {env.reset(seed=seed) and env.secret_word for seed in range(3)} == {"CRANE"}
    env.available_words = ["toolongone"]
    env.reset(seed=1)
    assert env.secret_word in own


# The end


@pytest.mark.slow
def test_an_environment_of_gem_core_repeats_its_end():
    env = gem.make("mcp:Sample")
    with pytest.raises(EpisodeEndedError, match="reset"):
        env.step("nothing")
    env.reset()
    first = env.step("nothing")
    assert first[2]
    with pytest.warns(UserWarning, match="has ended") as warned:
        after = [env.step("nothing") for _ in range(3)]
    assert len(warned) == 1
    assert [step[:4] for step in after] == [(first[0], 0.0, *first[2:4])] * 3
    env.reset()
    assert env.step("nothing")[2]
    env.close()


# ReasoningGymEnv, vectors, limits


class OwnReset(ReasoningGymEnv):
    """Takes its items itself, without calling the reset of its base."""

    def reset(self, seed=None):
        self.data = next(self.ds_iter)
        return self.data["question"], {}


@pytest.mark.slow
def test_an_item_that_a_subclass_sets_is_scored():
    env = OwnReset("leg_counting", size=3, seed=4)
    questions = set()
    for _ in range(3):
        questions.add(env.reset()[0])
        assert copy.deepcopy(env).step("no box")[1] == 0.0
        assert env.step(rf"\boxed{{{env.data['answer']}}}")[1] == 1.0
    assert len(questions) == 3


@pytest.mark.parametrize("name", ["data", "dataset"])
def test_rows_for_an_environment_that_makes_its_items_are_refused(name):
    with pytest.raises(ConfigError, match=f"takes no {name}=.*env.ds"):
        gem.make("rg:leg_counting", **{name: [{"question": "?", "answer": "!"}]})


def test_reset_arguments_of_an_environment_that_does_not_exist_cause_a_warning():
    vector = gem.make_vec(["math:Sample"] * 2)
    with pytest.warns(UserWarning, match="ignores env2_kwargs: .* env0_kwargs to env1_kwargs"):
        vector.reset(env0_kwargs={"idx": 1}, env2_kwargs={"idx": 1})
    vector.close()


def test_a_warning_names_the_parameter_as_it_was_given():
    with pytest.warns(UserWarning, match="clues=-1 is not possible here: 1 is used"):
        gem.make("game:Sudoku-v0-easy", clues=-1)
