"""Code written for gem-llm's games: overridden methods, assigned state, steps after the end."""

import copy
import pickle

import numpy as np
import pytest

import gem
from gem.envs.game_env.crosswords import CrosswordsEnv
from gem.envs.game_env.fifteen_puzzle import FifteenPuzzleEnv
from gem.envs.game_env.game_2048 import Game2048Env
from gem.envs.game_env.guess_the_number import GuessTheNumberEnv
from gem.envs.game_env.hangman import HangmanEnv
from gem.envs.game_env.hooks import game_class
from gem.envs.game_env.mastermind import MastermindEnv
from gem.envs.game_env.minesweeper import MinesweeperEnv
from gem.envs.game_env.sokoban import SokobanEnv
from gem.envs.game_env.sudoku import SudokuEnv
from gem.envs.game_env.tower_of_hanoi import TowerofHanoiEnv
from gem.envs.game_env.word_search import WordSearchEnv
from gem.envs.game_env.wordle import WordleEnv
from gem.games import GAMES
from gem_core.errors import ConfigError

ENDED = pytest.mark.filterwarnings("ignore:.*the episode has ended")
CLASSES = {name: game_class(name) for name in GAMES}
every_game = pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)


def subclass(cls, **members):
    """Return a subclass of the same name, as a name decides what a seed draws."""
    return type(cls.__name__, (cls,), {"__qualname__": cls.__qualname__, **members})


# Hooks that are the same in every game


@every_game
def test_an_overridden_suffix_is_shown_after_each_turn(cls):
    other = subclass(cls, get_task_suffix=lambda self: f"turn {self.turn_count}")
    env = other(seed=1)
    assert env.reset()[1]["suffix"] == "turn 0"
    assert env.step(env.sample_random_action())[4]["suffix"] == "turn 1"


@every_game
def test_overridden_instructions_are_the_first_observation(cls):
    def instructions(self):
        return "Mine. " + cls._get_instructions(self)

    env = subclass(cls, _get_instructions=instructions)(seed=1)
    assert env.reset()[0].startswith("Mine. You are playing")


@every_game
def test_an_overridden_parser_reads_the_actions(cls):
    def parse(self, action):
        return cls._parse_action(self, action.replace("[", "{").replace("]", "}"))

    env = subclass(cls, _parse_action=parse)(seed=1)
    action = env.sample_random_action().replace("{", "[").replace("}", "]")
    observation, reward, *_ = env.step(action)
    assert "no valid action" not in observation
    assert reward >= 0
    assert env.step("nothing")[1:3] == (-0.1, True)


@pytest.mark.parametrize("name", sorted({*CLASSES} - {"guess_the_number", "mastermind", "wordle"}))
def test_an_overridden_board_is_in_the_suffix(name):
    cls = CLASSES[name]
    env = subclass(cls, _render_board=lambda self, *_: "<the board>")(seed=1)
    suffix = env.reset()[1]["suffix"]
    assert "\n<the board>\n" in suffix
    assert cls._render_board(env) not in suffix
    assert "<the board>" in env.step(env.sample_random_action())[4]["suffix"]


@every_game
def test_a_hook_set_on_the_object_works_too(cls):
    env = cls(seed=1)
    env.get_task_suffix = lambda: "mine"
    assert env.step(env.sample_random_action())[4]["suffix"] == "mine"


# Hooks of single games

HOOKS = {
    MinesweeperEnv: "_is_solved _setup_mines _calculate_adjacent_numbers _update_grid",
    FifteenPuzzleEnv: (
        "_is_solved _generate_board _move _get_empty_position _get_soft_reward _render_board"
    ),
    SudokuEnv: "_is_puzzle_complete _generate_board _is_move_correct",
    TowerofHanoiEnv: "_generate_board _render_board",
    Game2048Env: "_has_won _is_game_over _add_random_tile _get_progress_reward _get_board_str",
    SokobanEnv: "_check_if_all_boxes_on_target _count_boxes_on_targets _parse_action",
    MastermindEnv: "_evaluate_guess get_current_success_internal_reward",
    WordleEnv: "_evaluate_guess get_current_success_internal_reward",
    HangmanEnv: "_generate_board _reveal_letter get_current_success_internal_reward",
    CrosswordsEnv: "_is_game_over _generate_board _hide_letters _clue_generator",
    WordSearchEnv: "_parse_action _render_board get_task_suffix _get_instructions",
    GuessTheNumberEnv: "_parse_action get_task_suffix _get_instructions",
}


@ENDED
@pytest.mark.slow
@pytest.mark.parametrize("cls", HOOKS, ids=lambda cls: cls.__name__)
def test_a_game_calls_the_hooks_that_the_page_lists_and_plays_on_alike(cls, subtests):
    def noted(self, *args, **kwargs):
        calls.append(hook)
        return getattr(cls, hook)(self, *args, **kwargs)

    for hook in HOOKS[cls].split():
        calls = []
        with subtests.test(hook):
            other = subclass(cls, **{hook: noted})
            env, plain = other(max_turns=12, seed=3), cls(max_turns=12, seed=3)
            env.reset()
            plain.reset()
            drawn_anew = hook in ("_generate_board", "_hide_letters")
            for _ in range(12):
                action = env.sample_random_action()
                step = env.step(action)
                if not drawn_anew:
                    assert step[:4] == plain.step(action)[:4]
            assert calls


class Generous(MinesweeperEnv):
    """Solved when there is a flag on each mine."""

    def _is_solved(self):
        return all(
            (self.grid[row][col] == -1) <= self.flags[row][col]
            for row in range(self.rows)
            for col in range(self.cols)
        )


def test_an_overridden_is_solved_decides_the_end_of_minesweeper():
    env = Generous(4, 4, 2, 50, seed=3)
    env.step(r"\boxed{reveal 0 0}")
    mines = [(r, c) for r in range(4) for c in range(4) if env.grid[r][c] == -1]
    for row, col in mines[:-1]:
        assert not env.step(rf"\boxed{{flag {row} {col}}}")[2]
    row, col = mines[-1]
    observation, _, terminated, truncated, _ = env.step(rf"\boxed{{flag {row} {col}}}")
    assert (terminated, truncated) == (True, False)
    assert "Congratulations" in observation


@pytest.mark.filterwarnings("ignore:.*the episode has ended")
def test_an_overridden_is_solved_keeps_a_game_going():
    env = subclass(MinesweeperEnv, _is_solved=lambda self: False)(3, 3, 1, 50, seed=3)
    steps = [env.step(rf"\boxed{{reveal {r} {c}}}") for r in range(3) for c in range(3)]
    lost = [step for step in steps if "hides a mine" in step[0]]
    assert all(step[2] == (step in lost) for step in steps)
    assert sum(step[1] for step in steps) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("cls", "hook", "action"),
    [
        (FifteenPuzzleEnv, "_is_solved", None),
        (SokobanEnv, "_check_if_all_boxes_on_target", None),
        (SudokuEnv, "_is_puzzle_complete", None),
        (Game2048Env, "_has_won", None),
        (CrosswordsEnv, "_is_game_over", None),
    ],
)
def test_the_hook_that_decides_the_end_is_asked_in_every_game_that_has_one(cls, hook, action):
    env = subclass(cls, **{hook: lambda self: True})(seed=1)
    observation, reward, terminated, _, _ = env.step(env.sample_random_action())
    assert terminated
    assert "Congratulations" in observation
    if cls in (FifteenPuzzleEnv, SokobanEnv):
        assert reward == 1.0


def test_overridden_boards_start_the_episode():
    solved = [[1, 2, 3], [4, 5, 6], [7, None, 8]]
    env = subclass(FifteenPuzzleEnv, _generate_board=lambda self: copy.deepcopy(solved))(20, 3)
    assert env.reset()[1]["suffix"].count("__") == 1
    assert env.step(r"\boxed{left}")[1:3] == (1.0, True)
    full = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
    board = [[0, 2, 3, 4], *copy.deepcopy(full[1:])]
    env = subclass(SudokuEnv, _generate_board=lambda self: (full, board))(10, 15, 4)
    assert "1 cells are empty" in env.reset()[0]
    assert env.step(r"\boxed{1 1 1}")[1:3] == (1.0, True)
    towers = {"A": [], "B": [1], "C": [3, 2]}
    env = subclass(TowerofHanoiEnv, _generate_board=lambda self: copy.deepcopy(towers))(3, 10)
    env.reset()
    assert env.step(r"\boxed{B C}")[1:3] == (1.0, True)
    words = {"cat": (0, 0, "across")}
    grid = [["C", "A", "T"], [".", ".", "."], [".", ".", "."]]
    made = (grid, words, {"cat": "It says miaow."})
    env = subclass(CrosswordsEnv, _generate_board=lambda self: made)()
    assert "It says miaow." in env.reset()[1]["suffix"]
    assert [env.step(rf"\boxed{{0 {i} {c}}}")[2] for i, c in enumerate("CAT")][-1]


def test_the_board_of_an_override_may_come_from_the_original():
    def generate(self):
        self.calls = self.__dict__.get("calls", 0) + 1
        return super(other, self)._generate_board()

    for cls in (FifteenPuzzleEnv, SudokuEnv, TowerofHanoiEnv, HangmanEnv, CrosswordsEnv):
        other = subclass(cls, _generate_board=generate)
        env = other(seed=1)
        env.reset()
        assert env.calls == 2
        env.step(env.sample_random_action())


def test_overridden_evaluations_of_guesses_are_the_feedback():
    env = subclass(MastermindEnv, _evaluate_guess=lambda self, guess: (len(guess), 0))(seed=1)
    assert env.step(r"\boxed{1 2 3 4}")[1:3] == (1.0, True)
    env = subclass(WordleEnv, _evaluate_guess=lambda self, guess: ["Y"] * len(guess))(seed=1)
    assert "Y Y Y Y Y" in env.step(r"\boxed{abcde}")[0]


def test_overridden_internal_rewards_are_paid():
    for cls in (MastermindEnv, WordleEnv):
        hook = {"get_current_success_internal_reward": lambda self, _: 0.125}
        env = subclass(cls, **hook)(seed=1)
        assert env.step(env.sample_random_action())[1] == pytest.approx(0.125)


def test_overridden_mines_are_the_mines():
    def setup(self, safe_row, safe_col):
        self.grid[3][3] = -1

    env = subclass(MinesweeperEnv, _setup_mines=setup)(4, 4, 1, 20)
    observation, reward, terminated, _, info = env.step(r"\boxed{reveal 0 0}")
    assert (reward, terminated) == (1.0, True)
    assert env.grid[2][2] == 1


# The methods that tests of the original call


def test_the_helpers_of_the_fifteen_puzzle():
    env = FifteenPuzzleEnv(20, 3, seed=2)
    assert env._generate_goal_board() == [[1, 2, 3], [4, 5, 6], [7, 8, None]]
    assert env._is_solvable(env._generate_board())
    assert not env._is_solvable([[1, 2, 3], [4, 5, 6], [8, 7, None]])
    row, col = env._get_empty_position()
    assert env.board[row][col] is None
    assert not env._is_solved()
    env.board = [[1, 2, 3], [4, 5, 6], [7, None, 8]]
    assert env._get_empty_position() == (2, 1)
    assert not env._move("up")
    assert env._move("left")
    assert env._is_solved()
    assert env._get_soft_reward() == 1.0


def test_the_helpers_of_sudoku_mastermind_and_2048():
    env = SudokuEnv(10, 15, 4, seed=1)
    empty = [[0] * 4 for _ in range(4)]
    assert env.is_safe(empty, 0, 0, 1)
    for cell in ((0, 3), (3, 0), (1, 1)):
        grid = copy.deepcopy(empty)
        grid[cell[0]][cell[1]] = 1
        assert not env.is_safe(grid, 0, 0, 1)
    grid = copy.deepcopy(env.board)
    assert env._solve_sudoku(grid)
    assert grid == env.full_grid
    assert env._is_move_correct(1, 2, env.full_grid[1][2])
    mastermind = MastermindEnv(seed=1)
    assert mastermind._evaluate_guess(mastermind.game_code) == (4, 0)
    assert mastermind.get_current_success_internal_reward(2) == 0.5
    assert mastermind.get_current_success_internal_reward(2) == 0.0
    game = Game2048Env(seed=1)
    game.board = [[2, 2, 0, 0], [0] * 4, [0] * 4, [0] * 4]
    assert game._move_right()[0] == [0, 0, 0, 4]
    assert game._is_valid_move("left")
    assert not game._is_valid_move("up")
    assert not game._is_game_over()


# State that is assigned


@ENDED
def test_a_saved_game_of_minesweeper_goes_on_after_the_end():
    env = MinesweeperEnv(5, 5, 3, 25, seed=4)
    env.step(r"\boxed{reveal 2 2}")
    names = ("grid", "revealed", "flags", "first_reveal", "turn_count")
    saved = copy.deepcopy({name: getattr(env, name) for name in names})
    shown = env._render_board()
    mine = next((r, c) for r in range(5) for c in range(5) if env.grid[r][c] == -1)
    assert env.step(rf"\boxed{{reveal {mine[0]} {mine[1]}}}")[2]
    for name, value in copy.deepcopy(saved).items():
        setattr(env, name, value)
    assert env._render_board() == shown
    hidden = [
        (r, c)
        for r in range(5)
        for c in range(5)
        if env.grid[r][c] != -1 and not env.revealed[r][c]
    ]
    steps = [env.step(rf"\boxed{{reveal {r} {c}}}") for r, c in hidden]
    assert all(step[1] > 0 for step in steps[:1])
    assert sum(step[1] for step in steps) == pytest.approx(len(hidden) / 22)
    assert "Congratulations" in next(step[0] for step in steps if step[2])


@ENDED
def test_a_saved_sudoku_goes_on_after_the_end():
    env = SudokuEnv(3, 4, 4, seed=1)
    saved = copy.deepcopy((env.board, env.full_grid, env.init_num_empty))

    def solve():
        cells = [(r, c) for r in range(4) for c in range(4) if not env.board[r][c]]
        return [env.step(rf"\boxed{{{r + 1} {c + 1} {env.full_grid[r][c]}}}") for r, c in cells]

    first = solve()
    assert first[-1][2]
    env.board, env.full_grid, env.init_num_empty = copy.deepcopy(saved)
    env.turn_count = 0
    assert [step[1:4] for step in solve()] == [step[1:4] for step in first]
    assert SudokuEnv(3, 4, 4, seed=1).board == saved[0]


def test_a_board_changed_in_place_is_the_board():
    env = SudokuEnv(8, 15, 4, seed=1)
    cells = [(r, c) for r in range(4) for c in range(4) if not env.board[r][c]]
    for row, col in cells[1:]:
        env.board[row][col] = env.full_grid[row][col]
    row, col = cells[0]
    action = rf"\boxed{{{row + 1} {col + 1} {env.full_grid[row][col]}}}"
    assert env.step(action)[2]
    game = Game2048Env(16, 100, seed=1)
    for line in game.board:
        line[:] = [0, 0, 0, 0]
    game.board[0][:2] = [8, 8]
    observation, _, terminated, _, _ = game.step(r"\boxed{left}")
    assert terminated
    assert "Congratulations" in observation
    assert isinstance(game.board[0], list)


def test_assigned_boards_are_played_and_shown():
    puzzle = FifteenPuzzleEnv(20, 2, seed=1)
    puzzle.board = [[1, 2], [None, 3]]
    assert " 1  2\n__  3" in puzzle.get_task_suffix()
    assert puzzle.step(r"\boxed{left}")[1:3] == (1.0, True)
    towers = TowerofHanoiEnv(2, 10)
    towers.board = {"A": [1], "B": [], "C": [2]}
    assert towers.step(r"\boxed{A C}")[1] == 1.0
    game = Game2048Env(64, 50, seed=1)
    game.board = [[32, 32, 0, 0], [0] * 4, [0] * 4, [0] * 4]
    game.max_tile_achieved = 32
    assert game.step(r"\boxed{left}")[2]
    word = HangmanEnv(3, seed=1)
    word.secret_word, word.board = "CAT", ["C", "_", "T"]
    assert "C   _   T" in word.get_task_suffix()
    assert word.step(r"\boxed{a}")[1:3] == (pytest.approx(0.5 + 0.5 / 3), True)
    grid = CrosswordsEnv(seed=1)
    grid.board = [row[:] for row in grid.solution]
    cell = next((r, c) for r, row in enumerate(grid.board) for c, x in enumerate(row) if x != ".")
    grid.board[cell[0]][cell[1]] = "_"
    letter = grid.solution[cell[0]][cell[1]]
    assert grid.step(rf"\boxed{{{cell[0]} {cell[1]} {letter}}}")[2]
    search = WordSearchEnv(seed=1)
    search.game_board = [["C", "A", "T"], ["X", "X", "X"], ["X", "X", "X"]]
    search.placed_words = {"CAT": (0, 0, "across")}
    assert search.step(r"\boxed{0 0 0 2}")[1:3] == (1.0, True)


def test_sokoban_has_arrays_which_may_be_assigned():
    env = SokobanEnv((6, 6), 50, 1, seed=3)
    assert isinstance(env.room_state, np.ndarray)
    assert isinstance(env.room_fixed, np.ndarray)
    assert (env.room_state == 4).sum() == 1
    room = np.zeros((5, 6), dtype=int)
    room[1:-1, 1:-1] = 1
    room[2, 4] = 2
    env.room_fixed, env.room_state = room.copy(), room.copy()
    env.room_state[2, 2:4] = [5, 4]
    assert "# _ P X O #" in env.get_task_suffix()
    assert env.step(r"\boxed{right}")[1:3] == (1.0, True)
    assert isinstance(env.room_state, np.ndarray)
    assert env.room_state[2, 4] == 3
    assert tuple(env.player_position) == (2, 3)
    other = pickle.loads(pickle.dumps(env))
    assert (other.room_state == env.room_state).all()


def test_parameters_set_as_attributes_hold_after_a_reset():
    env = GuessTheNumberEnv(1, 20, 5)
    env.max_turns, env.max_number = 9, 10**6
    assert "from 1 to 1000000" in env.reset()[0]
    assert env.max_turns == 9
    drawn = gem.make("game:GuessTheNumber-v0-random", seed=1)
    assert len({drawn.reset(seed=seed)[0] for seed in range(5)}) > 1


class Bare(GuessTheNumberEnv):
    """Does not call the constructor, as some subclasses in trainers."""

    def __init__(self, low, high):
        self.min_number, self.max_number = low, high


def test_a_subclass_need_not_call_the_constructor():
    env = Bare(3, 5)
    assert "from 3 to 5" in env.reset(seed=1)[0]
    assert env.step(rf"\boxed{{{env.game_number}}}")[1] == 1.0


# Limits, the end, words


@every_game
def test_seven_actions_can_be_sent_to_a_game_of_three_turns(cls):
    env = cls(max_turns=3)
    assert "3 turns" in env.reset(seed=1)[0]
    with pytest.warns(UserWarning, match="has ended") as warned:
        steps = [env.step(env.sample_random_action()) for _ in range(7)]
    assert len(warned) == 1
    assert steps[2][2]
    assert all(step[2] for step in steps[3:])


@ENDED
@every_game
def test_max_turns_is_any_number(cls, subtests):
    for turns in (0, -2, 1, 2, 10**9):
        with subtests.test(str(turns)):
            env = cls(max_turns=turns)
            assert env.max_turns == turns
            step = env.step(env.sample_random_action())
            if turns < 2 and step[2:4] != (True, False):
                assert step[2:4] == (True, True)


@ENDED
@pytest.mark.parametrize("tile", [0, -4, 1, 2, 3, 4, 100, 2048, 10**9])
def test_target_tile_is_any_number(tile):
    env = gem.make("game:Game2048-v0-easy", target_tile=tile, seed=1)
    assert env.target_tile == tile
    assert f"of {tile} by" in env.reset(seed=1)[0]
    terminated = env.step(env.sample_random_action())[2]
    if tile not in (3, 4):  # a start has tiles of 2 and 4
        assert terminated == (tile <= 2)


def test_a_number_in_a_text_is_read_and_other_texts_are_refused():
    with pytest.warns(UserWarning, match="max_turns='4' is used as 4"):
        assert gem.make("game:Wordle-v0", max_turns="4").max_turns == 4
    with pytest.raises(ConfigError, match="max_turns must be a whole number; got 'many'"):
        gem.make("game:Wordle-v0", max_turns="many")


@pytest.mark.parametrize(
    ("env_id", "given", "used"),
    [
        ("Minesweeper", {"rows": 3, "cols": 3, "num_mines": 100}, {"num_mines": 8}),
        ("Minesweeper", {"rows": 99}, {"rows": 30}),
        ("TowerofHanoi", {"num_disks": 50}, {"num_disks": 12}),
        ("Sudoku", {"clues": 78}, {"init_num_empty": 12}),
        ("Sudoku", {"scale": 15, "clues": 5}, {"scale": 16}),
        ("Wordle", {"word_length": 1}, {"word_length": 3}),
        ("Mastermind", {"code_length": 40}, {"code_length": 10}),
        ("Sokoban", {"dim_room": (3, 99), "num_boxes": 1}, {"dim_room": (5, 15)}),
        ("GuessTheNumber", {"max_number": 10**9}, {"max_number": 2 * 10**6}),
        ("Crosswords", {"num_words": 0}, {"num_words": 1}),
    ],
)
def test_other_parameters_get_the_nearest_possible_value(env_id, given, used):
    with pytest.warns(UserWarning, match="is not possible here"):
        env = gem.make(f"game:{env_id}-v0-easy", **given)
    assert {name: getattr(env, name) for name in used} == used
    env.step(env.sample_random_action())


def test_success_is_said_with_congratulations():
    won = []
    env = GuessTheNumberEnv(1, 5, 9)
    won.append(env.step(rf"\boxed{{{env.game_number}}}"))
    env = MastermindEnv()
    won.append(env.step(rf"\boxed{{{' '.join(map(str, env.game_code))}}}"))
    for cls in (WordleEnv, HangmanEnv):
        env = cls()
        won.append(env.step(rf"\boxed{{{env.secret_word}}}"))
    env = TowerofHanoiEnv(1)
    won.append(env.step(r"\boxed{A C}"))
    env = WordSearchEnv(num_words=1)
    ((word, (row, col, way)),) = env.placed_words.items()
    end = (row, col + len(word) - 1) if way == "across" else (row + len(word) - 1, col)
    won.append(env.step(rf"\boxed{{{row} {col} {end[0]} {end[1]}}}"))
    assert all(step[0].startswith("Congratulations! ") and step[2] for step in won)
    lost = GuessTheNumberEnv(1, 5, 1)
    assert "Congratulations" not in lost.step(rf"\boxed{{{lost.game_number % 5 + 1}}}")[0]


@ENDED
@every_game
def test_a_copy_of_a_running_game_goes_on_alike(cls):
    env = cls(seed=5)
    env.step(env.sample_random_action())
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env.fork()):
        other = copy.deepcopy(env)
        action = other.sample_random_action()
        assert twin.step(action)[:4] == other.step(action)[:4]
