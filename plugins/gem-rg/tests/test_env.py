"""Order, seeds and limits, in any process."""

import pytest
from selection import thorough

import gem_core
from gem_core.errors import ConfigError, DeadlineError
from gem_rg import datasets
from gem_rg.items import Item, Recipe


def questions(env, count):
    """Return the next questions."""
    return [env.reset()[0] for _ in range(count)]


def test_items_come_in_order_and_then_those_of_another_seed():
    env = gem_core.make("rg:leg_counting", size=3)
    first, second = questions(env, 3), questions(env, 3)
    assert len({*first, *second}) == 6
    assert (env.epoch, env.idx) == (1, 2)
    assert questions(gem_core.make("rg:leg_counting", size=6), 6) == first + second


def test_an_item_can_be_selected_and_the_next_one_follows():
    env = gem_core.make("rg:leg_counting", size=4)
    all_four = questions(env, 4)
    env.reset()
    assert env.reset(idx=2)[0] == all_four[2]
    assert env.reset()[0] == all_four[3]
    for wrong in (4, -1, "1", True):
        with pytest.raises(ConfigError, match="idx must be from 0 to 3"):
            env.reset(idx=wrong)


def test_a_seed_decides_where_to_start():
    env = gem_core.make("rg:leg_counting")
    first = env.reset(seed=7)
    following = questions(env, 2)
    env.reset(seed=8)
    assert env.reset(seed=7) == first
    assert questions(env, 2) == following
    assert gem_core.make("rg:leg_counting", seed=7).reset() == first
    assert len({env.reset(seed=seed)[0] for seed in range(20)}) > 15


def test_the_seed_of_the_dataset_decides_the_items():
    ours = questions(gem_core.make("rg:leg_counting", dataset_seed=0), 20)
    assert set(ours).isdisjoint(questions(gem_core.make("rg:leg_counting"), 20))
    last = gem_core.make("rg:pool_matrix", dataset_seed=2**31 - 1, size=1)
    assert len(set(questions(last, 3))) == 3


def test_an_answer_in_a_thought_counts_only_if_it_is_asked_for():
    for thoughts, reward in (("ignore", 0.0), ("count", 1.0)):
        env = gem_core.make("rg:chain_sum", thoughts=thoughts)
        env.reset(seed=0)
        thought = env.unwrapped.solution()
        step = env.step(f"<think>{thought}</think> I do not know.")
        assert (step.reward, "format_error" in step.info) == (reward, thoughts == "ignore")


def test_the_hint_can_be_replaced_or_left_out():
    bare = gem_core.make("rg:leg_counting", hint="").reset()[0]
    assert "boxed" not in bare
    other = gem_core.make("rg:leg_counting", hint="Answer in <answer> tags.").reset()[0]
    assert other == bare.rstrip() + "\n\nAnswer in <answer> tags."


def test_an_exploding_sequence_is_rejected_in_time():
    env = gem_core.make("rg:number_sequence", time_limit=60)
    env.reset(idx=121)
    assert env.step(env.solution()).reward == 1.0


@pytest.mark.slow
def test_an_item_that_takes_too_long_is_an_error_and_the_next_reset_continues():
    env = gem_core.make("rg:jugs", level=3, dataset_seed=1, time_limit=0.2)
    with pytest.raises(DeadlineError) as caught:
        env.reset()
    message = "rg:jugs: item 0 of the dataset with seed 1 was not made within 0.2 s"
    assert message in str(caught.value)
    assert env.idx == 0
    with pytest.raises(DeadlineError, match="item 1 "):
        env.reset()


@pytest.mark.slow
def test_a_slow_item_does_not_delay_a_fast_one_of_its_batch():
    env = gem_core.make("rg:quantum_lock", time_limit=0.4)  # item 211 takes more than a second
    env.reset(idx=210)
    with pytest.raises(DeadlineError):
        env.reset()


def test_environments_of_one_process_share_items():
    datasets.item(Recipe(name="maze", size=500), 9, 0, 10.0)
    first = gem_core.make("rg:maze", dataset_seed=9)
    second = gem_core.make("rg:maze", dataset_seed=9)
    first.reset()
    second.reset()
    assert first.item is second.item


def test_the_cache_keeps_the_most_recently_used_items():
    cache = datasets._Cache(2500)
    recipe = Recipe(name="maze", size=500)
    item = Item("q" * 500, "1", "maze", b"", 0.0)
    keys = [(recipe, 0, number) for number in range(3)]
    cache.put(keys[0], item)
    cache.put(keys[1], item)
    assert cache.get(keys[0]) is item
    cache.put(keys[2], item)
    assert [cache.get(key) for key in keys] == [item, None, item]


@pytest.mark.slow
@pytest.mark.parametrize(
    "executor",
    ["threads", {"id": "processes", "max_workers": None if thorough() else 1}],
    ids=["threads", "processes"],
)
def test_every_executor_plays_the_same(executor):
    def play(executor):
        ids = ["rg:leg_counting", "rg:isomorphic_strings", "rg:word_ladder", "rg:composite"]
        with gem_core.make_vec(ids, seed=5, executor=executor) as vec:
            observations, _ = vec.reset()
            return [list(observations), list(vec.step([r"\boxed{3}"] * len(ids))[:2])]

    assert repr(play(executor)) == repr(play("serial"))


def test_a_snapshot_contains_the_item():
    env = gem_core.make("rg:knights_knaves")
    env.reset(seed=3)
    action, snapshot = env.solution(), env.snapshot()
    other = gem_core.make("rg:knights_knaves")
    other.restore(snapshot)
    assert other.step(action).reward == 1.0
    assert other.reset() == env.reset()
