"""Random streams: an environment's draws depend on its seed and on its identity."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import gem_core
from gem_core import BaseEnv, EnvSpec, Step
from gem_core.seeding import child_seed

DRAWS = """
import gem_core
from gem_core.seeding import child_seed
env = gem_core.make("game:Mastermind-v0-hard")
for seed in range(5):
    env.reset(seed=seed)
    print(env.unwrapped.game_code, env.sample_random_action())
env = gem_core.make("game:GuessTheNumber-v0-random", seed=5)
for _ in range(5):
    print(env.reset()[0], env.unwrapped.game_number, env.sample_random_action())
print(child_seed(5, "env", 3))
"""

SIDES = 2**60


class Die(BaseEnv):
    """Shows a large random number."""

    def __init__(self, *, label="a"):
        self.label = label

    def start(self):
        return str(self.rng.randrange(SIDES)), {}

    def step(self, action):
        return Step(str(self.rng.randrange(SIDES)), 0.0, True, False, {})

    def sample_random_action(self):
        return str(self.action_rng.randrange(SIDES))


class Dice(Die):
    """Another environment, with the same draws."""


def spec(env_id, entry_point=Die):
    return EnvSpec(id=env_id, entry_point=entry_point)


def draws(env, seed=0):
    first, _ = env.reset(seed=seed)
    return first, env.sample_random_action(), env.step("").observation


def test_environments_with_different_ids_draw_differently_from_one_seed():
    """Otherwise the secrets of two levels of a game would be related."""
    easy, hard = gem_core.make(spec("x:Die-easy")), gem_core.make(spec("x:Die-hard"))
    for one, other in zip(draws(easy), draws(hard), strict=True):
        assert one != other


def test_environments_without_an_id_draw_by_their_class():
    assert draws(Die()) == draws(Die())
    assert draws(Die())[0] != draws(Dice())[0]


def test_copies_vectors_and_threads_draw_as_the_environment_does():
    """The stream belongs to the id, however the environment is made or copied."""
    expected = draws(gem_core.make(spec("x:Die")))
    env = gem_core.make(spec("x:Die"), seed=9)
    assert draws(env.fork()) == draws(env.spawn(seed=1)) == expected
    assert draws(gem_core.make(spec("x:Die"), wrappers=["episode_tracking"])) == expected
    with ThreadPoolExecutor() as threads:
        assert threads.submit(lambda: draws(gem_core.make(spec("x:Die")))).result() == expected
    with gem_core.make_vec(spec("x:Die"), num_envs=2) as vector:
        observations, _ = vector.reset(seed=[0, 0])
        assert list(observations) == [expected[0]] * 2


def test_parameters_leave_the_stream_as_it_is():
    """So that a changed parameter is compared on the same tasks."""
    assert draws(gem_core.make(spec("x:Die"), label="b")) == draws(gem_core.make(spec("x:Die")))


@pytest.mark.slow
def test_episodes_and_seeds_are_the_same_in_every_process_whatever_its_hash_seed(run_python):
    first = run_python(DRAWS, PYTHONHASHSEED="0")
    assert first.split()[-1] == str(child_seed(5, "env", 3))
    assert run_python(DRAWS, PYTHONHASHSEED="4242") == first
