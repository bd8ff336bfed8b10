"""The environments of the suite ``baselines``, and the agents that play them."""

from functools import cache

from gem_core.factory import EnvFactory
from gem_core.plugins import default_registry
from gem_rollout.answer_instruction import DEFAULT, KEY
from gem_rollout.commands import envs_by_name
from gem_rollout.commands.suites import SUITES, Suite

__all__ = ["AGENTS", "MISSING_FAMILIES", "SEEDS", "SUITE", "factories", "family_of", "suite"]

SUITE = "baselines"
SEEDS = range(5)
AGENTS = {
    "silent": "answers with empty text: the null agent",
    "random": "plays the environment's random actions",
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
