"""Vectors: seeds, steps of some, resets, what is returned, threads."""

import threading

import numpy as np
import pytest

import gem
from gem.core import EnvWrapper
from gem.vector.async_vector_env import AsyncVectorEnv, step_reset_env
from gem.vector.sync_vector_env import SyncVectorEnv
from gem.vector.vector_env import AutoresetMode, VectorEnv
from gem.wrappers.wrapper_factory import get_wrapper_fns
from gem_core.errors import ConfigError

GAME = "game:GuessTheNumber-v0-hard"


class Count(gem.Env):
    """Counts steps and ends at the third; remembers how it was made and reset."""

    def __init__(self, start=0, seed=None):
        self.start, self.seed, self.options = start, seed, {}

    def reset(self, seed=None, **options):
        self.number, self.reset_seed, self.options = self.start, seed, options
        return f"begin {self.number}", {"seed": seed, **options}

    def step(self, action):
        if action == "raise":
            raise ZeroDivisionError("as asked")
        self.number += 1
        done = self.number == self.start + 3
        return f"at {self.number}", self.number, done, done, {"action": action}


def counting(mode=AutoresetMode.SAME_STEP, cls=SyncVectorEnv, number=3):
    return cls(["count"] * number, [Count] * number, mode)


@pytest.mark.parametrize("async_mode", [False, True])
def test_a_vector_returns_lists_and_arrays(async_mode):
    vector = gem.make_vec([GAME] * 3, async_mode=async_mode)
    assert isinstance(vector, AsyncVectorEnv if async_mode else SyncVectorEnv)
    assert isinstance(vector, gem.Env)
    assert (vector.num_envs, vector.env_ids) == (3, [GAME] * 3)
    assert vector.autoreset_mode is AutoresetMode.SAME_STEP
    observations, infos = vector.reset(seed=0)
    assert [type(one) for one in observations] == [str] * 3
    assert [sorted(info) for info in infos] == [["suffix"]] * 3
    observations, rewards, terminated, truncated, infos = vector.step(vector.sample_random_action())
    assert isinstance(observations, list)
    assert isinstance(infos, list)
    assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)
    assert rewards.shape == terminated.shape == truncated.shape == (3,)
    vector.close()
    vector.close()


@pytest.mark.parametrize("async_mode", [False, True])
def test_seeds_go_up_from_the_one_that_is_given(async_mode):
    vector = gem.make_vec([GAME] * 4, async_mode=async_mode, seed=10)
    alone = [gem.make(GAME, seed=10 + index).game_number for index in range(4)]
    assert [env.game_number for env in vector.envs] == alone
    vector.reset(seed=5)
    numbers = [env.game_number for env in vector.envs]
    for index, number in enumerate(numbers):
        env = gem.make(GAME)
        env.reset(seed=5 + index)
        assert env.game_number == number
    vector.reset(seed=[5, 5, np.int64(6), None])
    assert vector.envs[0].game_number == vector.envs[1].game_number == numbers[0]
    assert vector.envs[2].game_number == numbers[1]
    with pytest.raises(ConfigError, match="4 seeds"):
        vector.reset(seed=[1, 2])
    vector.close()


def test_a_dict_steps_the_environments_that_it_names():
    vector = counting()
    vector.reset()
    observations, rewards, *_, infos = vector.step({2: "a", np.int64(0): "b"})
    assert observations == ["at 1", "at 1"]
    assert [info["action"] for info in infos] == ["a", "b"]
    assert [env.number for env in vector.envs] == [1, 0, 1]
    assert vector.step({1: "c"})[1].tolist() == [1.0]
    for wrong in ({3: "x"}, ["x"] * 2, "xyz"):
        with pytest.raises(ConfigError):
            vector.step(wrong)


@pytest.mark.parametrize("cls", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, "SameStep"])
def test_same_step_gives_the_new_episode_and_keeps_the_end_of_the_old(cls, mode):
    vector = counting(mode, cls)
    vector.reset(seed=4)
    for _ in range(2):
        vector.step(["a"] * 3)
    observations, rewards, terminated, truncated, infos = vector.step(["a"] * 3)
    assert observations == ["begin 0"] * 3
    assert rewards.tolist() == [3.0] * 3
    assert terminated.all()
    assert truncated.all()
    assert infos[0] == {"seed": None, "final_obs": "at 3", "final_info": {"action": "a"}}
    vector.close()


@pytest.mark.parametrize("cls", [SyncVectorEnv, AsyncVectorEnv])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, "NextStep"])
def test_the_mode_next_step_ignores_one_action(cls, mode):
    vector = counting(mode, cls)
    vector.reset()
    for _ in range(2):
        vector.step(["a"] * 3)
    observations, _, terminated, _, infos = vector.step(["a"] * 3)
    assert observations == ["at 3"] * 3
    assert terminated.all()
    observations, rewards, terminated, truncated, _ = vector.step({0: "a"})
    assert (observations, rewards.tolist()) == (["begin 0"], [0.0])
    assert not terminated.any()
    assert not truncated.any()
    assert vector.step({0: "a"})[0] == ["at 1"]
    vector.close()


def test_options_go_to_the_reset_of_one_environment():
    vector = counting()
    with pytest.warns(UserWarning, match="reset ignores nobody"):
        _, infos = vector.reset(seed=1, env1_kwargs={"idx": 5}, nobody="knows")
    assert infos == [{"seed": 1}, {"seed": 2, "idx": 5}, {"seed": 3}]


def test_parameters_of_one_environment_override_those_of_all(monkeypatch):
    from gem.envs.registration import ENV_REGISTRY, EnvSpec

    monkeypatch.setitem(ENV_REGISTRY, "test:Count", EnvSpec("test:Count", Count))
    own = [{"start": 7}, {"seed": 99}]
    vector = gem.make_vec(["test:Count"] * 2, vec_kwargs=own, seed=3, start=5)
    assert [(env.start, env.seed) for env in vector.envs] == [(7, 3), (5, 99)]
    assert own == [{"start": 7}, {"seed": 99}]
    assert gem.make_vec("test:Count").num_envs == 1
    assert gem.make_vec("test:Count", seed=None).envs[0].seed is None
    with pytest.raises(ConfigError, match="1 entries for 2"):
        gem.make_vec(["test:Count"] * 2, vec_kwargs=[{}])


def test_wrappers_go_round_every_environment():
    wrappers = get_wrapper_fns("concat,episode_tracking")
    vector = gem.make_vec([GAME] * 2, wrappers=wrappers, seed=0)
    vector.reset()
    *_, infos = vector.step([r"\boxed{99}"] * 2)
    assert [info["step_counter"] for info in infos] == [1, 1]
    assert vector.envs[0] is not vector.envs[1]
    assert all(isinstance(env, EnvWrapper) for env in vector.envs)


@pytest.mark.parametrize("cls", [SyncVectorEnv, AsyncVectorEnv])
def test_what_an_environment_raises_is_raised(cls):
    vector = counting(cls=cls)
    vector.reset()
    with pytest.raises(ZeroDivisionError, match="as asked"):
        vector.step(["a", "raise", "a"])
    assert [env.number for env in vector.envs] == [1, 0, 1]
    vector.close()


def test_environments_step_concurrently_in_threads():
    barrier = threading.Barrier(3, timeout=60)

    class Meet(Count):
        def step(self, action):
            barrier.wait()
            return super().step(action)

    vector = AsyncVectorEnv(["meet"] * 3, [Meet] * 3)
    vector.reset()
    assert vector.step(["a"] * 3)[0] == ["at 1"] * 3
    vector.close()


def test_an_unknown_autoreset_mode_is_an_error():
    with pytest.raises(ConfigError, match="'NextStep', 'SameStep'"):
        counting("never")
    assert VectorEnv([], []).reset() == ([], [])


def test_one_environment_is_stepped_and_reset_as_vectors_do():
    env = Count()
    env.reset()
    assert step_reset_env("a", env, "SameStep", autoreset_env=False)[0] == "at 1"
    step_reset_env("a", env, AutoresetMode.SAME_STEP, autoreset_env=True)
    observation, reward, terminated, _, info = step_reset_env(
        "a", env, AutoresetMode.SAME_STEP, autoreset_env=False
    )
    assert (observation, reward, terminated, info["final_obs"]) == ("begin 0", 3, True, "at 3")
    assert step_reset_env("a", env, AutoresetMode.NEXT_STEP, autoreset_env=True)[:2] == (
        "begin 0",
        0.0,
    )
