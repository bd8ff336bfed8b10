"""TowerofHanoi: its rules, its parameters, and its oracle."""

import functools
import itertools
import re
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough

import gem_core
from gem_core.errors import ConfigError
from gem_games.tower_of_hanoi import TowerofHanoiEnv, TowerofHanoiOracle
from gem_rollout import collect

IDS = [f"game:TowerofHanoi-v0{suffix}" for suffix in ("", "-easy", "-hard", "-random")]
MOVES = [f"\\boxed{{{s} {t}}}" for s, t in itertools.permutations("ABC", 2)]


def started(**parameters):
    env = TowerofHanoiEnv(**parameters)
    env.reset(seed=0)
    return env


def move(env, text):
    return env.step(f"My move: \\boxed{{{text}}}")


def towers_of(env):
    """Return the tower of each disk, the smallest first."""
    tower_of = {disk: tower for tower, disks in env.board.items() for disk in disks}
    return tuple(tower_of[disk] for disk in sorted(tower_of))


def put(env, towers):
    env.board = {
        tower: [d for d in range(len(towers), 0, -1) if towers[d - 1] == tower] for tower in "ABC"
    }


@functools.cache
def distances_to_goal(num_disks):
    """Return the fewest moves to tower C from every state, by breadth-first search from there."""
    goal = ("C",) * num_disks
    found, queue = {goal: 0}, deque([goal])
    while queue:
        state = queue.popleft()
        for disk, target in itertools.product(range(num_disks), "ABC"):
            if not {state[disk], target} & set(state[:disk]) and target != state[disk]:
                after = (*state[:disk], target, *state[disk + 1 :])
                if after not in found:
                    found[after] = found[state] + 1
                    queue.append(after)
    return found


def test_all_disks_stand_on_a_at_first_the_largest_at_the_bottom():
    rules, info = TowerofHanoiEnv(num_disks=3, max_turns=10).reset(seed=0)
    assert "3 disks" in rules
    assert "10 turns" in rules
    assert "A: [3, 2, 1]\nB: []\nC: []\n\n" in info["suffix"]


def test_the_example_of_the_rules_is_a_legal_first_move_but_not_the_best_one():
    for num_disks in range(1, 7):
        env = TowerofHanoiEnv(num_disks=num_disks)
        rules, _ = env.reset(seed=0)
        example = re.search(r"\\boxed\{[ABC] [ABC]\}", rules)[0]
        env.step(example)
        distance = distances_to_goal(num_disks)[towers_of(env)]
        assert distance == 2**num_disks - 1


def test_a_legal_move_moves_the_top_disk_and_earns_nothing():
    env = started()
    step = move(env, "A C")
    assert step[:4] == ("Turn 1: you moved disk 1 from A to C.", 0.0, False, False)
    assert "A: [3, 2]\nB: []\nC: [1]\n" in step.info["suffix"]


def test_a_move_may_be_written_with_and_without_comma_and_spaces(subtests):
    for text in [
        "A B",
        "AB",
        "ab",
        "A,B",
        "a,b",
        "A, B",
        "A ,B",
        "  A   B  ",
        "\tA\nB ",
        "A  ,  b",
    ]:
        with subtests.test(text):
            env = started()
            move(env, text)
            assert env.board == {"A": [3, 2], "B": [1], "C": []}


@pytest.mark.parametrize("text", ["", "A", "A D", "A B C", "A -> B", "1 2", "A;B", "AA BB"])
def test_a_malformed_move_ends_the_game(text):
    step = move(started(), text)
    assert step[1:4] == (-0.1, True, False)
    assert "Turn 1" in step.observation


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("B C", "tower B has no disk"),
        ("A C", "disk 2 cannot go on the smaller disk 1"),
        ("A A", "another tower"),
        ("C C", "another tower"),
        ("B B", "another tower"),
    ],
)
def test_an_illegal_move_changes_nothing_and_says_why(text, reason):
    env = started()
    move(env, "A C")
    board = {tower: list(disks) for tower, disks in env.board.items()}
    step = move(env, text)
    assert step[1:4] == (0.0, False, False)
    assert step.observation.startswith("Turn 2: ")
    assert reason in step.observation
    assert env.board == board


def test_the_whole_tower_on_c_wins():
    env = started(num_disks=2, max_turns=3)
    assert [move(env, text)[1:4] for text in ("A B", "A C", "B C")] == [
        (0.0, False, False),
        (0.0, False, False),
        (1.0, True, False),
    ]


def test_the_whole_tower_on_b_does_not_win():
    env = started(num_disks=1)
    assert move(env, "A B")[1:4] == (0.0, False, False)


@pytest.mark.parametrize(
    ("towers", "text", "share"),
    [("CCA", "A B", 2 / 3), ("BAC", "B C", 2 / 3), ("AAA", "C A", 0.0), ("ACC", "B B", 2 / 3)],
)
def test_the_limit_earns_the_share_of_disks_on_c(towers, text, share):
    env = started(num_disks=3, max_turns=1)
    put(env, towers)
    step = move(env, text)
    assert step.reward == pytest.approx(share)
    assert step[2:4] == (False, True)


@pytest.mark.slow
@given(st.lists(st.sampled_from([*MOVES, "\\boxed{A A}"]), max_size=40), st.integers(1, 6))
@settings(max_examples=100 if thorough() else 40)
def test_no_move_ever_puts_a_disk_on_a_smaller_one_or_loses_one(actions, num_disks):
    env = started(num_disks=num_disks)
    for action in actions:
        before = towers_of(env)
        if env.step(action).terminated:
            break
        changed = [a != b for a, b in zip(before, towers_of(env), strict=True)]
        assert sum(changed) <= 1
        assert all(disks == sorted(disks, reverse=True) for disks in env.board.values())
    assert sorted(itertools.chain(*env.board.values())) == list(range(1, num_disks + 1))


@pytest.mark.parametrize("env_id", IDS)
def test_random_actions_are_legal_in_every_state(env_id):
    env = gem_core.make(env_id)
    for seed in range(20):
        env.reset(seed=seed)
        ended = False
        while not ended:
            step = env.step(env.sample_random_action())
            assert "you moved" in step.observation or "limit" in step.observation
            ended = step.terminated or step.truncated


def test_the_random_level_draws_disks_with_the_turns_that_suit_them():
    env = gem_core.make("game:TowerofHanoi-v0-random")
    drawn = set()
    for seed in range(50):
        env.reset(seed=seed)
        drawn.add((env.num_disks, env.max_turns))
    assert drawn == {(3, 10), (4, 20), (5, 35)}


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    num_disks=st.none() | st.integers(1, 8),
    max_turns=st.none() | st.integers(1, 300),
)
@settings(max_examples=100 if thorough() else 40)
def test_given_options_are_kept_and_the_rest_are_drawn_to_match(seed, num_disks, max_turns):
    env = TowerofHanoiEnv(num_disks=num_disks, max_turns=max_turns)
    env.reset(seed=seed)
    assert num_disks in {None, env.num_disks}
    assert max_turns in {None, env.max_turns}
    if max_turns is None or (num_disks is None and max_turns >= 7):
        assert env.max_turns >= 2**env.num_disks - 1


@pytest.mark.parametrize(
    "parameters",
    [{"num_disks": 0}, {"num_disks": 13}, {"num_disks": 3.0}, {"max_turns": 0}, {"max_turns": "9"}],
)
def test_invalid_options_are_rejected(parameters):
    with pytest.raises(ConfigError):
        TowerofHanoiEnv(**parameters)


@pytest.mark.slow
def test_the_oracle_wins_every_episode_in_the_fewest_moves(subtests):
    for env_id, wrappers in some(itertools.product(IDS, [[], ["concat"], ["concat_with_action"]])):
        with subtests.test(f"{env_id} {wrappers}"):
            trajectories = list(
                collect(
                    lambda: gem_core.make(env_id, wrappers=wrappers),  # noqa: B023 - called here
                    lambda: gem_core.make_agent("oracle"),
                    episodes=(20 if wrappers else 200) if thorough() else 20,
                )
            )
            assert [t.error for t in trajectories if t.error] == []
            assert all(t.success for t in trajectories)
            assert {len(t.turns) + 1 for t in trajectories} <= {8, 16, 32}


@pytest.mark.parametrize("num_disks", [1, 2, 3, 5])
def test_the_oracle_comes_nearer_to_the_goal_with_every_move_from_any_state(num_disks):
    distances = distances_to_goal(num_disks)
    assert len(distances) == 3**num_disks
    env, oracle = TowerofHanoiEnv(num_disks=num_disks), TowerofHanoiOracle()
    for towers, distance in distances.items():
        if distance:
            env.reset(seed=0)
            put(env, towers)
            env.step(oracle.act("", {"suffix": env.render()}))
            assert distances[towers_of(env)] == distance - 1
