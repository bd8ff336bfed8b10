"""The best constant answer: the floor that a model has to exceed before it has learned anything.

An agent says the same text in every turn of every episode. The text is chosen in three steps, none
of which sees a task that is scored:

1. The oracle and the random agent play other tasks, ``EPISODES`` of them. The ``CANDIDATES`` most
   frequent actions of each are the candidates.
2. Each candidate is played in as many of these tasks.
3. The one with the highest success is taken; among equal ones that with the highest return, then
   the one that comes first.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from learning.tasks import HELD_OUT

from baselines.envs import family_of, other_tasks, scored_tasks
from baselines.scripted import collected, measured
from baselines.tiny import PLAN
from gem_core import make_agent
from gem_core.agent import Agent
from gem_core.factory import EnvFactory

__all__ = ["CANDIDATES", "EPISODES", "best_constant", "constants", "play_constant"]

CANDIDATES = 5
"""Candidates from the actions of each agent."""
EPISODES = {"questions": 200, "others": 20}
"""Episodes of each agent and of each candidate, by whether an episode has one turn."""
_QUESTIONS = {"code", "logic", "math", "qa", "rg"}
_SEED = 10**6
"""Not a seed of the suite."""


def play_constant(env: str, text: str, seed: int) -> dict[str, Any]:
    """Say the same in the scored tasks of a seed, and return the figures of ``measured``."""
    made = measured(scored_tasks(env), _always(text), seed)
    return {"env": env, "agent": "constant", "seed": seed, **made}


def best_constant(env: str, episodes: int | None = None) -> dict[str, Any]:
    """Choose the constant answer of an environment on tasks that are not scored.

    Args:
        env: Name of the environment in the suite.
        episodes: Episodes of each agent and candidate; None for those of the rule.

    Returns:
        ``env``, the ``text``, the number of ``candidates``, ``chosen_on`` with its figures in the
        tasks that it was chosen on, and ``held_out`` with those in the tasks that a trained model
        plays; None where none is trained.
    """
    kind = "questions" if family_of(env) in _QUESTIONS else "others"
    wanted = EPISODES[kind] if episodes is None else episodes
    scored = constants(other_tasks(env), wanted)
    text = next(iter(scored))
    return {
        "env": env,
        "text": text,
        "candidates": len(scored),
        "chosen_on": scored[text],
        "held_out": _of_models(env, text) if env in PLAN.families else None,
    }


def constants(tasks: EnvFactory, episodes: int) -> dict[str, dict[str, Any]]:
    """Return the candidates with their figures of ``measured``, the best one first.

    Args:
        tasks: Makes the environment, with tasks that are not scored.
        episodes: Episodes of each agent and candidate.
    """
    candidates = dict.fromkeys(
        text
        for agent in ("oracle", "random")
        for text, _ in _actions(tasks, agent, episodes).most_common(CANDIDATES)
    )
    scored = {text: measured(tasks, _always(text), _SEED, episodes) for text in candidates}
    return dict(sorted(scored.items(), key=lambda one: _rank(one[1]), reverse=True))


def _of_models(env: str, text: str) -> dict[str, Any]:
    return measured(scored_tasks(env), _always(text), HELD_OUT, PLAN.held_out)


def _always(text: str) -> Callable[[], Agent]:
    return partial(make_agent, "scripted", actions=[text])


def _actions(tasks: EnvFactory, agent: str, episodes: int) -> Counter[str]:
    played = collected(tasks, partial(make_agent, agent), _SEED, episodes)
    said = (turn.action for one in played for turn in one.turns)
    return Counter(one for one in said if isinstance(one, str))


def _rank(figures: dict[str, Any]) -> tuple[float, float]:
    return figures.get("success") or 0.0, figures.get("return", float("-inf"))
