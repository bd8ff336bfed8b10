"""Minesweeper: its rules, its boards, and its oracle."""

import itertools
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.minesweeper import MinesweeperEnv, MinesweeperOracle
from gem_games.minesweeper_solver import certain_cells, mine_chances
from gem_rollout import collect

IDS = [f"game:Minesweeper-v0{suffix}" for suffix in ("", "-very-easy", "-easy", "-hard", "-random")]
WIN_RATES = dict(zip(IDS, (0.85, 1.0, 0.7, 0.75, 0.75), strict=True))


def at_mines(*mines, rows=3, cols=4, max_turns=50):
    """Return an environment with the mines at these cells, before any reveal."""
    env = MinesweeperEnv(rows=rows, cols=cols, num_mines=len(mines), max_turns=max_turns)
    env.reset(seed=0)
    env.first_reveal = False
    env.grid = [
        [
            -1
            if (r, c) in mines
            else sum(max(abs(r - row), abs(c - col)) == 1 for row, col in mines)
            for c in range(cols)
        ]
        for r in range(rows)
    ]
    return env


def test_an_area_opens_and_earns_its_share_of_the_safe_cells():
    env = at_mines((0, 3), (2, 3))
    step = env.step("\\boxed{reveal 1 0}")
    assert step.reward == 9 / 10
    assert step[2:4] == (False, False)
    assert step.info["suffix"] == (
        "The board:\n"
        "    0  1  2  3\n"
        " 0  0  0  1  . \n"
        " 1  0  0  2  . \n"
        " 2  0  0  1  . \n"
        "Your next move:"
    )
    assert "Turn 1" in step.observation
    assert "8 more" in step.observation


def test_revealing_the_last_safe_cell_wins_without_any_flag():
    env = at_mines((0, 3), (2, 3))
    env.step("\\boxed{reveal 1 0}")
    step = env.step("\\boxed{  REVEAL   1 3 }")
    assert step.reward == pytest.approx(0.1)
    assert step[2:4] == (True, False)
    assert "win" in step.observation


def test_a_mine_ends_the_game_without_reward_and_stays_hidden():
    env = at_mines((0, 3), (2, 3))
    step = env.step("\\boxed{reveal 0 3}")
    assert step[1:4] == (0.0, True, False)
    assert "(0, 3)" in step.observation
    assert " 0  .  .  .  . \n" in step.info["suffix"]


def test_a_flagged_mine_still_explodes():
    env = at_mines((0, 3), (2, 3))
    env.step("\\boxed{flag 0 3}")
    assert env.step("\\boxed{reveal 0 3}")[1:4] == (0.0, True, False)


def test_a_flag_is_set_and_removed_and_blocks_a_reveal():
    env = at_mines((0, 3), (2, 3))
    step = env.step("\\boxed{flag 0 2}")
    assert step[1:4] == (0.0, False, False)
    assert " 0  .  .  F  . \n" in step.info["suffix"]
    step = env.step("\\boxed{reveal 0 2}")
    assert step[1:4] == (0.0, False, False)
    assert "flagged" in step.observation
    step = env.step("\\boxed{reveal 1 0}")
    assert step.reward == 8 / 10
    assert " 0  0  0  F  . \n" in step.info["suffix"]
    step = env.step("\\boxed{flag 0 2}")
    assert " 0  0  0  .  . \n" in step.info["suffix"]
    assert env.step("\\boxed{reveal 0 2}").reward == 1 / 10


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("reveal 3 0", "no cell"),
        ("flag 0 4", "no cell"),
        ("reveal 0 " + "9" * 4_000, "no cell"),
        ("open 0 0", "no command"),
        ("reveal 1 0", "already"),
        ("flag 1 0", "already"),
    ],
)
def test_an_invalid_move_uses_a_turn_and_nothing_else(action, reason):
    env = at_mines((0, 3), (2, 3))
    before = env.step("\\boxed{reveal 1 0}").info
    step = env.step(f"\\boxed{{{action}}}")
    assert step[1:4] == (0.0, False, False)
    assert reason in step.observation
    assert "Turn 2" in step.observation
    assert step.info == before


def test_the_turn_limit_truncates_and_earns_the_last_reveal():
    env = at_mines((0, 3), (2, 3), max_turns=1)
    step = env.step("\\boxed{reveal 1 0}")
    assert step[1:4] == (0.9, False, True)
    assert "limit of 1 turns" in step.observation


@pytest.mark.parametrize("action", ["reveal 1 1", "\\boxed{reveal 1}", "\\boxed{reveal 1, 1}", ""])
def test_a_reply_without_a_valid_box_ends_the_game(action):
    env = at_mines((0, 3))
    assert env.step(action)[1:4] == (-0.1, True, False)


@pytest.mark.slow
@settings(max_examples=150 if thorough() else 40)
@given(data=st.data(), rows=st.integers(2, 9), cols=st.integers(2, 9), seed=st.integers(0, 10**6))
def test_the_first_reveal_is_safe_and_opens_an_area_where_it_can(data, rows, cols, seed):
    num_mines = data.draw(st.integers(1, rows * cols - 1))
    row, col = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    env = MinesweeperEnv(rows=rows, cols=cols, num_mines=num_mines)
    env.reset(seed=seed)
    step = env.step(f"\\boxed{{reveal {row} {col}}}")
    mines = {(r, c) for r in range(rows) for c in range(cols) if env.grid[r][c] == -1}
    assert len(mines) == num_mines
    near = {
        (r, c)
        for r in range(max(0, row - 1), min(rows, row + 2))
        for c in range(max(0, col - 1), min(cols, col + 2))
    }
    crowded = max(0, num_mines - (rows * cols - len(near)))
    assert (row, col) not in mines
    assert len(mines & near) == crowded
    assert step.terminated == (sum(map(sum, env.revealed)) == rows * cols - num_mines)
    for r, c in set(product(range(rows), range(cols))) - mines:
        assert env.grid[r][c] == sum(max(abs(r - r2), abs(c - c2)) == 1 for r2, c2 in mines)
    if not crowded:
        assert all(env.revealed[r][c] for r, c in near)


def test_a_first_reveal_of_a_flagged_cell_is_refused_and_the_cell_is_safe():
    env = MinesweeperEnv(rows=3, cols=3, num_mines=8)
    env.reset(seed=0)
    env.step("\\boxed{flag 1 1}")
    assert env.step("\\boxed{reveal 1 1}")[1:4] == (0.0, False, False)
    env.step("\\boxed{flag 1 1}")
    assert env.step("\\boxed{reveal 1 1}")[1:4] == (1.0, True, False)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"rows": 1},
        {"cols": 31},
        {"num_mines": 0},
        {"num_mines": 64},
        {"rows": None, "cols": None, "num_mines": 25},
        {"rows": "8"},
        {"max_turns": 0},
        {"num_mines": True},
    ],
)
def test_invalid_options_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        MinesweeperEnv(**kwargs)


def test_random_boards_keep_given_options_and_draw_the_rest():
    env = gem_core.make("game:Minesweeper-v0-random")
    drawn = set()
    for seed in range(60):
        env.reset(seed=seed)
        drawn.add((env.rows, env.cols, env.num_mines, env.max_turns))
    assert drawn == {(n, n, n * n // 5, n * n) for n in (5, 6, 7, 8)}
    env = gem_core.make("game:Minesweeper-v0-random", rows=4, num_mines=3, max_turns=9)
    env.reset(seed=0)
    assert (env.rows, env.num_mines, env.max_turns) == (4, 3, 9)
    assert 5 <= env.cols <= 8


@pytest.mark.parametrize("env_id", IDS)
def test_the_rules_state_size_mines_and_limit(env_id):
    env = gem_core.make(env_id)
    rules, info = env.reset(seed=1)
    assert f"{env.rows} rows and {env.cols} columns" in rules
    assert f"hides {env.num_mines} mines" in rules
    assert f"within {env.max_turns} turns" in rules
    assert info["suffix"].count(".") == env.rows * env.cols


@pytest.mark.parametrize("env_id", IDS)
def test_random_actions_are_well_formed_and_legal_in_every_state(env_id):
    env = gem_core.make(env_id)
    for seed in range(50 if thorough() else 15):
        env.reset(seed=seed)
        done = False
        while not done:
            step = env.step(env.sample_random_action())
            assert step.reward >= 0.0
            assert not re.search("already|no cell|is flagged", step.observation)
            done = step.terminated or step.truncated


def test_if_every_cell_is_flagged_a_random_action_removes_a_flag():
    env = MinesweeperEnv(rows=2, cols=2, num_mines=1)
    env.reset(seed=0)
    for row, col in product(range(2), range(2)):
        env.step(f"\\boxed{{flag {row} {col}}}")
    assert "took the flag" in env.step(env.sample_random_action()).observation


@pytest.mark.slow
@settings(max_examples=60 if thorough() else 25)
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_the_probabilities_of_mines_are_exact(data, seed):
    env = MinesweeperEnv(rows=4, cols=4, num_mines=data.draw(st.integers(1, 6)))
    env.reset(seed=seed)
    env.step("\\boxed{reveal 0 0}")
    cells = list(product(range(4), range(4)))
    hidden = [cell for cell in cells if not env.revealed[cell[0]][cell[1]]]
    near = {a: {b for b in hidden if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1} for a in cells}
    shown = [cell for cell in cells if cell not in hidden]
    boards = [
        set(mines)
        for mines in itertools.combinations(hidden, env.num_mines)
        if all(len(near[r, c].intersection(mines)) == env.grid[r][c] for r, c in shown)
    ]
    constraints = [
        (frozenset(4 * r + c for r, c in near[cell]), env.grid[cell[0]][cell[1]])
        for cell in shown
        if near[cell]
    ]
    chances = mine_chances(constraints, frozenset(4 * r + c for r, c in hidden), env.num_mines)
    expected = {4 * r + c: sum((r, c) in b for b in boards) / len(boards) for r, c in hidden}
    assert chances == pytest.approx(expected)
    safe, mines = certain_cells(constraints)
    assert all(expected[cell] == 0 for cell in safe)
    assert all(expected[cell] == 1 for cell in mines)


@pytest.mark.slow
@pytest.mark.parametrize(("env_id", "wrappers"), some(product(IDS, [[], ["concat"]])))
def test_the_oracle_wins_as_often_as_possible(env_id, wrappers):

    episodes = list(
        collect(
            lambda: gem_core.make(env_id, wrappers=wrappers),
            lambda: gem_core.make_agent("oracle"),
            episodes=40 if wrappers else 200,
            seed=0,
        )
    )
    assert [episode.error for episode in episodes if episode.error] == []
    wins = sum(bool(episode.success) for episode in episodes) / len(episodes)
    assert wins >= WIN_RATES[env_id] - (0.15 if wrappers else 0.0)


@pytest.mark.slow
def test_the_oracle_loses_only_by_guessing():
    env, oracle = gem_core.make("game:Minesweeper-v0-hard"), MinesweeperOracle()
    for seed in range(60 if thorough() else 20):
        observation, info = env.reset(seed=seed)
        oracle.reset(env)
        done = False
        while not done:
            step = env.step(oracle.act(observation, info))
            observation, info, done = step.observation, step.info, step.terminated
        assert oracle.guesses or not env.hidden_safe


def test_the_oracle_handles_flags_set_by_another_player():
    env, oracle = at_mines((0, 3), (2, 3)), MinesweeperOracle()
    rules, _ = MinesweeperEnv(rows=3, cols=4, num_mines=2).reset(seed=0)
    oracle.reset(env)
    env.step("\\boxed{flag 1 3}")
    step = env.step("\\boxed{reveal 0 0}")
    text = rules
    while not step.terminated:
        step = env.step(oracle.act(text, step.info))
        text = step.observation
    assert not env.hidden_safe
