"""FifteenPuzzle: its rules, its starts, and its oracle."""

from collections import Counter, deque
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.fifteen_puzzle import FifteenPuzzleEnv, FifteenPuzzleOracle
from gem_rollout import collect

IDS = [f"game:FifteenPuzzle-v0{suffix}" for suffix in ("", "-easy", "-hard", "-random")]


def at_board(board, *, max_turns=20):
    env = FifteenPuzzleEnv(num_rows=len(board), max_turns=max_turns)
    env.reset(seed=0)
    env.board = [row[:] for row in board]
    env._gap = next(
        (r, c) for r, row in enumerate(board) for c, tile in enumerate(row) if tile is None
    )
    return env


def flat(board):
    return tuple(tile or 0 for row in board for tile in row)


def distances_to_goal(rows, farthest):
    """Return the distance of each board from the ordered one, up to ``farthest`` moves."""
    goal = (*range(1, rows * rows), 0)
    found, queue = {goal: 0}, deque([goal])
    while queue:
        state = queue.popleft()
        if found[state] == farthest:
            break
        gap = state.index(0)
        for cell in range(rows * rows):
            if abs(gap // rows - cell // rows) + abs(gap % rows - cell % rows) == 1:
                after = list(state)
                after[gap], after[cell] = after[cell], 0
                if found.setdefault(tuple(after), found[state] + 1) == found[state] + 1:
                    queue.append(tuple(after))
    return found


NEARLY = [[1, 2, 3], [4, 5, 6], [7, None, 8]]


@pytest.mark.parametrize(
    ("direction", "board"),
    [
        ("up", [[1, 2, 3], [4, 8, 5], [7, None, 6]]),
        ("down", [[1, None, 3], [4, 2, 5], [7, 8, 6]]),
        ("left", [[1, 2, 3], [4, 5, None], [7, 8, 6]]),
        ("right", [[1, 2, 3], [None, 4, 5], [7, 8, 6]]),
    ],
)
def test_the_direction_is_the_one_in_which_the_tile_moves(direction, board):
    env = at_board([[1, 2, 3], [4, None, 5], [7, 8, 6]])
    step = env.step(f"\\boxed{{{direction}}}")
    assert step[1:4] == (0.0, False, False)
    assert env.board == board
    assert f"moved {direction}" in step.observation
    assert "Turn 1" in step.observation


def test_the_ordered_board_wins():
    step = at_board(NEARLY).step("so: \\boxed{ LEFT }")
    assert step[1:4] == (1.0, True, False)
    assert step.info["suffix"] == ("The board:\n 1  2  3\n 4  5  6\n 7  8 __\n\nYour next move:")


def test_an_illegal_move_changes_nothing_and_uses_a_turn():
    env = at_board(NEARLY)
    step = env.step("\\boxed{up}")
    assert step[1:4] == (0.0, False, False)
    assert env.board == NEARLY
    assert env.turn_count == 1
    assert "no tile can move up" in step.observation


@pytest.mark.parametrize(("direction", "share"), [("right", 6 / 9), ("up", 7 / 9)])
def test_the_turn_limit_earns_the_share_of_cells_in_place_and_only_truncates(direction, share):
    step = at_board(NEARLY, max_turns=1).step(f"\\boxed{{{direction}}}")
    assert step[1:4] == (pytest.approx(share), False, True)
    assert "limit of 1 turns" in step.observation


@pytest.mark.parametrize("action", ["up", "\\boxed{upwards}", "\\boxed{5}", ""])
def test_a_reply_without_a_valid_box_ends_the_game(action):
    assert at_board(NEARLY).step(action)[1:4] == (-0.1, True, False)


@pytest.mark.slow
@pytest.mark.parametrize("init_algo", ["monte_carlo", "pure_random"])
def test_with_two_rows_all_unsolved_boards_are_equally_likely(init_algo):
    env = FifteenPuzzleEnv(num_rows=2, max_turns=10, init_algo=init_algo)
    starts = Counter()
    for seed in range(2200):
        env.reset(seed=seed)
        starts[flat(env.board)] += 1
    assert set(starts) == set(distances_to_goal(2, 99)) - {(1, 2, 3, 0)}
    assert min(starts.values()) > 140
    assert max(starts.values()) < 260


@pytest.mark.parametrize("max_turns", [1, 3])
def test_with_two_rows_a_tight_limit_keeps_the_starts_within_reach(max_turns):
    env = FifteenPuzzleEnv(num_rows=2, max_turns=max_turns)
    distances = distances_to_goal(2, 99)
    seen = set()
    for seed in range(100):
        env.reset(seed=seed)
        seen.add(distances[flat(env.board)])
    assert seen == set(range(1, max_turns + 1))


@pytest.mark.slow
def test_with_three_rows_every_start_can_be_solved_within_the_limit():
    env = gem_core.make("game:FifteenPuzzle-v0")
    within = distances_to_goal(3, 20)
    gaps, depths, count = set(), Counter(), 400 if thorough() else 150
    for seed in range(count):
        env.reset(seed=seed)
        depths[within[flat(env.board)]] += 1
        gaps.add(env._gap)
    assert 0 not in depths
    assert sum(depths[moves] for moves in range(12, 21)) > 0.75 * count
    assert len(gaps) == 9


@pytest.mark.slow
@settings(max_examples=60 if thorough() else 25)
@given(
    rows=st.integers(2, 5),
    init_algo=st.sampled_from(["monte_carlo", "pure_random"]),
    seed=st.integers(0, 10**6),
)
def test_every_start_is_unsolved_and_of_the_right_parity(rows, init_algo, seed):
    env = FifteenPuzzleEnv(num_rows=rows, max_turns=None, init_algo=init_algo)
    env.reset(seed=seed)
    tiles = flat(env.board)
    assert sorted(tiles) == list(range(rows * rows))
    assert env.board != env.goal_board
    gap = tiles.index(0)
    assert env._gap == divmod(gap, rows)
    # The parity of the permutation must equal that of the gap's distance from its corner.
    order, swaps = [tile or rows * rows for tile in tiles], 0
    for place in range(rows * rows):
        while order[place] != place + 1:
            other = order[place] - 1
            order[place], order[other] = order[other], order[place]
            swaps += 1
    assert swaps % 2 == (2 * (rows - 1) - gap // rows - gap % rows) % 2


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_rows": 1},
        {"num_rows": 11},
        {"num_rows": 6, "init_algo": "pure_random", "max_turns": None},
        {"num_rows": 3, "init_algo": "pure_random", "max_turns": 30},
        {"num_rows": None, "init_algo": "pure_random", "max_turns": 5},
        {"max_turns": 0},
        {"init_algo": "sorted"},
        {"init_algo": None},
        {"mc_rand_moves": 0},
        {"mc_rand_moves": None},
    ],
)
def test_invalid_options_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        FifteenPuzzleEnv(**kwargs)


def test_random_boards_keep_given_options_and_draw_the_rest():
    env = gem_core.make("game:FifteenPuzzle-v0-random")
    drawn = set()
    for seed in range(40):
        env.reset(seed=seed)
        drawn.add((env.num_rows, env.max_turns))
    assert drawn == {(2, 10), (3, 20), (4, 50)}
    env = gem_core.make("game:FifteenPuzzle-v0-random", max_turns=7)
    for seed in range(10):
        env.reset(seed=seed)
        assert env.max_turns == 7
    env = FifteenPuzzleEnv(num_rows=None, max_turns=40, init_algo="pure_random")
    sizes = set()
    for seed in range(20):
        env.reset(seed=seed)
        sizes.add(env.num_rows)
    assert sizes == {2, 3}


def test_fewer_random_moves_make_easier_boards():
    env = FifteenPuzzleEnv(num_rows=4, max_turns=50, mc_rand_moves=2)
    near = distances_to_goal(4, 2)
    for seed in range(20):
        env.reset(seed=seed)
        assert flat(env.board) in near


def test_the_rules_show_the_goal_and_the_limit():
    rules, info = gem_core.make("game:FifteenPuzzle-v0-easy").reset(seed=0)
    assert " 1  2\n 3 __" in rules
    assert "10 turns" in rules
    assert info["suffix"].startswith("The board:\n")


@pytest.mark.parametrize("env_id", IDS)
def test_random_actions_are_legal_in_every_state(env_id):
    env = gem_core.make(env_id)
    for seed in range(20):
        env.reset(seed=seed)
        done = False
        while not done:
            step = env.step(env.sample_random_action())
            assert "no tile" not in step.observation
            assert step.reward >= 0.0
            done = step.terminated or step.truncated


@pytest.mark.slow
@pytest.mark.parametrize(("env_id", "wrappers"), some(product(IDS, [[], ["concat"]])))
def test_the_oracle_solves_nearly_every_board_within_the_limit(env_id, wrappers):
    episodes = list(
        collect(
            lambda: gem_core.make(env_id, wrappers=wrappers),
            lambda: gem_core.make_agent("oracle"),
            episodes=(20 if wrappers else 200) if thorough() else (10 if wrappers else 60),
            seed=0,
        )
    )
    assert [episode.error for episode in episodes if episode.error] == []
    assert sum(bool(episode.success) for episode in episodes) >= 0.95 * len(episodes)


def test_the_oracle_takes_over_in_mid_episode_and_after_a_slip():
    env = FifteenPuzzleEnv(num_rows=4, max_turns=500, init_algo="pure_random")
    _, info = env.reset(seed=1)
    oracle = FifteenPuzzleOracle()
    oracle.reset(env)
    step = env.step(oracle.act("", info))
    step = env.step(env.sample_random_action())
    while not (step.terminated or step.truncated):
        step = env.step(oracle.act(step.observation, step.info))
    assert step.reward == 1.0
