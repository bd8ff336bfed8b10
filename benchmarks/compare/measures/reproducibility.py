"""Whether a seed and the actions decide what an environment of a vector shows."""

from typing import Any

from compare.actions import make_actions
from compare.sides import load_side

__all__ = ["measure"]

Shown = list[tuple[str, str]]
"""Observation and suffix of each turn."""


def measure(
    side: str, *, env_id: str, executor: str, num_envs: int, turns: int
) -> dict[str, float]:
    """Play the same seeds and actions in a vector and alone.

    Returns:
        How many environments of the vector showed the same as alone: ``first_episode``, from the
        seeded reset to the episode's end; ``across_resets``, all turns, the following episodes
        included.
    """
    library = load_side(side)
    seeds = list(range(100, 100 + num_envs))
    scripts = [make_actions(env_id, count=turns, seed=seed) for seed in seeds]
    vec = library.make_vec(env_id, num_envs, executor)
    together = _play_together(vec, seeds, scripts)
    library.close_vec(vec)
    first_episode = across_resets = 0
    for seed, script, shown in zip(seeds, scripts, together, strict=True):
        alone, first_end = _play_alone(library.make(env_id), seed, script)
        first_episode += alone[:first_end] == shown[:first_end]
        across_resets += alone == shown
    return {"first_episode": first_episode, "across_resets": across_resets}


def _play_together(vec: Any, seeds: list[int], scripts: list[list[str]]) -> list[Shown]:
    observations, infos = vec.reset(seed=seeds)
    rounds = [_shown(observations, infos)]
    for actions in zip(*scripts, strict=True):
        observations, _, _, _, infos = vec.step(list(actions))
        rounds.append(_shown(observations, infos))
    return [list(of_one_env) for of_one_env in zip(*rounds, strict=True)]


def _shown(observations: list[str], infos: list[dict[str, Any]]) -> Shown:
    return [
        (observation, info.get("suffix", ""))
        for observation, info in zip(observations, infos, strict=True)
    ]


def _play_alone(env: Any, seed: int, script: list[str]) -> tuple[Shown, int]:
    """Return what was shown, and how much of it belongs to the first episode."""
    observation, info = env.reset(seed=seed)
    shown, first_end = [(observation, info.get("suffix", ""))], None
    for action in script:
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:  # as a vector does
            first_end = first_end or len(shown)
            observation, info = env.reset()
        shown.append((observation, info.get("suffix", "")))
    return shown, first_end or len(shown)
