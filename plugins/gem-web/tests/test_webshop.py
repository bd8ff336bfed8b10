"""The environment: actions, rewards, limits, the agents."""

import pytest
from small_shop import do, small_env, small_shop

import gem_core
from gem_core.errors import ConfigError, EpisodeEndedError, InvalidActionError
from gem_web.agents import FirstHitAgent, WebshopOracle

BUY = ("search[shirt 0]", "click[b000000000]", "click[red]", "click[x-large]", "click[buy now]")


def start(**options):
    env = small_env(**options)
    return env, env.reset(idx=0)


def test_the_prefix_has_the_wish_and_the_suffix_the_actions():
    env, (observation, info) = start()
    assert env.wish.instruction in info["prefix"]
    assert (observation, info["idx"]) == ("Search", 0)
    assert "search[<your query>]" in info["suffix"]
    step = do(env, "search[mug]")
    assert "click[back to search]\nclick[next >]\nclick[b0000000mu]" in step.info["suffix"]


def test_a_perfect_purchase_is_paid_1_and_explained():
    env, _ = start()
    step = do(env, *BUY)
    assert step[1:4] == (1.0, True, False)
    assert step.info["correct"]
    assert step.info["rewards"] == {"type": 1, "attributes": 1, "price": 1, "options": 1}
    purchase = step.info["purchase"]
    assert purchase["nouns"] == "words"
    assert purchase["chosen"] == {"color": "red", "size": "x-large"}
    assert purchase["wanted"]["options"] == ["red", "x-large"]
    assert "suffix" not in step.info
    with pytest.raises(EpisodeEndedError):
        do(env, "click[back to search]")


def test_what_is_chosen_is_repeated():
    env, _ = start()
    step = do(env, *BUY[:-1])
    assert "You have chosen: red, x-large." in step.info["suffix"]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        (r"I think \boxed{search[blue shirt]}", "search[blue shirt]"),
        (r"\boxed{ search [Blue Shirt] }", "search[blue shirt]"),
        (r"\boxed{search[a]} or \boxed{search[b]}", "search[b]"),
        ("\\boxed{search[a]}\nno, \\boxed{}", "search[a]"),
        (r"\boxed{search[size {m} [new]]}", "search[size {m} [new]]"),
    ],
)
def test_the_last_box_is_read(text, parsed):
    env, _ = start()
    step = env.step(text)
    assert (step.reward, step.info["parsed_action"]) == (0.0, parsed)


def test_what_is_not_a_valid_action_costs_and_changes_nothing(subtests):
    for text in [
        "search[shirt]",
        r"\boxed{}",
        r"\boxed{search[]}",
        r"\boxed{search}",
        r"\boxed{look[around]}",
        r"\boxed{click[search]}",
        r"\boxed{click[b000000000]}",
        r"\boxed{click[buy now]}",
        "\\boxed{search[a\n]}",
        "\\boxed{" * 100_000,
    ]:
        with subtests.test(text=text):
            env, (observation, _) = start()
            step = env.step(text)
            assert step[:4] == (observation, -0.1, False, False)
            assert step.info["format_error"]
            assert "last" in step.info["suffix"]


def test_an_episode_begins_on_the_search_page_without_choices_turns_and_errors():
    env, first = start(error_tolerance=1)
    do(env, *BUY[:3], "click[nowhere]")
    assert env.reset(idx=0) == first
    assert env.visit.options == {}
    assert not do(env, "click[nowhere]").terminated


def test_an_action_that_is_not_text_is_an_error():
    env, _ = start()
    with pytest.raises(InvalidActionError, match="is text; got int"):
        env.step(3)


def test_too_many_errors_end_the_episode():
    env, _ = start(error_tolerance=2, format_error_reward=-1)
    steps = [env.step("?") for _ in range(3)]
    assert [step[1:4] for step in steps] == [
        (-1.0, False, False),
        (-1.0, False, False),
        (-1.0, True, False),
    ]


def test_the_limit_of_turns_truncates_unless_the_purchase_is_made():
    env, _ = start(max_turns=2)
    assert do(env, "search[shirt]", "search[mug]")[1:4] == (0.0, False, True)
    env, _ = start(max_turns=len(BUY))
    assert do(env, *BUY)[1:4] == (1.0, True, False)


@pytest.mark.parametrize("mode", ["text", "text_rich", "html", "url"])
def test_the_oracle_is_paid_1_in_every_mode(mode):
    env = small_env(observation_mode=mode)
    for idx in range(3):
        assert play(env, WebshopOracle(), idx) == 1.0


def test_the_first_hit_is_paid_for_what_it_has():
    assert 0 < play(small_env(), FirstHitAgent(), 0) < 1


def play(env, agent, idx):
    observation, info = env.reset(idx=idx)
    agent.reset(env)
    while True:
        observation, reward, terminated, truncated, info = env.step(agent.act(observation, info))
        if terminated or truncated:
            return reward


@pytest.mark.slow
def test_goals_are_drawn_by_their_weights():
    env = small_env()
    drawn = [env.reset(seed=seed)[1]["idx"] for seed in range(600)]
    counts = [drawn.count(idx) for idx in range(3)]  # weights 1, 2 and 3
    assert counts[0] < counts[1] < counts[2]
    assert all(abs(count - 100 * (idx + 1)) < 60 for idx, count in enumerate(counts))


def test_splits_have_goals_of_their_own():
    assert small_env(split="test").reset(idx=0)[1]["prefix"].count("number 3")
    with pytest.raises(ConfigError, match=r"no split 'tset'.*Did you mean 'test'"):
        small_env(split="tset")


def test_a_real_catalogue_is_asked_for_with_the_command_that_makes_it():
    with pytest.raises(ConfigError, match="gem-core webshop index"):
        gem_core.make("webshop:test-text")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"observation_mode": "txt"}, "Did you mean 'text'"),
        ({"max_turns": 0}, "max_turns must be a whole number from 1"),
        ({"error_tolerance": -1}, "error_tolerance must be"),
        ({"nouns": "spaci"}, "Did you mean 'spacy'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ConfigError, match=message):
        small_env(**options)


def test_environments_share_the_catalogue_and_snapshots_are_small():
    env = small_env()
    env.reset(seed=0)
    do(env, "search[shirt]")
    assert env.fork().catalogue is env.catalogue is small_shop()
    assert len(env.snapshot()) < 10_000
