"""The functions that run in the workers: making items of datasets, and scoring answers.

An item depends only on its recipe, the seed of the dataset and its number. Some tasks of
reasoning_gym use the global random generators, which are therefore seeded for each item.
"""

import dataclasses
import functools
import json
import math
import pickle
import random
import time
from collections.abc import Callable, Mapping
from datetime import date
from datetime import time as time_of_day
from enum import Enum
from typing import Any

import numpy as np
import reasoning_gym
from reasoning_gym.composite import DatasetSpec
from reasoning_gym.factory import CURRICULA, DATASETS

from gem_core.errors import ConfigError, near_names
from gem_rg.items import Item, Recipe
from gem_rg.patches import apply_patches
from gem_rg.solvers import SOLVERS

__all__ = ["check", "describe", "make_items", "names", "score", "solve"]

MOST_ITEMS = 16
"""The maximum number of items per call."""
BATCH_SECONDS = 0.002
"""The time in seconds after which a call makes no further item."""
_OWN_FIELDS = ("size", "seed")
"""The fields of every config that are options of the environment."""

apply_patches()


def names() -> list[str]:
    """Return the names of all tasks."""
    return sorted(DATASETS)


def describe(name: str) -> dict[str, Any]:
    """Return the fields of a task's config with their defaults, and its curriculum's levels."""
    curriculum = CURRICULA[name]() if name in CURRICULA else None
    attributes = curriculum.attributes if curriculum else {}
    return {
        "config": {name: _plain(value) for name, value in _defaults(name).items()},
        "curriculum": {key: _plain(list(value.levels)) for key, value in attributes.items()},
    }


def check(recipe: Recipe) -> str:
    """Return the error message of a recipe, or an empty text if it is valid."""
    try:
        _build(recipe, 0)
    except ConfigError as error:
        return str(error)
    return ""


def make_items(recipe: Recipe, seed: int, first: int, count: int) -> list[Item]:
    """Return items from number ``first``: at least one, and more as long as they are fast."""
    dataset, build_seconds = _dataset(recipe, seed)
    items: list[Item] = []
    begin = time.perf_counter()
    for number in range(first, min(first + min(count, MOST_ITEMS), recipe.size)):
        random.seed(f"{seed} {number}")
        np.random.seed((seed + number) % 2**32)  # noqa: NPY002 - some tasks use it
        entry = dataset[number]
        items.append(
            Item(
                question=entry.pop("question"),
                gold=entry["answer"],
                task=entry["metadata"].get("source_dataset", recipe.name),
                entry=pickle.dumps(entry, pickle.HIGHEST_PROTOCOL),
                build_seconds=build_seconds,
            )
        )
        if time.perf_counter() - begin > BATCH_SECONDS:
            break
    return items


def score(recipe: Recipe, seed: int, entry: bytes, answer: str) -> tuple[float, str]:
    """Return the score of an answer, in [0, 1], and the error message of the scorer, if any."""
    dataset, _ = _dataset(recipe, seed)
    try:
        value = float(dataset.score_answer(answer, pickle.loads(entry)))  # noqa: S301 - our own data
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - scorers raise any error on odd answers
        return 0.0, f"{type(error).__name__}: {str(error)[:200]}"
    if not math.isfinite(value):
        return 0.0, f"the score is {value}"
    return min(max(value, 0.0), 1.0), ""


def solve(recipe: Recipe, seed: int, task: str, entry: bytes) -> str | None:
    """Return the best answer to an item without gold; None if the task has no solver."""
    metadata = pickle.loads(entry)["metadata"]  # noqa: S301 - our own data
    best, highest = None, -1.0
    for answer in SOLVERS[task](metadata) if task in SOLVERS else ():
        value, _ = score(recipe, seed, entry, answer)
        if value > highest:
            best, highest = answer, value
        if value == 1.0:
            break
    return best


@functools.lru_cache(maxsize=64)
def _dataset(recipe: Recipe, seed: int) -> tuple[Any, float]:
    begin = time.perf_counter()
    dataset = _build(recipe, seed)
    return dataset, time.perf_counter() - begin


def _build(recipe: Recipe, seed: int) -> Any:
    """Build a dataset.

    Raises:
        ConfigError: The recipe is invalid.
    """
    level, values = json.loads(recipe.level), json.loads(recipe.config)
    if recipe.name == "composite":
        values["datasets"] = [_part(part, recipe) for part in _parts(values)]
    config = _config(recipe.name, level, values, size=recipe.size, seed=seed)
    return _configured(recipe.name, lambda: DATASETS[recipe.name][0](config))


def _config(name: str, level: Any, values: Mapping[str, Any], *, size: int, seed: int) -> Any:
    """Return the config of a task at a level of its curriculum, with some values replaced."""
    defaults = _defaults(name)
    for key in values:
        if key not in defaults:
            raise ConfigError(
                f"rg:{name} has no config {key!r}.{near_names(key, defaults)} "
                f"It has: {', '.join(defaults) or 'none'}."
            )
    own = {"size": size, "seed": seed}
    fitting = {key: _fitted(value, defaults[key]) for key, value in values.items()}
    if level is None:
        make = functools.partial(DATASETS[name][1], **own, **fitting)
    else:
        curriculum = _curriculum_at(name, level)
        make = functools.partial(_at_level, curriculum, own, fitting)
    config = _configured(name, make)
    if hasattr(config, "validate"):
        _configured(name, config.validate)
    return config


def _at_level(curriculum: Any, own: dict[str, Any], values: dict[str, Any]) -> Any:
    return dataclasses.replace(curriculum.generate_configuration(own), **values)


def _curriculum_at(name: str, level: Any) -> Any:
    if name not in CURRICULA:
        hint = " Give each of its datasets a level." if name == "composite" else ""
        raise ConfigError(f"rg:{name} has no curriculum, so level must be None.{hint}")
    curriculum = CURRICULA[name]()
    attributes = curriculum.attributes
    levels = level if isinstance(level, dict) else {}
    if unknown := [key for key in levels if key not in attributes]:
        raise ConfigError(
            f"The curriculum of rg:{name} has no attribute {unknown[0]!r}."
            f"{near_names(unknown[0], attributes)} It has: {', '.join(attributes)}."
        )
    if not isinstance(level, dict):
        highest = max(len(attribute.levels) for attribute in attributes.values()) - 1
        _check_level(f"level of rg:{name}", level, highest)
        curriculum.set_global_level(level)
    for key, value in levels.items():
        _check_level(f"level of {key} of rg:{name}", value, len(attributes[key].levels) - 1)
        curriculum.set_attr_level(key, value)
    return curriculum


def _check_level(what: str, level: Any, highest: int) -> None:
    if type(level) is not int or not 0 <= level <= highest:
        raise ConfigError(f"The {what} must be a whole number from 0 to {highest}; got {level!r}.")


def _parts(values: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = values.get("datasets")
    if not isinstance(parts, list) or not parts:
        raise ConfigError(
            f"rg:composite needs config datasets: a list of mappings with a name and, optionally, "
            f"a weight, a level and a config; got {parts!r}."
        )
    return parts


def _part(part: Any, recipe: Recipe) -> DatasetSpec:
    """Return a part of a composite for reasoning_gym, with its level resolved."""
    known = ("name", "weight", "level", "config")
    if not isinstance(part, dict) or "name" not in part or not set(part) <= set(known):
        raise ConfigError(
            f"A dataset of rg:composite must be a mapping with a name and, optionally, a weight, "
            f"a level and a config; got {part!r}."
        )
    name, weight, values = part["name"], part.get("weight", 1.0), part.get("config") or {}
    if name not in DATASETS or name == "composite":
        raise ConfigError(f"rg:composite cannot mix {name!r}.{near_names(str(name), DATASETS)}")
    if not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise ConfigError(f"The weight of {name!r} must be a positive number; got {weight!r}.")
    config = _config(name, part.get("level"), values, size=recipe.size, seed=0)
    fields = {key: value for key, value in vars(config).items() if key not in _OWN_FIELDS}
    return DatasetSpec(name=name, weight=weight, config=fields)


def _defaults(name: str) -> dict[str, Any]:
    """Return the fields of a task's config with their defaults, without ``_OWN_FIELDS``."""
    if name not in DATASETS:
        raise ConfigError(
            f"reasoning-gym {reasoning_gym.__version__} has no task {name!r}."
            f"{near_names(name, DATASETS)}"
        )
    fields = dataclasses.fields(DATASETS[name][1])
    return {field.name: _default(field) for field in fields if field.name not in _OWN_FIELDS}


def _default(field: Any) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _fitted(value: Any, default: Any) -> Any:
    """Return a JSON value converted to the type of a field's default."""
    if isinstance(default, tuple | list) and isinstance(value, list):
        example = default[0] if default else None
        return type(default)(_fitted(element, example) for element in value)
    if isinstance(value, str) and isinstance(default, Enum):
        return type(default)(value)
    if isinstance(value, str) and isinstance(default, date | time_of_day):
        return type(default).fromisoformat(value)
    if dataclasses.is_dataclass(default) and isinstance(value, dict):
        return dataclasses.replace(default, **value)  # type: ignore[type-var]
    return value


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent."""
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(vars(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(element) for key, element in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(element) for element in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _configured(name: str, make: Callable[[], Any]) -> Any:
    """Return the result of ``make``, with any error as a ``ConfigError`` of the task."""
    try:
        return make()
    except MemoryError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ConfigError(f"rg:{name} cannot be built with these options: {reason}.") from error
