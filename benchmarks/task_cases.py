"""What is compared on tasks from datasets: answers graded, memory, construction, ReasoningGym.

Rows are made by ``problems`` and handed over in memory, the same ones on both sides.
"""

from collections.abc import Sequence
from typing import Any

from schema import Case, Figure, Group, Trend

__all__ = ["task_groups"]

_ANSWERS = {"same": 20, "equivalent": 4, "wrong": 10}
"""How the answer relates to the gold one, and the target of answers graded per second."""


def task_groups(*, quick: bool) -> list[Group]:
    """Return the groups of tasks."""
    many = 4 if quick else 64
    return [
        _math(many, seconds=1.0 if quick else 8.0),
        _math_memory(many, target=None if quick else 50),
        _task_start(many, seconds=0.5 if quick else 2.0),
        _qa(seconds=0.2 if quick else 1.0),
        _reasoning_gym(),
    ]


def _case(title: str, *, targets: dict[str, float] | None = None, **arguments: Any) -> Case:
    return Case(title=title, arguments=arguments, targets=targets or {})


def _envs(number: int) -> str:
    return f"{number} env{'s' * (number > 1)}"


def _math(many: int, *, seconds: float) -> Group:
    return Group(
        name="math",
        title="Math answers",
        about="Answers of mixed kinds (integers, decimals, fractions, radicals, expressions, "
        "tuples, scientific notation) that are the gold text, another form of it, or wrong; and, "
        "beside them, sums and integrals that take computer algebra to compare. One environment: "
        "the time of step alone. Many: a vector on threads, resets included. No problem comes "
        "twice to one environment.",
        measure="answers",
        figures=[
            Figure(name="answers_per_s", title="graded answers/s"),
            Figure(name="as_expected", title="share graded as expected", reference=True),
        ],
        cases=[
            _case(
                f"{_envs(num_envs)}, {kind}",
                targets={"answers_per_s": target},
                family="math",
                kind=kind,
                num_envs=num_envs,
                seconds=seconds,
            )
            for num_envs in (1, many)
            for kind, target in _ANSWERS.items()
        ]
        + [
            _case(
                f"{_envs(num_envs)}, equivalent by computer algebra",
                family="math",
                kind="equivalent",
                problems="algebra",
                num_envs=num_envs,
                seconds=seconds,
            )
            for num_envs in (1, many)
        ],
    )


def _math_memory(many: int, *, target: float | None) -> Group:
    return Group(
        name="math-memory",
        title="Memory of math environments",
        about="The process and its children after each environment has graded an answer of each "
        "kind, and one that takes computer algebra. Memory that processes share is counted once "
        "(PSS); RSS counts it in each.",
        measure="memory",
        figures=[
            Figure(name="pss_mib", title="PSS, MiB", lower_is_better=True),
            Figure(name="rss_mib", title="RSS, MiB", lower_is_better=True),
            Figure(name="processes", title="processes", lower_is_better=True),
        ],
        cases=[
            _case("1 env", num_envs=1),
            _case(_envs(many), targets={"pss_mib": target} if target else None, num_envs=many),
        ],
        trends=[
            Trend(
                title=f"{_envs(many)} against 1", figure="pss_mib", of=_envs(many), against="1 env"
            )
        ],
        once=True,
    )


def _task_start(many: int, *, seconds: float) -> Group:
    figures: Sequence[Figure] = [
        Figure(name="make_ms", title="make one, ms", lower_is_better=True),
        Figure(name="make_many_ms", title=f"make {many}, ms", lower_is_better=True),
        Figure(name="resets_per_s", title="resets/s"),
    ]
    return Group(
        name="task-start",
        title="Making and resetting tasks",
        about="Environments over the same 300 rows in memory; the libraries are imported and one "
        "environment was made before.",
        measure="task_start",
        figures=figures,
        cases=[
            _case(family, family=family, num_envs=many, seconds=seconds)
            for family in ("math", "qa")
        ],
    )


def _qa(*, seconds: float) -> Group:
    return Group(
        name="qa",
        title="Question answering",
        about="Answers that are the gold text, another spelling of it, or wrong; the time of step "
        "alone.",
        measure="answers",
        figures=[
            Figure(name="answers_per_s", title="graded answers/s"),
            Figure(name="as_expected", title="share graded as expected", reference=True),
        ],
        cases=[
            _case(f"1 env, {kind}", family="qa", kind=kind, num_envs=1, seconds=seconds)
            for kind in _ANSWERS
        ],
    )


def _reasoning_gym() -> Group:
    return Group(
        name="rg",
        title="ReasoningGym",
        about="rg:leg_counting made and reset: the first time in a fresh process, which imports "
        "the library, and again.",
        measure="again",
        figures=[
            Figure(name="first_s", title="first make and reset, s", lower_is_better=True),
            Figure(name="again_ms", title="make and reset again, ms", lower_is_better=True),
        ],
        cases=[_case("rg:leg_counting", env_id="rg:leg_counting")],
    )
