"""WebShop with the class, arguments and data folder of gem-llm."""

import copy
import json
import pickle
import random
import runpy
import sqlite3
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

import gem
from gem.envs.registration import ENV_REGISTRY
from gem.envs.webshop.preprocess import main
from gem.envs.webshop.utils import random_idx
from gem.envs.webshop.webshop import WebshopEnv
from gem.wrappers.wrapper_factory import get_wrapper_fns
from gem_core.errors import ConfigError, DataError
from gem_web.agents import WebshopOracle

SEARCH = r"\boxed{search[shirt]}"
INVALID = r"\boxed{click[nothing]}"


def make(**options):
    return WebshopEnv(**{"data": "sample", "seed": 1, **options})


def path_to_purchase(session):
    """Return the actions of the oracle for a goal."""
    env, oracle, actions = make(max_turns=100), WebshopOracle(), []
    observation, info = env.reset(session=session)
    oracle.reset(env)
    terminated = False
    while not terminated:
        actions.append(oracle.act(observation, info))
        observation, reward, terminated, _, info = env.step(actions[-1])
    assert reward == 1.0
    return actions


@pytest.mark.slow
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("mode", ["html", "text", "text_rich"])
def test_ids_have_the_parameters_of_gem_llm(split, mode):
    spec = ENV_REGISTRY[f"webshop:{split}-{mode}"]
    assert spec.kwargs == {
        "observation_mode": mode,
        "split": split,
        "max_turns": 15,
        "error_tolerance": 15,
        "format_error_reward": -0.1,
    }
    env = gem.make(spec.id, data="sample")
    assert isinstance(env, WebshopEnv)
    env.reset(seed=1)
    assert [env.step("")[1:4] for _ in range(15)][-2:] == [(-0.1, False, False), (-0.1, True, True)]


@pytest.mark.slow
@pytest.mark.parametrize(("last", "reward"), [("no box", -0.5), (INVALID, -0.5), (SEARCH, 0.0)])
def test_both_flags_are_true_at_the_limit_whatever_the_last_action_is(last, reward):
    env = make(max_turns=2, error_tolerance=9, format_error_reward=-0.5)
    assert env.step(SEARCH)[1:4] == (0.0, False, False)
    assert env.step(last)[1:4] == (reward, True, True)


def test_a_purchase_terminates_and_in_the_last_turn_sets_both_flags():
    actions = path_to_purchase(3)
    for spare, truncated in ((1, False), (0, True)):
        env = make(max_turns=len(actions) + spare)
        env.reset(session=3)
        steps = [env.step(action) for action in actions]
        assert steps[-1][1:4] == (1.0, True, truncated)
        assert all(step[1:4] == (0.0, False, False) for step in steps[:-1])


def test_without_tolerance_the_first_invalid_action_ends_the_episode():
    assert make().step(INVALID)[1:4] == (0.0, True, False)


def test_the_shop_stays_open_after_the_end_with_a_warning_and_pays_a_purchase_once():
    env = make(max_turns=99, error_tolerance=99)
    actions = path_to_purchase(0)
    env.reset(session=0)
    for action in actions:
        step = env.step(action)
    assert step[1] == 1.0
    with pytest.warns(UserWarning, match="has ended"):
        assert env.step(INVALID)[1] == 0.0
    assert env.step(SEARCH)[1:4] == (0.0, False, False)


@pytest.mark.parametrize("limit", [0, -1, 20_000])
def test_any_number_is_a_limit(limit):
    env = make(max_turns=limit)
    assert env.step(SEARCH)[1:4] == (0.0, limit <= 0, limit <= 0)


def test_info_has_a_prefix_a_suffix_and_the_parsed_action_in_every_step():
    env = make(error_tolerance=9)
    _, first = env.reset(session=2)
    assert env.wish.instruction in first["prefix"]
    assert "search[<your query>]" in first["suffix"]
    for action, parsed in (
        (r"\boxed{search[Red Shirt]}", "search[red shirt]"),
        (r"so \boxed{Click[ABC]}", "Click[abc]"),
        (r"\boxed{wait}", "wait"),
        ("no box", "None"),
    ):
        info = env.step(action)[4]
        assert info["parsed_action"] == parsed
        assert info["prefix"] == first["prefix"]
        assert "click[back to search]" in info["suffix"]
        assert "click[search]" not in info["suffix"]


@pytest.mark.parametrize("action", [SEARCH, "no box"])
def test_the_last_step_has_the_same_keys(action):
    assert {"prefix", "suffix", "parsed_action"} <= make(max_turns=1).step(action)[4].keys()


def test_a_history_shows_the_wish_in_every_turn_and_actions_as_they_were_read():
    env = make(error_tolerance=9)
    for wrap in get_wrapper_fns("concat_with_action"):
        env = wrap(env)
    env.reset()
    env.step(r"Hm. \boxed{search[shirt]}")
    shown = env.step("no box")[0]
    assert shown.count(env.unwrapped.wish.instruction) >= 1
    assert "search[shirt]" in shown
    assert "Hm." not in shown
    assert "None" in shown


def test_a_session_that_is_a_number_is_that_of_a_goal():
    env = make()
    for number in (0, 7, 0):
        env.reset(session=number)
        assert env.goal is env.catalogue.goals("train").tasks[number]
        assert env.session == str(number)
    count = len(env.catalogue.goals("train").tasks)
    for number in (-1, count):
        with pytest.raises(ValueError, match=f"from 0 to {count - 1}; got {number}"):
            env.reset(session=number)


def test_a_named_session_keeps_its_goal_in_one_environment():
    env = make()
    numbers = {
        name: env.reset(seed=seed, session=name)[1]["idx"] for seed, name in enumerate("abc")
    }
    assert len(set(numbers.values())) > 1
    for name, number in numbers.items():
        env.step(SEARCH)
        observation, info = env.reset(seed=9, session=name)
        assert (info["idx"], observation) == (number, "Search")
    assert env.spawn(seed=4).reset(seed=0, session="c")[1]["idx"] == numbers["a"]


def test_sessions_without_a_name_are_new_and_draw_from_all_goals():
    env = make()
    resets = [(env.reset()[1]["idx"], env.session) for _ in range(60)]
    assert len({session for _, session in resets}) == 60
    assert len({number for number, _ in resets}) > 26


def test_the_constructor_names_the_session_of_every_reset_and_its_prefix():
    env = make(session=5, session_prefix="test-")
    assert (env.reset(seed=1)[1]["idx"], env.session) == (5, "test-5")
    assert env.reset(session=6)[1]["idx"] == 6
    assert make(session_prefix="test-").session.startswith("test-")


@pytest.mark.parametrize("mode", ["text_rich", "html"])
def test_an_instruction_replaces_the_wish_and_not_the_goal(mode):
    env = make(observation_mode=mode)
    before, _ = env.reset(session=1)
    goal = env.goal
    observation, info = env.reset(session=1, instruction_text="a pair of <odd> socks")
    assert "a pair of <odd> socks" in info["prefix"]
    assert observation != before
    assert (env.goal.attributes, env.goal.asin) == (goal.attributes, goal.asin)
    assert env.step(SEARCH)[4]["prefix"] == info["prefix"]
    assert goal.instruction in env.reset(session=1)[1]["prefix"]


def test_the_attributes_of_a_product_are_shown_if_asked_for():
    actions = path_to_purchase(0)
    for show in (False, True):
        env = make(show_attrs=show)
        env.reset(session=0)
        suffix = [env.step(action) for action in actions[:2]][-1][4]["suffix"]
        assert ("click[attributes]" in suffix) is show


def test_seeds_start_the_same_episode_and_may_be_any_number():
    for seed in (3, -3, 2**70):
        one, other = make(seed=seed), make(seed=None)
        assert other.reset(seed=seed) == one.reset(seed=seed)
        assert one.reset() == other.reset()
    assert make(seed=5).goal is make(seed=5).goal


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), WebshopEnv.fork]
)
def test_copies_go_on_alike_and_share_the_catalogue(copied):
    env = make(error_tolerance=9)
    env.reset(session="a")
    env.step(SEARCH)
    twin = copied(env)
    assert twin.catalogue is env.catalogue
    assert twin.goal.asin == env.goal.asin
    for action in (r"\boxed{click[next >]}", INVALID, r"\boxed{click[back to search]}"):
        assert env.step(action) == twin.step(action)
    assert env.reset(session="a") == twin.reset(session="a")
    assert env.reset() == twin.reset()


def test_a_state_can_be_saved_and_assigned():
    env = make(error_tolerance=9)
    env.step(SEARCH)
    state = env.get_state()
    first = env.step(r"\boxed{click[next >]}")
    env.set_state(state)
    assert env.step(r"\boxed{click[next >]}") == first


def test_a_vector_steps_several_webshops():
    vector = gem.make_vec(["webshop:Sample"] * 2, seed=3)
    vector.reset(env0_kwargs={"session": 1}, env1_kwargs={"session": 2})
    observations, rewards, *_ = vector.step([SEARCH, "no box"])
    assert "Total results" in observations[0]
    assert list(rewards) == [0.0, pytest.approx(-0.1)]


def test_other_arguments_are_ignored_with_a_warning():
    with pytest.warns(UserWarning, match="takes no num_products"):
        make(num_products=1000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation_mode": "txt"}, "Did you mean 'text'"),
        ({"split": "tset"}, "Did you mean 'test'"),
        ({"max_turns": "many"}, "max_turns must be a whole number"),
    ],
)
def test_wrong_arguments_are_value_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


# The folder of gem-llm's preprocessing


def write_database(folder):
    """Write a small webshop.db, with the columns that gem-llm's has."""
    folder.mkdir(parents=True)
    product = {
        "asin": "B01",
        "name": "Blue Lamp",
        "full_description": "A lamp.",
        "pricing": 10.5,
        "images": "[]",
        "product_category": "Lamps",
        "average_rating": "N.A.",
        "small_description": '["bright"]',
        "title": "Blue Lamp",
        "description": "A lamp.",
        "reviews": "[]",
        "rating": "N.A.",
        "bullet_points": '["bright"]',
        "price": "$10.5",
        "options": '{"color": ["navy", "red"]}',
        "option_to_image": "{}",
        "attributes": '["bright"]',
        "instruction_text": None,
        "instruction_attributes": None,
        "main_image": "",
        "category": "garden",
        "query": "lamp",
        "page": None,
    }
    goal = {
        "idx": 0,
        "asin": "B01",
        "category": "garden",
        "query": "lamp",
        "name": "Blue Lamp",
        "product_category": "Lamps",
        "instruction_text": "i want a bright lamp in navy",
        "attributes": '["bright"]',
        "price_upper": 20.0,
        "goal_options": json.dumps(["navy"]),
        "weight": 1.0,
    }
    database = sqlite3.connect(folder / "webshop.db")
    for table, row in (("all_products", product), ("goals_train", goal), ("goals_test", goal)):
        database.execute(f"CREATE TABLE {table} ({', '.join(row)})")
        marks = ", ".join("?" * len(row))
        insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - our own names
        database.execute(insert, list(row.values()))
    database.commit()
    database.close()


def test_without_data_the_error_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="gem-core webshop index SOURCE FOLDER"):
        WebshopEnv()


@pytest.mark.slow
def test_the_command_that_the_error_names_converts_the_database(tmp_path, monkeypatch):
    from gem_web.commands import command

    write_database(tmp_path / ".cache" / "webshop")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="must be converted once") as raised:
        gem.make("webshop:train-text")
    group, *arguments = str(raised.value).rpartition("gem-core ")[2].split()
    assert group == "webshop"
    command.main(arguments, standalone_mode=False)
    env = gem.make("webshop:train-text")
    assert env.goal.instruction == "i want a bright lamp in navy"
    monkeypatch.chdir(tmp_path.parent)  # a copy does not need the working directory
    assert pickle.loads(pickle.dumps(env)).catalogue is env.catalogue


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["all", "documents", "database"])
def test_preprocessing_converts_the_database_once(tmp_path, monkeypatch, capsys, mode):
    write_database(tmp_path / ".cache" / "webshop")
    monkeypatch.chdir(tmp_path)
    main(mode=mode)
    assert "1 products" in capsys.readouterr().out
    env = WebshopEnv(split="test")
    for action in ("search[lamp]", "click[b01]", "click[navy]", "click[buy now]"):
        step = env.step(f"\\boxed{{{action}}}")
    assert step[1:4] == (1.0, True, False)
    main()
    assert "is up to date" in capsys.readouterr().out


def test_preprocessing_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        DataError, match=r"downloads nothing.*index SOURCE \.cache/webshop/catalogue"
    ):
        main()
    with pytest.raises(ValueError, match="Did you mean 'documents'"):
        main("document")


def test_preprocessing_is_a_script(monkeypatch, capsys):
    module = "gem.envs.webshop.preprocess"
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "argv", ["preprocess.py", "--mode", "every"])
    with pytest.raises(SystemExit):
        runpy.run_module(module, run_name="__main__")
    assert "'all', 'documents', 'database'" in capsys.readouterr().err


# The draw of an index

WEIGHTS = st.lists(st.floats(0.01, 100), min_size=1, max_size=20)


@pytest.mark.slow
@settings(max_examples=100 if thorough() else 25)
@given(WEIGHTS, st.integers(0, 2**32), st.booleans())
def test_every_drawn_index_is_one_of_the_weights(weights, seed, has_zero):
    sums = [sum(weights[: n + 1]) for n in range(len(weights))]
    drawn = random_idx([0, *sums] if has_zero else sums, random.Random(seed))
    assert 0 <= drawn < len(weights)


@pytest.mark.parametrize("sums", [[0, 1, 3, 6], [1, 3, 6]])
def test_indices_are_drawn_as_often_as_their_weights_say(sums):
    rng = random.Random(1)
    counts = Counter(random_idx(sums, rng) for _ in range(6000))
    assert all(abs(counts[index] - 1000 * (index + 1)) < 150 for index in range(3))


def test_an_index_is_drawn_from_the_global_generator_unless_there_is_another():
    random.seed(4)
    first = [random_idx([0, 1, 2, 3]) for _ in range(20)]
    random.seed(4)
    assert [random_idx([0, 1, 2, 3]) for _ in range(20)] == first
    with pytest.raises(ValueError, match="must be above 0"):
        random_idx([0, 0])
