"""Speed of grading answers to tasks, and whether the verdicts are the expected ones."""

import re
import time
from typing import Any

from compare.problems import make_problems
from compare.sides import load_side

__all__ = ["measure"]

_WARM_UP = 7
"""Number of steps before the clock starts: one for each kind of answer."""
_MOST_ROWS = 20_000
_BOXES = {"math": r"\boxed{{{}}}", "qa": "<answer>{}</answer>"}


class _Answerer:
    """Finds the action to every problem."""

    def __init__(self, family: str, kind: str, problems_of: str) -> None:
        problems = make_problems(problems_of, count=_MOST_ROWS)
        self.rows = [problem.row for problem in problems]
        self._actions = [_BOXES[family].format(getattr(problem, kind)) for problem in problems]

    def __call__(self, observation: str) -> str:
        number = re.search(r"Question (\d+)\?", observation)
        if number is None:
            raise ValueError(f"an observation without a question: {observation!r}")
        return self._actions[int(number[1])]


def measure(
    side: str, *, family: str, kind: str, num_envs: int, seconds: float, problems: str = ""
) -> dict[str, float]:
    """Answer for ``seconds``, or until all problems were seen.

    Args:
        side: The library.
        family: ``math`` or ``qa``.
        kind: The answer to give: ``same``, ``equivalent`` or ``wrong``.
        num_envs: 1 for an environment; more for a vector on threads.
        seconds: Time to answer.
        problems: Family of the problems, by default the environment's; see ``problems``.

    Returns:
        ``answers_per_s``, by the time spent in ``step``; ``as_expected``, the share of rewards that
        are right.
    """
    library, answer = load_side(side), _Answerer(family, kind, problems or family)
    if num_envs == 1:
        env = library.make_task(family, library.rows(answer.rows))
        rewards, spent = _one(env, answer, seconds)
    else:
        env = library.make_task_vec(family, library.rows(answer.rows), num_envs)
        rewards, spent = _many(env, answer, seconds, num_envs)
    library.close_env(env)
    right = rewards.count(float(kind != "wrong"))
    return {"answers_per_s": len(rewards) / spent, "as_expected": right / len(rewards)}


def _one(env: Any, answer: _Answerer, seconds: float) -> tuple[list[float], float]:
    """Return the rewards, and the seconds spent in ``step``."""
    clock, spent = time.perf_counter, 0.0
    rewards: list[float] = []
    for _ in range(_WARM_UP):
        env.step(answer(env.reset()[0]))
    while spent < seconds and len(rewards) < _MOST_ROWS - _WARM_UP:
        action = answer(env.reset()[0])
        began = clock()
        reward = env.step(action)[1]
        spent += clock() - began
        rewards.append(float(reward))
    return rewards, spent


def _many(vec: Any, answer: _Answerer, seconds: float, num_envs: int) -> tuple[list[float], float]:
    """Return the rewards, and the seconds spent in ``step`` and the resets that are part of it."""
    clock, spent = time.perf_counter, 0.0
    rewards: list[float] = []
    observations, _ = vec.reset(seed=0)
    for _ in range(_WARM_UP):
        observations = vec.step([answer(text) for text in observations])[0]
    while spent < seconds and len(rewards) < num_envs * (_MOST_ROWS - _WARM_UP):
        actions = [answer(text) for text in observations]
        began = clock()
        observations, batch, *_ = vec.step(actions)
        spent += clock() - began
        rewards += map(float, batch)
    return rewards, spent
