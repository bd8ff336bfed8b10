"""The environments of the suite ``baselines``, and the agents that play them."""

from dataclasses import replace
from functools import cache
from typing import Any

from gem_core.factory import EnvFactory
from gem_core.plugins import default_registry
from gem_rollout.answer_instruction import DEFAULT, KEY
from gem_rollout.commands import envs_by_name
from gem_rollout.commands.suites import SUITES, Suite

__all__ = [
    "AGENTS",
    "MISSING_FAMILIES",
    "SEEDS",
    "SUITE",
    "factories",
    "family_of",
    "other_tasks",
    "scored_tasks",
    "suite",
]

SUITE = "baselines"
SEEDS = range(5)
AGENTS = {
    "silent": "answers with empty text: the null agent",
    "random": "plays the environment's random actions",
    "constant": "always says the same: the best constant answer, chosen on other tasks",
    "oracle": "plays with the best known agent of the environment",
}
"""The agents without a model, by id, with what they do."""
MISSING_FAMILIES = {
    "eval": "its questions are downloaded",
    "tools": "it has no tasks of its own: it plays a folder of yours",
}
"""The families that the suite lacks, with the reason."""


@cache
def suite() -> Suite:
    """Return the suite."""
    made: Suite = default_registry().find(SUITES, SUITE).make()
    return made


@cache
def factories() -> dict[str, EnvFactory]:
    """Return a factory for each environment of the suite by name, as ``eval`` makes them."""
    return envs_by_name({"envs": list(suite().envs), KEY: DEFAULT})


def family_of(env: str) -> str:
    """Return the family of an environment, such as ``game``."""
    return env.partition(":")[0]


_ROWS = ("code:Sample", "logic:Sample", "math:Sample", "qa:Sample")
_OTHER: dict[str, dict[str, Any]] = {
    "rg": {"dataset_seed": 10**6, "size": 10**5},
    "tau": {"split": "train"},
    "webshop": {"split": "test"},
}
"""The parameters of families that play other tasks with them. (A seed of ``rg:`` shares items with
those that follow it, so this one is far from the suite's.)"""


def other_tasks(env: str) -> EnvFactory:
    """Return a factory of an environment of the suite with other tasks than ``scored_tasks``.

    Datasets of fixed rows are divided. In all other environments, tasks follow from the seed.
    """
    return _with(env, {"shard": "0/3"} if env in _ROWS else _OTHER.get(family_of(env), {}))


def scored_tasks(env: str) -> EnvFactory:
    """Return a factory of an environment of the suite, without the rows that others learn from.

    It has a third of the rows, as in halves of ``logic:Sample`` the more frequent answer of one
    would be the rarer of the other.
    """
    return _with(env, {"shard": "1/3"} if env in _ROWS else {})


def _with(env: str, kwargs: dict[str, Any]) -> EnvFactory:
    factory = factories()[env]
    return replace(factory, spec=factory.spec.with_kwargs(**kwargs))
