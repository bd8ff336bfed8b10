"""WikiGame: rules, rewards, flags and texts, and the variants against searches by brute force."""

from collections import deque

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem_core
from gem_core import make, make_agent
from gem_core.cli.play import command
from gem_core.errors import ConfigError, UnknownKwargError
from gem_games.wikigame import WikiGameEnv, WikiGameOracle
from gem_games.wikigame.errors import PageFault
from gem_games.wikigame.graph import PageGraph
from gem_games.wikigame.oracle import shortest
from gem_games.wikigame.pages import BACK, MORE, label_of, labels_of, last_box, summary
from gem_games.wikigame.variants import VARIANTS

FORWARD = r"\boxed{%s}"
GOING_BACK = FORWARD % BACK
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def graph_of(links):
    """Return a graph of pages named by letters: ``{"A": "BC", ...}``."""
    titles = list(links)
    numbers = [[titles.index(name) for name in names] for names in links.values()]
    return PageGraph("the test", titles, numbers, lambda number: f"This is {titles[number]}.")


#  A -> B -> C -> T, and B, C -> D, a dead end
SMALL = graph_of({"A": "B", "B": "CDA", "C": "TDB", "D": "", "T": "A"})


class _Source:
    blocking = False

    def __init__(self, graph):
        self._graph = graph

    def choose(self, rng):
        return 0

    def graph(self, number):
        return self._graph


def start(variant="noregrets", *, graph=SMALL, pages="AT", **options):
    """Return an environment in an episode between two pages of a graph."""
    env = WikiGameEnv(variant=variant, **options)
    env._source = _Source(graph)
    env.reset(seed=0, start=pages[0], target=pages[1])
    return env


def play(env, *pages):
    """Follow links, or go back with "-"; return what matters of the steps."""
    steps = [env.step(GOING_BACK if page == "-" else FORWARD % page) for page in pages]
    return [(step.reward, step.terminated, step.truncated) for step in steps]


def test_the_target_is_worth_one_and_every_other_step_costs_a_twentieth():
    env = start()
    assert play(env, "B", "C", "T") == [
        (-0.05, False, False),
        (-0.05, False, False),
        (1.0, True, False),
    ]


def test_the_info_of_the_last_step_says_whether_the_target_was_reached():
    won = start()
    play(won, "B", "C")
    assert won.step(r"\boxed{T}").info["correct"] is True
    stuck = start()
    assert "correct" not in stuck.step(r"\boxed{B}").info
    assert stuck.step(r"\boxed{D}").info["correct"] is False
    assert start(max_turns=1).step(r"\boxed{B}").info["correct"] is False


def test_reaching_the_target_on_the_last_turn_wins():
    assert play(start(max_turns=3), "B", "C", "T")[-1] == (1.0, True, False)


@pytest.mark.parametrize("action", ["no box", r"\boxed{}", r"\boxed{ }", r"\boxed{B"])
def test_a_reply_without_a_box_costs_a_turn_and_the_game_goes_on(action):
    env = start(max_turns=2)
    step = env.step(action)
    assert step[1:4] == (-0.2, False, False)
    assert step.info["format_error"]
    assert env.page.title == "A"
    assert env.step(action)[1:4] == (-0.2, False, True)


def test_a_title_that_is_not_listed_is_answered_with_the_first_link_that_contains_it():
    graph = graph_of({"A": ["Bridge of Morrow", "Morrow"], "Bridge of Morrow": "A", "Morrow": "A"})
    env = start(graph=graph, pages=("A", "Morrow"))
    step = env.step(r"\boxed{morrow}")
    assert step[1:4] == (-0.2, False, False)
    assert r"Did you mean \boxed{Bridge of Morrow}?" in step.observation
    assert step.info["invalid_action"]


def test_a_valid_step_that_uses_up_the_turns_is_truncated_without_reward():
    env = start(max_turns=2)
    step = env.step(r"\boxed{B}")
    assert step[1:4] == (-0.05, False, False)
    step = env.step(r"\boxed{C}")
    assert step[1:4] == (0.0, False, True)
    assert "The target was T" in step.observation


@pytest.mark.parametrize("variant", ["noregrets", "eidetic"])
def test_without_steps_back_going_back_is_invalid(variant):
    assert play(start(variant), "B", "-")[-1] == (-0.2, False, False)


def test_without_steps_back_a_dead_end_ends_the_game():
    env = start("noregrets")
    assert play(env, "B", "D") == [(-0.05, False, False), (0.0, True, False)]


def test_with_an_eidetic_memory_every_link_that_was_seen_may_be_followed():
    env = start("eidetic")
    assert play(env, "B", "D", "C", "T")[-1] == (1.0, True, False)


def test_an_eidetic_memory_is_empty_in_the_next_episode():
    env = start("eidetic")
    play(env, "B", "C")
    env.reset(start="A", target="T")
    assert env.labels() == ["B"]
    assert play(env, "T") == [(-0.2, False, False)]


def test_one_step_back_may_not_follow_another():
    env = start("oneback")
    assert play(env, "-")[0] == (-0.2, False, False)
    assert play(env, "B", "C", "-", "-") == [
        (-0.05, False, False),
        (-0.05, False, False),
        (-0.05, False, False),
        (-0.2, False, False),
    ]
    assert env.page.title == "B"
    assert play(env, "C", "-")[-1] == (-0.05, False, False)


def test_free_navigation_goes_back_to_the_start():
    env = start("freenav")
    assert [reward for reward, _, _ in play(env, "B", "C", "-", "-", "-")] == [-0.05] * 4 + [-0.2]
    assert env.page.title == "A"


@pytest.mark.parametrize("variant", ["oneback", "freenav"])
def test_with_steps_back_a_dead_end_returns_and_costs_two_turns(variant):
    env = start(variant, max_turns=5)
    assert play(env, "B", "D") == [(-0.05, False, False), (-0.1, False, False)]
    assert (env.page.title, env.turn_count) == ("B", 3)
    assert play(env, "C", "T")[-1] == (1.0, True, False)


@pytest.mark.parametrize("variant", ["oneback", "freenav"])
def test_a_return_that_skips_the_last_turn_is_truncated(variant):
    env = start(variant, max_turns=2)
    assert play(env, "B", "D") == [(-0.05, False, False), (0.0, False, True)]
    assert env.turn_count == 3


def test_a_return_from_a_dead_end_counts_as_going_back_where_only_one_is_allowed():
    env = start("oneback")
    assert play(env, "B", "D", "-")[-1] == (-0.2, False, False)
    env = start("freenav")
    assert play(env, "B", "D", "-")[-1] == (-0.05, False, False)


def test_a_long_list_of_links_is_shown_in_parts():
    titles = {"A": [f"B{number}" for number in range(7)]}
    graph = graph_of({**titles, **dict.fromkeys(titles["A"], "A")})
    env = start(graph=graph, pages=("A", "B6"), links_per_page=3)
    shown = []
    for _ in range(4):
        suffix = env.render()
        shown.append([name for name in titles["A"] if rf"\boxed{{{name}}}" in suffix])
        step = env.step(FORWARD % MORE)
    assert [len(part) for part in shown] == [3, 3, 1, 3]
    assert shown[0] == shown[3]
    assert [name for part in shown[:3] for name in part] == titles["A"]
    assert "These are links 4 to 6 of 7." in step.info["suffix"]
    assert step.reward == -0.05
    assert env.step(r"\boxed{B6}").reward == 1.0  # though it is not shown


def test_reading_on_is_invalid_where_all_links_are_shown():
    env = start()
    assert env.step(FORWARD % MORE)[1:4] == (-0.2, False, False)


def test_the_info_has_the_distance_to_the_target_in_the_rules_of_the_variant():
    def distances(variant, *pages):
        env = start(variant, max_turns=30)
        return [env.step(FORWARD % page).info["distance"] for page in pages]

    assert distances("noregrets", "B", "A") == [2, 3]
    assert distances("eidetic", "B", "A") == [2, 2]
    assert distances("oneback", "B", "A") == [2, 3]
    assert distances("freenav", "B", "C", "B", "A") == [2, 1, 2, 3]


links = st.lists(st.sampled_from("ABCDE"), max_size=3, unique=True)
small_graphs = st.lists(links, min_size=5, max_size=5).map(
    lambda found: graph_of(
        {
            letter: "".join(other for other in others if other != letter)
            for letter, others in zip("ABCDE", found, strict=True)
        }
    )
)


def by_brute_force(env, most=6):
    """Return the fewest actions to the target, by playing all of them; None if there are none."""
    waiting = deque([(env.fork(), 0)])
    seen = set()
    while waiting:
        now, moves = waiting.popleft()
        links, earlier = sorted(now.memory.links(now.page)), tuple(now.memory.earlier())
        state = (now.page.key, tuple(links), earlier)
        if state in seen or moves == most:
            continue
        seen.add(state)
        for action in [*links, BACK]:
            after = now.fork()
            step = after.step(FORWARD % action)
            if step.reward == 1.0:
                return moves + 1
            if not step.terminated and "invalid_action" not in step.info:
                waiting.append((after, moves + 1))
    return None


@every_variant
@given(graph=small_graphs, moves=st.lists(st.integers(0, 9), max_size=4))
@settings(max_examples=20 if thorough() else 8)
def test_distance_and_oracle_agree_with_a_search_by_brute_force(variant, graph, moves):
    if not graph.page("A").links:
        return
    env = start(variant, graph=graph, pages="AE", max_turns=1000)
    for move in moves:
        actions = [*env.memory.links(env.page), BACK]
        step = env.step(FORWARD % actions[move % len(actions)])
        if step.terminated:
            return
    found = by_brute_force(env)
    distance = env.memory.distance(env.page, env._steps)
    if found is not None or distance is None:
        assert distance == found
    if found is not None:
        options = list(env.memory.options(env.page))
        env.step(FORWARD % shortest(env.graph, options, env.target))
        if env.page.key != "E":
            assert by_brute_force(env) == found - 1


@every_variant
def test_a_snapshot_keeps_the_memory_and_shares_the_pages(variant):
    env = start(variant, max_turns=30)
    play(env, "B", "A")
    twin = env.fork()
    assert twin.page is env.page
    assert vars(twin.memory) == vars(env.memory)
    twin.restore(env.snapshot())
    assert play(twin, "B", "-", "C", "T") == play(env, "B", "-", "C", "T")


def test_a_snapshot_of_another_world_brings_its_world_along():
    one = make("game:WikiGame-v0-easy")
    other = make("game:WikiGame-v0-easy")
    for seed in range(20):
        one.reset(seed=seed)
        other.reset(seed=seed + 1)
        if one.graph is not other.graph:
            break
    other.restore(one.snapshot())
    assert other.graph is one.graph
    assert other.render() == one.render()


@pytest.mark.slow
@given(st.text())
@settings(max_examples=100 if thorough() else 40)
def test_any_title_can_be_written_in_a_box_and_found_there(title):
    label = label_of(title)
    assert last_box(rf"I go to \boxed{{wrong}}, no: \boxed{{{label}}} of course.") == label


@pytest.mark.slow
@given(st.lists(st.text(max_size=3)))
@settings(max_examples=100 if thorough() else 40)
def test_labels_are_distinct_and_as_many_as_the_titles(titles):
    labels = labels_of(titles)
    assert len(set(labels)) == len(titles)
    assert not {BACK, MORE} & set(labels)


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"\boxed{A} then \boxed{B}", "B"),
        (r"\boxed{f{x}{y}}", "f{x}{y}"),
        (r"\boxed{A} \boxed{B", "A"),
        (r"\boxed{ New" + "\n York }", "New York"),
        (r"\boxed {A}", "A"),
        (r"\boxed{\boxed{A}}", "A"),
        (r"} \boxed{A}}", "A"),
        (r"\boxed{}", ""),
        ("A", None),
    ],
)
def test_the_last_balanced_box_counts(text, box):
    assert last_box(text) == box


def test_titles_with_braces_and_other_letters_can_be_followed():
    titles = ["{a}", "b}c", "Ñandú (鳥)", "line\nbreak", r"\boxed{x}"]
    graph = graph_of({"A": titles, **dict.fromkeys(titles, "A")})
    for label in graph.page("A").links:
        env = start(graph=graph, pages=("A", label))
        assert env.step(FORWARD % label).reward == 1.0


def test_underscores_of_an_address_stand_for_spaces():
    graph = graph_of({"A": ["New York"], "New York": "A"})
    assert play(start(graph=graph, pages=("A", "New York")), "New_York")[0][0] == 1.0


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        ((9, "characters"), "One two. ..."),
        ((3, "words"), "One two. Three ..."),
        ((2, "sentences"), "One two. Three (four) five."),
        ((99, "words"), "One two. Three (four) five. Six."),
    ],
)
def test_summaries_are_cut_by_the_unit(length, shown):
    assert summary("One two.\nThree (four) five. Six.", length) == shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variant": "noregret"}, "Did you mean 'noregrets'"),
        ({"graph": "wordnets"}, "Did you mean 'wordnet'"),
        ({"summary_length": (3, "sentence")}, "Did you mean 'sentences'"),
        ({"summary_length": "3 words"}, "such as"),
        ({"summary_length": (0, "words")}, "from 1 to"),
        ({"min_distance": 3, "max_distance": 2}, "max_distance must be"),
        ({"max_turns": 0}, "max_turns must be"),
        ({"graph": "folder"}, "needs data="),
        ({"graph": "zim"}, "needs data="),
        ({"data": "x"}, "takes no data"),
        ({"graph": "wordnet", "data": "x"}, "in the package"),
        ({"graph": "kiwix", "data": "localhost"}, "http://"),
        ({"graph_options": {"split": "tests"}}, "Did you mean 'test'"),
        ({"graph_options": {"degree": 1}}, "degree must be"),
        ({"graph_options": {"pages": {1}}}, "numbers, texts and lists"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_to_do(options, message):
    with pytest.raises(ConfigError, match=message):
        WikiGameEnv(**options)


def test_an_unknown_option_of_a_graph_is_refused_with_a_near_name():
    with pytest.raises(UnknownKwargError, match="Did you mean 'pages'"):
        WikiGameEnv(graph_options={"page": 100})


@pytest.mark.slow
def test_distances_that_a_graph_does_not_have_are_refused():
    with pytest.raises(ConfigError, match="no start and target 9 to 9 links apart"):
        make("game:WikiGame-v0-easy", min_distance=9, max_distance=9).reset(seed=0)


@pytest.mark.slow
def test_reading_finds_what_chance_does_not():
    def wins(agent):
        env, player, won = make("game:WikiGame-v0-easy"), make_agent(agent), 0
        for seed in range(60):
            observation, info = env.reset(seed=seed)
            player.seed_episode(seed)
            player.reset(env)
            ended = False
            while not ended:
                observation, reward, terminated, truncated, info = env.step(
                    player.act(observation, info)
                )
                ended = terminated or truncated
            won += reward == 1.0
        return won

    assert wins("WikiGame-reader") > 30
    assert wins("random") < 10


@pytest.mark.slow
def test_an_empty_reply_costs_a_fifth_in_every_turn():
    env = make("game:WikiGame-v0-hard")
    env.reset(seed=1)
    rewards = [env.step("").reward for _ in range(15)]
    assert rewards == [-0.2] * 15


def test_the_example_in_the_rules_is_never_a_link():
    env = make("game:WikiGame-v0-easy")
    observation, info = env.reset(seed=0)
    assert r"\boxed{Python (programming language)}" in observation
    assert "Python" not in info["suffix"]


@pytest.mark.slow
def test_the_oracle_takes_over_from_any_position():
    env = make("game:WikiGame-v0-easy", variant="freenav")
    oracle = WikiGameOracle()
    env.reset(seed=3)
    for _ in range(4):
        env.step(env.sample_random_action())
    oracle.reset(env)
    distance = env.memory.distance(env.page, env._steps)
    for left in range(distance, 0, -1):
        step = env.step(oracle.act("", {}))
        assert step.info["distance"] == left - 1
    assert step.reward == 1.0


def test_a_reset_can_name_the_pages_but_not_only_one_of_them():
    env = start()
    env.reset(start="C", target="A")
    assert (env.page.title, env.target.title) == ("C", "A")
    with pytest.raises(ConfigError, match="together"):
        env.reset(start="C")
    env.reset(start="D", target="A")  # a dead end, which is never drawn
    assert env.step(env.sample_random_action()).reward == -0.2
    with pytest.raises(PageFault, match="has no page 'Z'"):
        env.reset(start="A", target="Z")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("2", "Norfield Museum"),
        ("norf", "Norfield Museum"),
        ("MUSEUM", "Norfield Museum"),
        ("7", "7"),
        ("99", "99"),
        ("tower", "tower"),  # two links have it
        ("b", BACK),
        ("more", MORE),
        ("x", "x"),
    ],
)
def test_a_person_types_numbers_and_parts_of_titles(typed, meant):
    titles = ["The Old Tower", "Norfield Museum", "The Tower of Velden", "7"]
    env = start(graph=graph_of({"A": titles, **dict.fromkeys(titles, "A")}), pages=("A", "7"))
    assert env.human_view.typed(typed) == meant


def test_a_person_sees_numbered_links_in_columns_of_the_terminals_width():
    titles = [f"Page number {number}" for number in range(9)]
    env = start(graph=graph_of({"A": titles, **dict.fromkeys(titles, "A")}), pages=("A", titles[8]))
    wide, narrow = env.human_view.screen("", {}, 80), env.human_view.screen("", {}, 30)
    assert "[1] Page number 0  [4] Page number 3  [7] Page number 6\n" in wide
    assert all(f"[{number}] Page number {number - 1}\n" in narrow for number in range(1, 10))
    assert "This is A." in wide
    assert env.human_view.screen("You read: This is A.", {}, 80).count("This is A.") == 1


@pytest.mark.slow
def test_a_person_can_play_it_in_the_terminal():
    played = CliRunner().invoke(
        command, ["game:WikiGame-v0-easy", "--seed", "4"], input="1\nzzz\n:undo\n:oracle\n:quit\n"
    )
    assert played.exit_code == 0, played.output
    assert "[1] " in played.output
    assert "'zzz' is not one of the links" in played.output
    assert "with a return of -0.1." in played.output


def test_both_ids_are_registered():
    assert gem_core.list_envs("game:WikiGame*") == [
        "game:WikiGame-v0-easy",
        "game:WikiGame-v0-hard",
    ]
