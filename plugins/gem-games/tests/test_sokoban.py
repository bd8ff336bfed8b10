"""Sokoban: its rules, its levels, and its oracle."""

import heapq
import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import some, thorough

import gem_core
from gem_core.errors import ConfigError, InvalidActionError
from gem_games.sokoban import SokobanEnv, SokobanOracle
from gem_games.sokoban_levels import generate
from gem_games.sokoban_solver import solve
from gem_rollout import collect

IDS = ["game:Sokoban-v0-easy", "game:Sokoban-v0-hard", "game:Sokoban-v0-random"]
OFFSETS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def at_board(board, *, max_turns=20):
    """Return an environment at the drawn position, with the player on floor."""
    rows = [line.split() for line in board.strip().splitlines()]
    boxes = sum(symbol in "X√" for row in rows for symbol in row)
    env = SokobanEnv(dim_room=(6, 6), num_boxes=1, max_turns=max_turns)
    env.reset(seed=0)
    env.num_boxes = boxes
    env.room_fixed = [[{"#": 0, "O": 2, "√": 2}.get(symbol, 1) for symbol in row] for row in rows]
    env.room_state = [["#_O√XP".index(symbol) for symbol in row] for row in rows]
    env.player_position = next(
        (r, c) for r, row in enumerate(rows) for c, symbol in enumerate(row) if symbol == "P"
    )
    env.boxes_on_target = sum(symbol == "√" for row in rows for symbol in row)
    env.box_mapping = {}
    return env


def board_of(step):
    return "\n".join(step.info["suffix"].splitlines()[1:-1])


def cells_with(room, codes):
    return {(r, c) for r, row in enumerate(room) for c, code in enumerate(row) if code in codes}


def shortest_solution(room_fixed, boxes, player, weight):
    """A* over single moves, on plain sets of coordinates; optimal if ``weight`` is 1."""
    floor, goals = cells_with(room_fixed, {1, 2}), cells_with(room_fixed, {2})

    def bound(boxes):
        return sum(min(abs(r - s) + abs(c - d) for s, d in goals) for r, c in boxes)

    start = (player, frozenset(boxes))
    costs, heap = {start: 0}, [(0, 0, player, start[1])]
    while heap:
        _, cost, player, boxes = heapq.heappop(heap)
        if boxes == goals:
            return cost
        for dr, dc in OFFSETS.values():
            to, moved = (player[0] + dr, player[1] + dc), boxes
            if to not in floor:
                continue
            if to in boxes:
                beyond = (to[0] + dr, to[1] + dc)
                if beyond not in floor or beyond in boxes:
                    continue
                moved = boxes - {to} | {beyond}
            if cost + 1 < costs.get((to, moved), 10**6):
                costs[to, moved] = cost + 1
                rank = cost + 1 + weight * bound(moved)
                heapq.heappush(heap, (rank, cost + 1, to, moved))
    return None


CORRIDOR = """
# # # # # #
# P X _ O #
# # # # # #
"""


def test_a_box_pushed_onto_the_last_goal_wins():
    env = at_board(CORRIDOR)
    first = env.step("\\boxed{right}")
    assert (first.reward, first.terminated, first.truncated) == (0.0, False, False)
    assert board_of(first) == "# # # # # #\n# _ P X O #\n# # # # # #"
    last = env.step("I push on: \\boxed{ Right }")
    assert (last.reward, last.terminated, last.truncated) == (1.0, True, False)
    assert board_of(last) == "# # # # # #\n# _ _ P √ #\n# # # # # #"
    assert "Turn 2" in last.observation


@pytest.mark.parametrize(
    ("board", "direction", "reason"),
    [
        (CORRIDOR, "up", "wall"),
        ("# # # # #\n# P X X _ #\n# # # # #", "right", "cannot push"),
        ("# # # #\n# P X #\n# # # #", "right", "cannot push"),
        ("# # # # #\n# P X √ #\n# # # # #", "right", "cannot push"),
    ],
)
def test_an_illegal_move_changes_nothing_and_uses_a_turn(board, direction, reason):
    env = at_board(board)
    before = env.render()
    step = env.step(f"\\boxed{{{direction}}}")
    assert step[1:4] == (0.0, False, False)
    assert env.turn_count == 1
    assert reason in step.observation
    assert "Turn 1" in step.observation
    assert env.render() == before


def test_the_turn_limit_earns_the_share_of_boxes_on_goals_and_only_truncates():
    env = at_board("# # # # # #\n# P X O _ #\n# _ X _ O #\n# # # # # #")
    env.max_turns = 2
    env.step("\\boxed{right}")
    step = env.step("\\boxed{left}")
    assert step[1:4] == (0.5, False, True)
    assert "limit of 2 turns" in step.observation


def test_a_box_can_leave_its_goal_and_the_player_can_stand_on_one():
    env = at_board("# # # # # # #\n# P √ _ X O #\n# # # # # # #")
    assert env.boxes_on_target == 1
    step = env.step("\\boxed{right}")
    assert env.boxes_on_target == 0
    assert board_of(step).splitlines()[1] == "# _ P X X O #"
    step = env.step("\\boxed{left}")
    assert board_of(step).splitlines()[1] == "# P O X X O #"


def test_a_reply_without_a_box_ends_the_game():
    env = SokobanEnv()
    env.reset(seed=0)
    step = env.step("up")
    assert step[1:4] == (-0.1, True, False)
    env.reset(seed=0)
    with pytest.raises(InvalidActionError):
        env.step(3)


def test_the_mapping_follows_the_boxes():
    env = gem_core.make("game:Sokoban-v0-hard")
    env.reset(seed=3)
    oracle, step = SokobanOracle(), None
    oracle.reset(env)
    observation, info = env.reset(seed=3)
    assert set(env.box_mapping) == cells_with(env.room_fixed, {2})
    while step is None or not step.terminated:
        step = env.step(oracle.act(observation, info))
        observation, info = step.observation, step.info
        assert set(env.box_mapping.values()) == cells_with(env.room_state, {3, 4})


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_every_level_starts_with_all_boxes_and_the_player_off_the_goals(env_id):
    env = gem_core.make(env_id)
    levels, count = set(), 100 if thorough() else 25
    for seed in range(count):
        env.reset(seed=seed)
        assert len(cells_with(env.room_state, {4})) == env.num_boxes
        assert len(cells_with(env.room_fixed, {2})) == env.num_boxes
        assert not cells_with(env.room_state, {3})
        row, column = env.player_position
        assert env.room_fixed[row][column] == 1
        assert env.room_state[row][column] == 5
        height, width = env.dim_room
        edge = [env.room_fixed[r][c] for r in (0, height - 1) for c in range(width)]
        edge += [env.room_fixed[r][c] for r in range(height) for c in (0, width - 1)]
        assert not any(edge)
        levels.add(env.render())
    assert len(levels) >= 0.95 * count


@pytest.mark.slow
def test_every_easy_level_can_be_solved_in_the_stated_number_of_moves():
    env = gem_core.make("game:Sokoban-v0-easy")
    for seed in range(40 if thorough() else 15):
        env.reset(seed=seed)
        boxes = cells_with(env.room_state, {4})
        fewest = shortest_solution(env.room_fixed, boxes, env.player_position, 1)
        assert fewest <= env.solution_moves <= 0.8 * env.max_turns
        assert fewest >= 4


@pytest.mark.slow
def test_hard_levels_can_be_solved_within_the_turn_limit():
    env = gem_core.make("game:Sokoban-v0-hard")
    for seed in range(6 if thorough() else 3):
        env.reset(seed=seed)
        boxes = cells_with(env.room_state, {4})
        found = shortest_solution(env.room_fixed, boxes, env.player_position, 3)
        assert found <= env.max_turns
        assert env.solution_moves <= 0.8 * env.max_turns


@pytest.mark.slow
@settings(max_examples=40 if thorough() else 12)
@given(
    seed=st.integers(0, 10**6), height=st.integers(5, 9), width=st.integers(5, 9), data=st.data()
)
def test_levels_of_any_size_are_solvable_within_their_budget(seed, height, width, data):
    boxes = data.draw(st.integers(1, min(3, (height - 2) * (width - 2) // 5)))
    budget = data.draw(st.integers(7 * boxes, 30 * boxes))
    level = generate(random.Random(seed), height, width, boxes, budget)
    assert level.moves <= budget
    assert level.goals.bit_count() == level.boxes.bit_count() == boxes
    assert not level.boxes & level.goals
    assert not level.player & (level.boxes | level.goals)
    assert (level.goals | level.boxes | level.player) & ~level.floor == 0
    assert solve(level.floor, width, level.goals, (level.boxes, level.player), limit=budget)


@pytest.mark.slow
@settings(max_examples=30 if thorough() else 12)
@given(st.integers(0, 10**6), st.integers(5, 7), st.integers(6, 7), st.integers(1, 2))
def test_a_search_without_greed_finds_the_fewest_moves(seed, height, width, boxes):
    level = generate(random.Random(seed), height, width, boxes, 20)
    solution = solve(
        level.floor, width, level.goals, (level.boxes, level.player), limit=99, greed=1
    )
    floor, goals, start, player = (
        {divmod(i, width) for i in range(height * width) if mask >> i & 1}
        for mask in (level.floor, level.goals, level.boxes, level.player)
    )
    room = [[((r, c) in floor) + ((r, c) in goals) for c in range(width)] for r in range(height)]
    assert solution.moves == shortest_solution(room, start, min(player), 1)
    assert solution.positions[-1][0] == level.goals


@pytest.mark.slow
def test_the_tightest_parameters_still_give_levels():
    for size, boxes in [((5, 5), 1), ((6, 6), 3), ((8, 8), 7), ((5, 15), 7), ((15, 15), 10)]:
        env = SokobanEnv(dim_room=size, num_boxes=boxes, max_turns=8 * boxes)
        for seed in range(2):
            env.reset(seed=seed)
            assert env.solution_moves <= 0.8 * 8 * boxes


@pytest.mark.parametrize(
    "kwargs",
    [
        {"dim_room": (4, 6)},
        {"dim_room": (6, 16)},
        {"dim_room": 6},
        {"dim_room": (6, 6, 6)},
        {"dim_room": (6, None)},
        {"dim_room": (6, 6.0)},
        {"num_boxes": 0},
        {"num_boxes": 4},
        {"dim_room": (15, 15), "num_boxes": 11},
        {"max_turns": 23},
        {"max_turns": 0, "num_boxes": None},
        {"max_turns": 1001},
    ],
)
def test_invalid_options_are_rejected(kwargs):
    with pytest.raises(ConfigError):
        SokobanEnv(**kwargs)


@pytest.mark.slow
def test_random_levels_keep_given_options_and_draw_the_rest():
    env = gem_core.make("game:Sokoban-v0-random")
    drawn = set()
    for seed in range(30):
        env.reset(seed=seed)
        drawn.add((env.dim_room, env.num_boxes, env.max_turns))
    assert drawn == {((6, 6), 2, 20), ((8, 8), 5, 50)}
    env = gem_core.make("game:Sokoban-v0-random", num_boxes=6)
    env.reset(seed=0)
    assert (env.dim_room, env.num_boxes, env.max_turns) == ((8, 8), 6, 60)
    env = gem_core.make("game:Sokoban-v0-random", dim_room=[7, 9], max_turns=17)
    env.reset(seed=0)
    assert (env.dim_room, env.num_boxes, env.max_turns) == ((7, 9), 2, 17)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_random_actions_are_legal_in_every_state(env_id):
    env = gem_core.make(env_id)
    for seed in range(20):
        env.reset(seed=seed)
        done = False
        while not done:
            step = env.step(env.sample_random_action())
            assert "cannot" not in step.observation
            assert step.reward >= 0.0
            done = step.terminated or step.truncated


@pytest.mark.slow
@pytest.mark.parametrize(("env_id", "wrappers"), some(product(IDS, [[], ["concat"]])))
def test_the_oracle_solves_every_level(env_id, wrappers):
    episodes = list(
        collect(
            lambda: gem_core.make(env_id, wrappers=wrappers),
            lambda: gem_core.make_agent("oracle"),
            episodes=(15 if wrappers else 200) if thorough() else (5 if wrappers else 40),
            seed=0,
        )
    )
    assert [episode.error for episode in episodes if episode.error] == []
    assert all(episode.success for episode in episodes)


def test_the_oracle_takes_over_in_mid_episode_and_after_a_slip():
    env = gem_core.make("game:Sokoban-v0-easy", max_turns=200)
    _, info = env.reset(seed=0)
    oracle = SokobanOracle()
    oracle.reset(env)
    step = env.step(oracle.act("", info))
    step = env.step(env.sample_random_action())
    while not (step.terminated or step.truncated):
        step = env.step(oracle.act(step.observation, step.info))
    assert step.reward == 1.0
