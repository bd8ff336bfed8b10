"""Measures one environment of dialogues in this process: ``worker.py tau.measure ID``.

It imports nothing but the standard library before the clock starts.
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

_EPISODES = 200
_LIVE = 1000
_PAGE = resource.getpagesize()


def main() -> None:
    """Print the figures as JSON."""
    name = sys.argv[1]
    figures: dict[str, float] = {}
    before = _milliseconds()
    import gem_core  # noqa: PLC0415 - its time is measured

    _ = gem_core.make, gem_core.make_agent  # imported when first used
    figures["import of gem_core"] = _milliseconds() - before
    before = _milliseconds()
    import gem_tau.env  # noqa: F401, PLC0415 - its time is measured

    figures["import of gem_tau.env after that"] = _milliseconds() - before
    before = _milliseconds()
    env = gem_core.make(name)
    figures["first make, with the base and the tasks"] = _milliseconds() - before
    before = _milliseconds()
    gem_core.make(name)
    figures["another make"] = _milliseconds() - before
    dialogue: Any = env.unwrapped
    before = _milliseconds()
    _ = dialogue.env.source.draw(None, 0)[1].base.digest
    figures["digest of the base, once"] = _milliseconds() - before
    figures |= _episodes(env)
    figures["KiB of a live episode"] = _live(env) / 1024
    print(json.dumps(figures))


def _milliseconds() -> float:
    return time.process_time() * 1e3


def _episodes(env: Any) -> dict[str, float]:
    """Play the oracle on the tasks; return milliseconds of CPU per episode."""
    import gem_core  # noqa: PLC0415 - see main

    oracle = gem_core.make_agent("oracle")
    before = _milliseconds()
    env.reset(idx=0)
    first = {"first reset": _milliseconds() - before}
    spent = {"oracle's episode": 0.0, "reset": 0.0, "digest": 0.0}
    turns = 0
    for number in range(_EPISODES):
        started = _milliseconds()
        observation, info = env.reset(idx=number)
        spent["reset"] += _milliseconds() - started
        oracle.reset(env)
        is_over = False
        while not is_over:
            observation, reward, terminated, truncated, info = env.step(
                oracle.act(observation, info)
            )
            is_over = terminated or truncated
            turns += 1
        spent["oracle's episode"] += _milliseconds() - started
        if reward < 1:
            raise RuntimeError(f"the oracle was paid {reward} in task {number}")
        started = _milliseconds()
        _ = env.unwrapped.env.db.digest
        spent["digest"] += _milliseconds() - started
    figures = {name: total / _EPISODES for name, total in spent.items()}
    return first | figures | {"turns of an episode": turns / _EPISODES}


def _live(env: Any) -> float:
    """Return the resident bytes of an episode that has written and goes on."""
    import gem_core  # noqa: PLC0415 - see main

    kept = [_halfway(gem_core.make_agent("oracle"), env, 0)]
    gc.collect()
    before = _resident()
    kept += [_halfway(gem_core.make_agent("oracle"), env, number) for number in range(_LIVE)]
    gc.collect()
    return (_resident() - before) / _LIVE


def _halfway(oracle: Any, env: Any, number: int) -> Any:
    """Return an environment whose episode has written to the database, or had twelve turns."""
    env = env.fork()
    observation, info = env.reset(idx=number % _EPISODES)
    oracle.reset(env)
    for _ in range(12):
        observation, _reward, terminated, truncated, info = env.step(oracle.act(observation, info))
        if env.unwrapped.env.db.writes or terminated or truncated:
            break
    return env


def _resident() -> int:
    return int(Path(f"/proc/{os.getpid()}/statm").read_text().split()[1]) * _PAGE
