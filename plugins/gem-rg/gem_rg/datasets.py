"""Calls to the workers, and a cache of items that the environments of a process share."""

import functools
import json
from collections import OrderedDict
from collections.abc import Mapping
from datetime import date, time
from enum import Enum
from typing import Any

from gem_core.errors import ConfigError, DeadlineError, WorkerCallError, WorkerDiedError, near_names
from gem_core.lifetimes import Lock
from gem_rg.items import Item, Recipe
from gem_tasks.single_flight import SingleFlight
from gem_workers import WorkerPool, shared_pool

__all__ = ["describe", "item", "make_recipe", "pool", "score", "solve", "task_names"]

START_SECONDS = 60.0
"""The deadline in seconds of calls that depend on neither a config nor an answer."""
CACHE_BYTES = 16 << 20
BATCH = 16
"""The number of items that a call makes in advance."""
_BUILDS = 4
"""Extra time for scoring in a worker that must build the dataset, as a multiple of that time."""

Key = tuple[Recipe, int, int]
"""The identity of an item: the recipe, the seed of the dataset, and the number of the item."""


def pool() -> WorkerPool:
    """Return the pool of workers that run reasoning_gym; it starts with the first call."""
    return shared_pool(preload=("gem_rg.worker",), memory_mib=2048)


def task_names() -> list[str]:
    """Return the names of the tasks of the installed reasoning-gym."""
    names: list[str] = pool().call("gem_rg.worker:names", deadline=START_SECONDS)
    return names


def describe(name: str) -> dict[str, Any]:
    """Return the configurable fields of a task.

    Returns:
        ``config``: the fields of the task's config with their defaults. ``curriculum``: the
        attributes of its curriculum, each with the values of its levels from level 0; empty if
        there is no curriculum.

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
    """Return the recipe of a dataset, after a worker has built it once.

    Args:
        name: The task.
        size: The number of items.
        config: Values for fields of the task's config.
        level: The level of the task's curriculum, or levels of its attributes by name.
        time_limit: The time in seconds for building the dataset.

    Raises:
        ConfigError: The dataset cannot be built; the message suggests near names.
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
        return f"rg:{recipe.name} cannot be built with these options: {error}"
    return problem


def _as_json(value: Any) -> str:
    def plain(odd: Any) -> Any:
        if isinstance(odd, Mapping):
            return dict(odd)
        if isinstance(odd, date | time):
            return odd.isoformat()
        if isinstance(odd, Enum):
            return odd.value
        raise ConfigError(f"A value in config must be a plain value, as in YAML; got {odd!r}.")

    return json.dumps(value, sort_keys=True, default=plain)


class _Cache:
    """A cache of the most recently used items, limited in bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._items: OrderedDict[Key, Item] = OrderedDict()
        self._lock = Lock()
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
_making = SingleFlight()


def item(recipe: Recipe, seed: int, number: int, time_limit: float, *, count: int = BATCH) -> Item:
    """Return an item from the cache or from a worker.

    Args:
        recipe: The recipe of the dataset.
        seed: The seed of the dataset.
        number: The number of the item, in ``[0, size)``.
        time_limit: The time in seconds for making the item.
        count: The number of items to make in advance, as long as they are fast.

    Raises:
        DeadlineError: Making the item exceeded the time limit.
        WorkerDiedError: Making the item crashed the worker or used too much memory.
        WorkerCallError: reasoning_gym raised an error.
    """
    key = (recipe, seed, number)

    def make() -> Item:
        if (found := _cache.get(key)) is not None:
            return found
        items = _made(recipe, seed, number, count, time_limit)
        for later, one in enumerate(items):
            _cache.put((recipe, seed, number + later), one)
        return items[0]

    return _cache.get(key) or _making.get(key, make)


def _made(recipe: Recipe, seed: int, number: int, count: int, time_limit: float) -> list[Item]:
    target = "gem_rg.worker:make_items"
    what = f"rg:{recipe.name}: item {number} of the dataset with seed {seed}"
    try:
        try:
            items: list[Item] = pool().call(
                target, recipe, seed, number, count, deadline=time_limit
            )
        except DeadlineError:  # perhaps a later item of the batch was slow
            again = min(time_limit, max(1.0, time_limit / 4))
            items = pool().call(target, recipe, seed, number, 1, deadline=again)
    except DeadlineError as error:
        raise DeadlineError(
            f"{what} was not made within {time_limit:g} s. Increase time_limit, or make the task "
            f"easier with config or level; reset() continues with the next item."
        ) from error
    except (WorkerCallError, WorkerDiedError) as error:
        raise type(error)(f"{what} could not be made: {error}") from error
    return items


def score(recipe: Recipe, seed: int, item: Item, answer: str, limit: float) -> tuple[float, str]:
    """Return the score of an answer, in [0, 1], and an error message or an empty text.

    Args:
        recipe: The recipe of the dataset.
        seed: The seed of the dataset.
        item: The item.
        answer: The answer, without its box or tags.
        limit: The time in seconds for scoring, in a worker that has built the dataset.
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
    """Return the best known answer to an item, or None."""
    if item.gold is not None:
        return item.gold
    arguments = ("gem_rg.worker:solve", recipe, seed, item.task, item.entry)
    solution: str | None = pool().call(*arguments, deadline=time_limit)
    return solution
