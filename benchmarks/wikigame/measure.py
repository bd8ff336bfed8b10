"""Measures WikiGame on one graph in this process.

``worker.py wikigame.measure GRAPH EPISODES [DATA]``.
"""

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["main"]

_ID = "game:WikiGame-v0-easy"
_PAGE = resource.getpagesize()


def main() -> None:
    """Print the figures as JSON."""
    name, episodes, *data = sys.argv[1:]
    options: dict[str, Any] = {"graph": name, **({"data": data[0]} if data else {})}
    import gem_core  # noqa: PLC0415 - imported before the clock starts
    import gem_games.wikigame  # noqa: F401, PLC0415 - as above

    before = _milliseconds()
    env = gem_core.make(_ID, **options)
    figures = {"first make": _milliseconds() - before}
    before = _milliseconds()
    env.reset(seed=0)
    figures["first reset"] = _milliseconds() - before
    before = _milliseconds()
    gem_core.make(_ID, **options)
    figures["another make"] = _milliseconds() - before
    figures |= _episodes(env, int(episodes))
    figures["KiB of a live episode"] = _live(options, int(episodes)) / 1024
    print(json.dumps(figures))


def _milliseconds() -> float:
    return time.process_time() * 1e3


def _episodes(env: Any, episodes: int) -> dict[str, float]:
    """Record random episodes, and play them again; the second time is measured."""
    before = _milliseconds()
    for seed in range(episodes):
        env.reset(seed=seed)
    cold = (_milliseconds() - before) / episodes
    recorded = [_record(env, seed) for seed in range(episodes)]
    before = _milliseconds()
    for seed in range(episodes):
        env.reset(seed=seed)
    warm = _milliseconds() - before
    before = _milliseconds()
    for seed, actions in enumerate(recorded):
        env.reset(seed=seed)
        for action in actions:
            env.step(action)
    spent = _milliseconds() - before - warm
    steps = sum(map(len, recorded))
    return {
        "reset, the first time": cold,
        "reset, the second time": warm / episodes,
        "steps per second": 1e3 * steps / spent,
    }


def _record(env: Any, seed: int) -> list[str]:
    env.reset(seed=seed)
    actions, is_over = [], False
    while not is_over:
        actions.append(env.sample_random_action())
        step = env.step(actions[-1])
        is_over = step.terminated or step.truncated
    return actions


def _live(options: dict[str, Any], count: int) -> float:
    """Return the resident bytes of an environment in an episode, beyond the shared graphs."""
    import gem_core  # noqa: PLC0415 - see main

    gc.collect()
    before = _resident()
    kept = []
    for seed in range(count):
        env = gem_core.make(_ID, **options)
        env.reset(seed=seed)
        env.step(env.sample_random_action())
        kept.append(env)
    gc.collect()
    return (_resident() - before) / len(kept)


def _resident() -> int:
    return int(Path(f"/proc/{os.getpid()}/statm").read_text().split()[1]) * _PAGE


if __name__ == "__main__":
    main()
