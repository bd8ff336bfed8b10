"""What is compared on running code: the Python tool, and programs graded by tests.

gem-core always runs with full isolation; gem-llm without any, and, where that works, in bubblewrap,
which shows it no libraries but those of the bare interpreter.
"""

from schema import Case, Figure, Group

__all__ = ["code_groups"]

_CALLERS = (1, 8, 64)
_TOOL_TARGETS = {"bare": 4, "numpy": 4, "sympy": 30}
_GRADING_TARGET = 8
_MOST_P99 = 3


def code_groups(*, quick: bool) -> list[Group]:
    """Return the groups of code."""
    callers = (1, 4) if quick else _CALLERS
    return [_tool(callers, 1.0 if quick else 8.0), _grading(callers, 1.0 if quick else 10.0)]


def _figures(unit: str, title: str) -> list[Figure]:
    return [
        Figure(name=f"{unit}_per_s", title=title),
        Figure(name="cpu_ms", title="CPU ms each", lower_is_better=True),
        Figure(name="median_ms", title="median, ms", lower_is_better=True),
        Figure(name="p99_to_median", title="99th percentile / median", own_most=_MOST_P99),
        Figure(name="as_expected", title="share as expected", reference=True),
    ]


def _many(callers: int) -> str:
    return f"{callers} caller{'s' * (callers > 1)}"


def _tool(callers: tuple[int, ...], seconds: float) -> Group:
    return Group(
        name="python-tool",
        title="The Python tool",
        about="Programs that compute a sum and print it, with plain Python, numpy or sympy; each "
        "caller has a tool of its own. CPU time is that of all processes.",
        measure="programs",
        figures=_figures("runs", "runs/s"),
        cases=[
            Case(
                title=f"{kind}, {_many(number)}, against {peer}",
                arguments={"kind": kind, "callers": number, "seconds": seconds},
                ours={"sandbox": "warm"},
                peer={"sandbox": peer},
                targets={"runs_per_s": target} if peer == "none" else {},
            )
            for kind, target in _TOOL_TARGETS.items()
            for number in callers
            for peer in (("none", "bwrap") if kind == "bare" else ("none",))
        ],
    )


def _grading(callers: tuple[int, ...], seconds: float) -> Group:
    return Group(
        name="code-grading",
        title="Programs graded by 12 tests",
        about="A right program that adds the numbers of a line; each caller has an environment of "
        "its own. CPU time is that of all processes.",
        measure="judging",
        figures=_figures("programs", "graded programs/s"),
        cases=[
            Case(
                title=f"{_many(number)}, against {peer}",
                arguments={"callers": number, "seconds": seconds},
                ours={"sandbox": "warm"},
                peer={"sandbox": peer},
                targets={"programs_per_s": _GRADING_TARGET} if peer == "none" else {},
            )
            for number in callers
            for peer in ("none", "bwrap")
        ],
    )
