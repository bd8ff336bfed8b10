"""Asks the workers, and keeps items that environments of one process share."""

import functools
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from datetime import date, time
from enum import Enum
from typing import Any

from gem_core.errors import ConfigError, DeadlineError, WorkerCallError, WorkerDiedError, near_names
from gem_rg.items import Item, Recipe
from gem_workers import WorkerPool, shared_pool

__all__ = ["describe", "item", "make_recipe", "pool", "score", "solve", "task_names"]

START_SECONDS = 60.0
"""Deadline of what depends on the installation only, never on a config or an answer."""
CACHE_BYTES = 16 << 20
BATCH = 16
_BUILDS = 4
"""Slack for building the dataset anew in another worker, in times it took before."""

Key = tuple[Recipe, int, int]
"""What an item depends on: the recipe, the dataset's seed, the item's number."""


def pool() -> WorkerPool:
    """Return the workers that run reasoning_gym; they start with the first call."""
    return shared_pool(preload=("gem_rg.worker",), memory_mib=2048)


def task_names() -> list[str]:
    """Return the names of the tasks that the installed reasoning-gym has."""
    names: list[str] = pool().call("gem_rg.worker:names", deadline=START_SECONDS)
    return names


def describe(name: str) -> dict[str, Any]:
    """Return what can be configured of a task.

    Returns:
        ``config``: the fields of the task's config, with their defaults. ``curriculum``: its
        attributes, each with the values of its levels, from level 0 on; empty if it has none.

    Raises:
        ConfigError: There is no such task.
    """
    if name not in (names := task_names()):
        raise ConfigError(f"reasoning-gym has no task {name!r}.{near_names(name, names)}")
    described: dict[str, Any] = pool().call("gem_rg.worker:describe", name, deadline=START_SECONDS)
    return described


def make_recipe(
    name: str,
    *,
    size: int = 1,
    config: Mapping[str, Any] | None = None,
    level: int | Mapping[str, int] | None = None,
    time_limit: float = START_SECONDS,
) -> Recipe:
    """Return a recipe that makes a dataset; a worker has tried it.

    Args:
        name: The task.
        size: Number of items.
        config: Values for fields of the task's config.
        level: Level of the task's curriculum, or levels of its attributes by name.
        time_limit: Seconds that making the dataset may take.

    Raises:
        ConfigError: It cannot be made; near names of what does not exist are suggested.
    """
    if type(size) is not int or size < 1:
        raise ConfigError(f"size must be a whole number of at least 1; got {size!r}.")
    recipe = Recipe(name=name, size=size, config=_as_json(config or {}), level=_as_json(level))
    if problem := _problem(recipe, time_limit):
        raise ConfigError(problem)
    return recipe


@functools.lru_cache(maxsize=1024)
def _problem(recipe: Recipe, time_limit: float) -> str:
    try:
        problem: str = pool().call("gem_rg.worker:check", recipe, deadline=time_limit)
    except (DeadlineError, WorkerCallError, WorkerDiedError) as error:
        return f"rg:{recipe.name} cannot be made like this: {error}"
    return problem


def _as_json(value: Any) -> str:
    def plain(odd: Any) -> Any:
        if isinstance(odd, Mapping):
            return dict(odd)
        if isinstance(odd, date | time):
            return odd.isoformat()
        if isinstance(odd, Enum):
            return odd.value
        raise ConfigError(f"A value in config must be plain, as in YAML; got {odd!r}.")

    return json.dumps(value, sort_keys=True, default=plain)


class _Cache:
    """The items used last, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._items: OrderedDict[Key, Item] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes_left = most_bytes

    def get(self, key: Key) -> Item | None:
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: Key, item: Item) -> None:
        with self._lock:
            if key not in self._items:
                self._items[key] = item
                self._bytes_left -= _size(item)
            while self._bytes_left < 0 and self._items:
                self._bytes_left += _size(self._items.popitem(last=False)[1])


def _size(item: Item) -> int:
    return len(item.question) + len(item.entry) + 500


_cache = _Cache(CACHE_BYTES)
_locks = [threading.Lock() for _ in range(64)]


def item(recipe: Recipe, seed: int, number: int, time_limit: float, *, count: int = BATCH) -> Item:
    """Return an item, from what the process has or from a worker.

    Args:
        recipe: What makes the dataset.
        seed: The dataset's seed.
        number: The item's, in ``[0, size)``.
        time_limit: Seconds that making it may take.
        count: Items to make at once, if they are quick, as the next ones will be asked for.

    Raises:
        DeadlineError: Making it takes longer.
        WorkerDiedError: Making it crashed the worker, or took too much memory.
        WorkerCallError: reasoning_gym raised.
    """
    key = (recipe, seed, number)
    with _locks[hash(key) % len(_locks)]:  # who wants the same item waits instead of making it
        found = _cache.get(key)
        if found is None:
            items = _made(recipe, seed, number, count, time_limit)
            for later, one in enumerate(items):
                _cache.put((recipe, seed, number + later), one)
            found = items[0]
    return found


def _made(recipe: Recipe, seed: int, number: int, count: int, time_limit: float) -> list[Item]:
    target = "gem_rg.worker:make_items"
    what = f"rg:{recipe.name}: item {number} of the dataset with seed {seed}"
    try:
        try:
            items: list[Item] = pool().call(
                target, recipe, seed, number, count, deadline=time_limit
            )
        except DeadlineError:  # it may have been made in no time, and one after it was slow
            again = min(time_limit, max(1.0, time_limit / 4))
            items = pool().call(target, recipe, seed, number, 1, deadline=again)
    except DeadlineError as error:
        raise DeadlineError(
            f"{what} was not made within {time_limit:g} s. Raise time_limit, or make the task "
            f"easier by its config or level; reset() goes on with the next item."
        ) from error
    except (WorkerCallError, WorkerDiedError) as error:
        raise type(error)(f"{what} could not be made: {error}") from error
    return items


def score(recipe: Recipe, seed: int, item: Item, answer: str, limit: float) -> tuple[float, str]:
    """Return the score of an answer, in [0, 1], and what kept it from being scored, if anything.

    Args:
        recipe: What makes the dataset.
        seed: The dataset's seed.
        item: The item.
        answer: The answer, without what marks it as such.
        limit: Seconds that scoring may take, when the worker has the dataset at hand.
    """
    deadline = limit + _BUILDS * item.build_seconds
    arguments = ("gem_rg.worker:score", recipe, seed, item.entry, answer)
    try:
        scored: tuple[float, str] = pool().call(*arguments, deadline=deadline)
    except DeadlineError:
        return 0.0, f"not scored within {limit:g} s"
    except (WorkerCallError, WorkerDiedError) as error:
        return 0.0, str(error)
    return scored


def solve(recipe: Recipe, seed: int, item: Item, time_limit: float) -> str | None:
    """Return the best answer to the item that is known, or None."""
    if item.gold is not None:
        return item.gold
    arguments = ("gem_rg.worker:solve", recipe, seed, item.task, item.entry)
    solution: str | None = pool().call(*arguments, deadline=time_limit)
    return solution
