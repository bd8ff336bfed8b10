"""Memory of math environments: of this process and its descendants."""

from pathlib import Path

from common.cpu import family

from compare.problems import make_problems
from compare.sides import load_side

__all__ = ["measure"]

_PARTS = ("math", "algebra")
_ROWS_OF_A_PART = 150
_ANSWERED = (*range(7), _ROWS_OF_A_PART)
"""Rows that each environment answers: one of each kind, and one that takes computer algebra."""
_FIELDS = {"Pss": "pss_mib", "Rss": "rss_mib"}


def measure(side: str, *, num_envs: int) -> dict[str, float]:
    """Make environments, let each grade a few answers, and read the memory (Linux only).

    Returns:
        ``pss_mib``, in which memory that processes share is counted once; ``rss_mib``, in which it
        is counted for each; ``processes``.
    """
    library = load_side(side)
    problems = [one for part in _PARTS for one in make_problems(part, count=_ROWS_OF_A_PART)]
    rows = library.rows([one.row for one in problems])
    envs = [library.make_task("math", rows) for _ in range(num_envs)]
    for env in envs:
        for row in _ANSWERED:
            env.reset(idx=row)
            env.step(rf"\boxed{{{problems[row].equivalent}}}")
    family_tree = family("self")
    figures = dict.fromkeys(_FIELDS.values(), 0.0)
    for process in family_tree:
        for name, mib in _memory(process).items():
            figures[name] += mib
    for env in envs:
        library.close_env(env)
    return {**figures, "processes": len(family_tree)}


def _memory(process: str) -> dict[str, float]:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    fields = dict(line.split(":") for line in lines)
    return {name: int(fields[field].split()[0]) / 1024 for field, name in _FIELDS.items()}
