"""Prints episodes, to inspect an environment."""

import inspect
import pprint
import random
import time
from collections.abc import Callable
from typing import Any

__all__ = [
    "ppprint",
    "run_and_print_episode",
    "run_and_print_episode_async",
    "run_and_print_episode_with_random_selection",
    "run_and_print_episode_with_selective_step",
]


def ppprint(x: Any) -> None:
    """Print a value readably; the items of a list or tuple one by one."""
    if not isinstance(x, list | tuple):
        pprint.pprint(x)
        return
    for number, item in enumerate(x, start=1):
        _say(f"----- {number}/{len(x)}:")
        pprint.pprint(item)
        _say("")


def run_and_print_episode(
    env: Any,
    policy: Callable[[Any], Any],
    ignore_done: bool = False,
    max_steps: float = 1e9,
) -> None:
    """Play and print an episode of an environment or a vector.

    Args:
        env: The environment, or a vector.
        policy: Function from an observation to an action.
        ignore_done: Continue after the end of an episode, as vectors can.
        max_steps: Maximum number of steps.
    """
    began = time.perf_counter()
    observation, _ = env.reset()
    number, done = 0, False
    while number < max_steps and not done:
        number += 1
        action = policy(observation)
        observation, done = _step(env, number, action, observation)
        done = done and not ignore_done
    _say(f"----TIME: {time.perf_counter() - began:.2f} seconds")


async def run_and_print_episode_async(
    env: Any,
    policy: Callable[[Any], Any],
    ignore_done: bool = False,
    max_steps: float = 1e9,
) -> None:
    """Play an episode with a policy that may be a coroutine function, and print it."""
    began = time.perf_counter()
    observation, _ = env.reset()
    number, done = 0, False
    while number < max_steps and not done:
        number += 1
        action = policy(observation)
        if inspect.isawaitable(action):
            action = await action
        observation, done = _step(env, number, action, observation)
        done = done and not ignore_done
    _say(f"----TIME: {time.perf_counter() - began:.2f} seconds")


def run_and_print_episode_with_selective_step(
    env: Any,
    policy: Callable[[Any], Any],
    ignore_done: bool = False,
    max_steps: float = 1e9,
) -> None:
    """Play and print a vector; each step uses about half of its environments.

    Args:
        env: The vector.
        policy: Function from all observations to all actions.
        ignore_done: Continue after the end of an episode.
        max_steps: Maximum number of steps.
    """
    began = time.perf_counter()
    observations, _ = env.reset()
    observations = list(observations)
    number, done = 0, False
    while number < max_steps and not done:
        number += 1
        chosen = [index for index in range(env.num_envs) if random.random() < 0.5]
        chosen = chosen or [random.randrange(env.num_envs)]
        actions = policy(observations)
        selected = {index: actions[index] for index in chosen}
        found, done = _step(env, number, selected, None)
        for index, observation in zip(chosen, found, strict=True):
            observations[index] = observation
        done = done and not ignore_done
    _say(f"----TIME: {time.perf_counter() - began:.2f} seconds")


run_and_print_episode_with_random_selection = run_and_print_episode_with_selective_step


def _step(env: Any, number: int, action: Any, observation: Any) -> tuple[Any, bool]:
    """Take a step and print it; return the next observation and whether an episode has ended."""
    found, reward, terminated, truncated, _ = env.step(action)
    _say("=" * 30)
    _say(f"Step {number}")
    parts = {"observation": observation} if observation is not None else {}
    parts["action"] = action
    if observation is None:
        parts["next_observation"] = found
    for title, value in {**parts, "reward": reward}.items():
        _say(f"{'-' * 10} {title} {'-' * 10}")
        ppprint(value)
    _say(f"terminated:  {terminated} truncated:  {truncated}")
    _say("=" * 30)
    ended = terminated | truncated
    return found, bool(ended if isinstance(ended, bool) else ended.all())


def _say(text: str) -> None:
    print(text)
