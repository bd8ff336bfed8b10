"""The properties of every level of every game."""

from itertools import groupby, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selection import some, thorough

import gem_core
from gem_core import make, make_agent
from gem_core.errors import InvalidActionError, UnknownKwargError
from gem_games.base import FORMAT_ERROR_REWARD
from gem_rollout import collect

IDS = gem_core.list_envs("game:*")
LEVELS = [
    env_id
    for _, levels in groupby(IDS, key=lambda env_id: env_id.partition("-")[0])
    for env_id in some(levels)
]
"""Two levels of each game; all of them in a thorough run."""
WRAPPERS = ([], ["concat"], ["concat_with_action"])
few_examples = settings(
    max_examples=10 if thorough() else 3,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def play_randomly(env, turns=10**6):
    """Return the steps of random play, until the end of the episode or for ``turns`` turns."""
    steps = []
    while len(steps) < turns and not (steps and (steps[-1].terminated or steps[-1].truncated)):
        steps.append(env.step(env.sample_random_action()))
    return steps


@given(texts=st.lists(st.text(max_size=40), max_size=5), seed=st.integers(0, 10**6))
@few_examples
def say_anything(env_id, texts, seed):
    env = make(env_id)
    for text in texts:
        for action in (text, f"I think {{so}}. \\boxed{{{text}}}", text + env_id):
            env.reset(seed=seed)
            env.step(action)


@pytest.mark.slow
def test_no_action_raises_an_error_with_or_without_a_box(subtests):
    for env_id in LEVELS:
        with subtests.test(env_id):
            say_anything(env_id)


@pytest.mark.slow
def test_an_action_that_is_not_text_is_rejected_and_uses_no_turn(subtests):
    for env_id in LEVELS:
        with subtests.test(env_id):
            env, untouched = make(env_id), make(env_id)
            env.reset(seed=0)
            untouched.reset(seed=0)
            for action in (None, 5, b"\\boxed{1}", ["\\boxed{1}"]):
                with pytest.raises(InvalidActionError):
                    env.step(action)
            assert play_randomly(env) == play_randomly(untouched)


@given(seed=st.integers(0, 10**6), turns=st.integers(0, 12))
@few_examples
def continue_twice(env_id, seed, turns):
    env = make(env_id)
    env.reset(seed=seed)
    if any(step.terminated or step.truncated for step in play_randomly(env, turns)):
        return
    snapshot, fork = env.snapshot(), env.fork()
    played = [play_randomly(env), env.reset(), play_randomly(env)]
    assert [play_randomly(fork), fork.reset(), play_randomly(fork)] == played
    env.restore(snapshot)
    assert [play_randomly(env), env.reset(), play_randomly(env)] == played


@pytest.mark.slow
def test_a_fork_and_a_restored_snapshot_continue_identically(subtests):
    for env_id in LEVELS:
        with subtests.test(env_id):
            continue_twice(env_id)


@given(seed=st.integers(0, 10**6))
@few_examples
def play_twice(env_id, seed):
    one, other = make(env_id), make(env_id)
    other.reset(seed=seed + 1)
    play_randomly(other, 3)
    assert one.reset(seed=seed) == other.reset(seed=seed)
    assert play_randomly(one) == play_randomly(other)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_episode_regardless_of_earlier_episodes(subtests):
    for env_id in LEVELS:
        with subtests.test(env_id):
            play_twice(env_id)


@pytest.mark.slow
def test_random_actions_are_well_formed_to_the_end(subtests):
    for env_id in IDS:
        with subtests.test(env_id):
            env = make(env_id)
            for seed in range(30 if thorough() else 6):
                env.reset(seed=seed)
                assert min(step.reward for step in play_randomly(env)) > FORMAT_ERROR_REWARD


@pytest.mark.slow
def test_an_unknown_option_is_rejected_with_a_near_name(subtests):
    for env_id in IDS:
        with (
            subtests.test(env_id),
            pytest.raises(UnknownKwargError, match="Did you mean 'max_turns'"),
        ):
            make(env_id, max_turn=3)


@pytest.mark.slow
@pytest.mark.parametrize(("env_id", "wrappers"), some(product(IDS, WRAPPERS)))
def test_the_oracle_reaches_the_promised_return(env_id, wrappers):
    spec = gem_core.spec(env_id)
    episodes = (10 if wrappers else 80) if thorough() else (4 if wrappers else 15)
    trajectories = list(
        collect(
            lambda: make(env_id, wrappers=wrappers),
            lambda: make_agent("oracle"),
            episodes=episodes,
            seed=0,
        )
    )
    assert [t.error for t in trajectories if t.error] == []
    mean = sum(t.episode_return for t in trajectories) / episodes
    promised = 0.95 if spec.oracle_return is None else spec.oracle_return
    assert mean >= promised
