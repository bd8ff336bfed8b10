"""The games: ids with the parameters of gem-llm, constructors, resets, flags, states."""

import random

import pytest

import gem
from gem.core import Env
from gem.envs.game_env.guess_the_number import GuessTheNumberEnv
from gem.envs.game_env.sokoban.utils import generate_room
from gem.envs.game_env.sudoku import SudokuEnv
from gem.envs.registration import ENV_REGISTRY
from gem_core.errors import ConfigError


def levels(names, **suffixes):
    return {
        f"-{suffix.replace('_', '-')}" if suffix else "": dict(
            zip(
                names.split(),
                [values] * len(names.split()) if values is None else values,
                strict=True,
            )
        )
        for suffix, values in suffixes.items()
    }


# As the original registers them, and the ids of its release 0.0.4 (suffix "").
REGISTERED = {
    "GuessTheNumber": levels(
        "min_number max_number max_turns",
        **{"": (1, 20, 10)},
        easy=(1, 10, 4),
        hard=(1, 50, 7),
        random=None,
        hard_no_max_turn=(1, 50, 50),
    ),
    "Mastermind": levels(
        "code_length num_numbers max_turns",
        **{"": (4, 6, 20)},
        easy=(2, 6, 10),
        hard=(4, 8, 30),
        random=None,
    ),
    "Minesweeper": levels(
        "rows cols num_mines max_turns",
        **{"": (8, 8, 10, 100)},
        very_easy=(3, 3, 1, 10),
        easy=(5, 5, 5, 25),
        hard=(8, 8, 12, 64),
        random=None,
    ),
    "Wordle": levels(
        "word_length max_turns", **{"": (5, 15)}, easy=(3, 15), hard=(5, 25), random=None
    ),
    "FifteenPuzzle": levels(
        "num_rows max_turns", **{"": (3, 20)}, easy=(2, 10), hard=(4, 50), random=None
    ),
    "Hangman": levels(
        "word_length max_turns", **{"": (5, 15)}, easy=(3, 10), hard=(7, 20), random=None
    ),
    "Sudoku": levels(
        "clues max_turns scale",
        **{"": (50, 50, 9)},
        easy=(10, 15, 4),
        hard=(50, 50, 9),
        random=None,
        easy_v2=(10, 15, 4),
    ),
    "TowerofHanoi": levels(
        "num_disks max_turns", **{"": (4, 20)}, easy=(3, 10), hard=(5, 35), random=None
    ),
    "Game2048": levels(
        "target_tile max_turns",
        easy=(64, 50),
        hard=(512, 50),
        extreme_hard=(2048, 100),
        random=None,
    ),
    "Sokoban": levels(
        "dim_room num_boxes max_turns", easy=((6, 6), 2, 20), hard=((8, 8), 4, 50), random=None
    ),
    "Crosswords": levels(
        "hardcore max_turns num_words", easy=(False, 30, 3), hard=(True, 40, 3), random=None
    ),
    "WordSearch": levels(
        "num_words max_turns hardcore", easy=(5, 20, False), hard=(5, 20, True), random=None
    ),
    "WikiGame": levels("max_turns", easy=(30,), hard=(15,)),
}
SHOWN = {
    "Hangman": {"hardcore": False},
    "Mastermind": {"duplicate_numbers": False},
    "Wordle": {"only_real_words": True},
}
IDS = {
    f"game:{name}-v0{suffix}": {**SHOWN.get(name, {}), **kwargs}
    for name, suffixes in REGISTERED.items()
    for suffix, kwargs in suffixes.items()
}
STATE = {
    "GuessTheNumber": "min_number max_number max_turns game_number previous_guesses",
    "Mastermind": "game_code previous_guesses milestone code_length num_numbers",
    "Minesweeper": "grid revealed flags first_reveal rows cols num_mines",
    "Wordle": "secret_word available_words previous_guesses milestones word_length",
    "FifteenPuzzle": "board goal_board greatest_num num_rows",
    "Hangman": "secret_word board guessed_letters available_words word_length",
    "Sudoku": "full_grid board init_num_empty scale",
    "TowerofHanoi": "board num_disks",
    "Game2048": "board max_tile_achieved init_max_tile_achieved target_tile board_size",
    "Sokoban": "room_state room_fixed box_mapping player_position action_space num_boxes",
    "Crosswords": "board solution clues placed_words total_letter_cells num_words hardcore",
    "WordSearch": "game_board placed_words correct_words highlighted_positions attempts",
    "WikiGame": "variant backend page target",
}


def test_ids_are_registered_with_the_parameters_of_gem_llm(subtests):
    for env_id, kwargs in IDS.items():
        with subtests.test(env_id):
            assert ENV_REGISTRY[env_id].kwargs == kwargs
            module, _, name = str(ENV_REGISTRY[env_id].entry_point).partition(":")
            assert module.startswith("gem.envs.game_env.")
            assert name == env_id.removeprefix("game:").partition("-")[0] + "Env"


def test_no_other_game_is_registered():
    assert {env_id for env_id in ENV_REGISTRY if env_id.startswith("game:")} == set(IDS)


@pytest.mark.slow
def test_a_game_can_be_played_as_gem_llm_has_it(subtests):
    for env_id in IDS:
        with subtests.test(env_id):
            env = gem.make(env_id)
            assert isinstance(env, gem.Env)
            assert isinstance(env, Env)
            assert env.unwrapped is env
            assert env.env_id == env_id
            name = env_id.removeprefix("game:").partition("-")[0]
            for attribute in [*STATE[name].split(), "turn_count", "max_turns"]:
                assert hasattr(env, attribute), attribute
            first = env.step(env.sample_random_action())  # the constructor has reset it
            assert len(first) == 5
            observation, info = env.reset(7)
            assert (observation, info) == env.reset(seed=7)
            assert isinstance(observation, str)
            assert info["suffix"]
            assert env.turn_count == 0


@pytest.mark.slow
def test_both_flags_are_true_at_the_turn_limit(subtests):
    for name in REGISTERED:
        with subtests.test(name):
            assert any(reaches_its_limit(name, seed) for seed in range(50))


def reaches_its_limit(name, seed):
    """Play an episode; return whether it ends at its limit, where both flags have to be true."""
    env = gem.make(f"game:{name}-v0-easy")
    env.reset(seed=seed)
    done = False
    while not done:
        harmless = r"\boxed{flag 0 0}" if name == "Minesweeper" else env.sample_random_action()
        _, _, done, truncated, _ = env.step(harmless)
        assert done or not truncated
    assert not truncated or env.turn_count == env.max_turns
    return truncated


def test_a_format_error_ends_the_game_and_is_truncated_only_on_the_last_turn():
    env = GuessTheNumberEnv(1, 10, 2)
    env.reset(seed=1)
    assert env.step("no box")[1:4] == (-0.1, True, False)
    env.reset(seed=1)
    env.game_number = 5
    assert env.step(r"\boxed{4}")[1:4] == (0.0, False, False)
    assert env.step("no box")[1:4] == (-0.1, True, True)


def test_a_guess_that_gem_llm_does_not_read_as_a_number_ends_the_game(subtests):
    """It reads no signs, and takes 0 for no guess; other numbers out of range cost a turn."""
    for guess in ("0", "00", "-1", "-20", "+21"):
        with subtests.test(guess):
            env = GuessTheNumberEnv(1, 20, 5)
            assert env.step(rf"\boxed{{{guess}}}")[1:4] == (-0.1, True, False)
    env = GuessTheNumberEnv(1, 20, 2)
    assert env.step(r"\boxed{21}")[1:4] == (0.0, False, False)
    assert env.step(r"\boxed{0}")[1:4] == (-0.1, True, True)


def test_ranges_with_zero_and_negative_numbers_can_be_won(subtests):
    for secret in (-2, 0, 2):
        with subtests.test(str(secret)):
            env = GuessTheNumberEnv(-2, 2, 5)
            env.game_number = secret
            assert env.step(rf"\boxed{{{secret}}}")[1:4] == (1.0, True, False)


def test_success_on_the_last_turn_is_not_truncated():
    env = GuessTheNumberEnv(1, 10, 1)
    assert env.step(rf"\boxed{{{env.game_number}}}")[1:4] == (1.0, True, False)
    wrong = env.game_number % 10 + 1
    with pytest.warns(UserWarning, match="has ended"):
        assert env.step(rf"\boxed{{{wrong}}}")[2:4] == (True, True)


def test_constructor_seeds_repeat_games_and_leave_the_global_generator_alone():
    random.seed(0)
    before = random.getstate()
    one, other = (gem.make("game:GuessTheNumber-v0-hard", seed=5) for _ in range(2))
    numbers = []
    for env in (one, other):
        played = [env.game_number]
        for _ in range(5):
            env.reset()
            played.append(env.game_number)
        numbers.append(played)
    assert numbers[0] == numbers[1]
    assert len(set(numbers[0])) > 1
    assert random.getstate() == before


def test_parameters_that_make_no_difference_get_a_warning():
    with pytest.warns(UserWarning, match="takes no room_size, max_turn"):
        gem.make("game:Sokoban-v0-easy", room_size=6, max_turn=3)


def test_registered_parameters_can_be_overridden():
    assert gem.make("game:GuessTheNumber-v0-easy", max_turns=9).max_turns == 9
    assert gem.make("game:Sudoku-v0-easy", clues=4).init_num_empty == 4
    assert SudokuEnv(6, 20, 4).init_num_empty == 6


def test_states_are_copies():
    env = gem.make("game:TowerofHanoi-v0-easy")
    env.reset(seed=0)
    state = env.get_state()
    env.step(r"\boxed{A C}")
    moved = env.board["C"]
    env.set_state(state)
    assert (env.board["C"], moved) == ([], [1])
    env.step(r"\boxed{A B}")
    env.set_state(state)
    assert env.board["B"] == []


def test_spawn_makes_another_game_or_the_same_one():
    env = gem.make("game:Mastermind-v0-hard", seed=1)
    env.step(r"\boxed{1 2 3 4}")
    same = env.spawn(same_state=True)
    assert (same.game_code, same.turn_count) == (env.game_code, 1)
    other = env.spawn(seed=99)
    assert other.turn_count == 0
    assert other.code_length == env.code_length
    assert other.step(r"\boxed{1 2 3 4}")[3] is False
    assert env.fork().game_code == env.game_code


class BothFlags(GuessTheNumberEnv):
    """As people write subclasses: with a step of its own."""

    def step(self, action):
        if action == "give up":
            return "", 0.0, True, True, {}
        return super().step(action)


def test_subclasses_may_set_both_flags_in_a_step_of_their_own():
    env = BothFlags(1, 3, 5)
    assert env.step("give up")[2:4] == (True, True)
    env.reset()
    assert env.step(rf"\boxed{{{env.game_number}}}")[1] == 1.0


def test_sokoban_levels_are_arrays():
    fixed, state, boxes = generate_room((6, 6), num_boxes=2, seed=3)
    assert fixed.shape == state.shape == (6, 6)
    assert (state == 4).sum() == 2
    assert (state == 5).sum() == 1
    assert len(boxes) == 2
    assert all(fixed[goal] == 2 and state[box] == 4 for goal, box in boxes.items())
    assert (generate_room((6, 6), num_boxes=2, seed=3)[1] == state).all()
    with pytest.raises(ConfigError, match="two players"):
        generate_room(second_player=True)
