"""Measures WebShop in this process: ``worker.py webshop.measure WHAT ARGUMENT...``.

``small WALKS`` plays the walks of a file in every mode; ``large FOLDER`` measures a stored
catalogue; ``soak EPISODES`` plays many episodes. Times are of the CPU.
"""

import gc
import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["main"]

_PAGE = resource.getpagesize()
_LIVE = 2000
_TOGETHER = 256
_MODES = ("text", "text_rich", "html")


def main() -> None:
    """Print the figures as JSON."""
    measure = {"small": _small, "large": _large, "soak": _soak}[sys.argv[1]]
    print(json.dumps(measure(sys.argv[2])))


def _ms() -> float:
    return time.process_time() * 1e3


def _memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def _small(walks: str) -> dict[str, float]:
    before = _ms()
    import gem_core  # noqa: PLC0415 - its time is measured
    import gem_web.env  # noqa: F401, PLC0415

    figures = {"import, ms": _ms() - before}
    before = _ms()
    gem_core.make("webshop:Sample")
    figures["first make: the catalogue and its index, ms"] = _ms() - before
    episodes = json.loads(Path(walks).read_text())
    for mode in _MODES:
        figures |= _walk(gem_core.make("webshop:Sample", observation_mode=mode), episodes, mode)
    figures["KiB of an extra environment"] = _live(gem_core) / 1024
    figures["steps/s of 256 environments in turn"] = _together(gem_core)
    return figures


def _walk(env: Any, episodes: list[Any], mode: str) -> dict[str, float]:
    """Play the walks; return the figures of a mode."""
    resets = steps = 0.0
    count = 0
    for idx, actions in episodes:
        before = _ms()
        env.reset(idx=idx)
        resets += _ms() - before
        before = _ms()
        for action in actions:
            env.step(action)
        steps += _ms() - before
        count += len(actions)
    return {
        f"{mode}: steps/s": count / steps * 1e3,
        f"{mode}: reset, ms": resets / len(episodes),
    }


def _live(gem_core: Any) -> float:
    """Return the bytes of an environment in the middle of an episode."""
    warm = gem_core.make("webshop:Sample")
    _to_product(warm, 0)
    before = _memory()
    envs = [gem_core.make("webshop:Sample") for _ in range(_LIVE)]
    for seed, env in enumerate(envs):
        _to_product(env, seed)
    return (_memory() - before) / len(envs)


def _to_product(env: Any, seed: int) -> None:
    env.reset(seed=seed)
    for _ in range(3):
        env.step(env.sample_random_action())


def _together(gem_core: Any) -> float:
    envs = [gem_core.make("webshop:Sample") for _ in range(_TOGETHER)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    before = _ms()
    count = 0
    for _ in range(10):
        for env in envs:
            step = env.step(env.sample_random_action())
            count += 1
            if step[2] or step[3]:
                env.reset()
    return count / (_ms() - before) * 1e3


def _large(folder: str) -> dict[str, float]:
    import gem_core  # noqa: PLC0415 - its memory is not counted
    import gem_web.store  # noqa: F401, PLC0415

    gem_core.make("webshop:Sample").close()
    memory = _memory()
    before = _ms()
    env = gem_core.make("webshop:train-text", data=folder)
    figures = {"open, ms": _ms() - before}
    catalogue = env.unwrapped.catalogue
    rng = random.Random("queries")
    queries = [_query(env, rng, number) for number in range(500)]
    catalogue.search("warm up")
    before = _ms()
    for query in queries:
        catalogue.search(query)
    figures["a search, ms"] = (_ms() - before) / len(queries)
    before = _ms()
    count = 0
    for seed in range(300):
        env.reset(seed=seed)
        for _ in range(10):
            step = env.step(env.sample_random_action())
            count += 1
            if step[2] or step[3]:
                break
    figures["steps/s, text"] = count / (_ms() - before) * 1e3
    figures["memory beyond the sample, MiB"] = (_memory() - memory) / 2**20
    size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    figures["on disk, MiB"] = size / 2**20
    return figures


def _query(env: Any, rng: random.Random, number: int) -> str:
    env.reset(idx=number)
    words = env.unwrapped.wish.instruction.split()
    return " ".join(rng.sample(words, min(len(words), 4)))


def _soak(episodes: str) -> dict[str, float]:
    """Play episodes of the random agent; return the memory at four points."""
    import gem_core  # noqa: PLC0415 - as above

    env = gem_core.make("webshop:Sample")
    figures: dict[str, float] = {}
    total = int(episodes)
    for number in range(total):
        env.reset(seed=number)
        over = False
        while not over:
            step = env.step(env.sample_random_action())
            over = step[2] or step[3]
        if (number + 1) % (total // 4) == 0:
            figures[f"MiB after {number + 1:,} episodes"] = _memory() / 2**20
    return figures
