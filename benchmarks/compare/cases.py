"""The groups and cases that are compared.

A new case is one entry in a group below; a new measurement is also a file in ``measures``.
"""

from collections.abc import Sequence
from typing import Any

from compare.schema import Case, Figure, Group

__all__ = ["groups"]

_GUESS_EASY = "game:GuessTheNumber-v0-easy"
_GUESS_HARD = "game:GuessTheNumber-v0-hard"
_PEER_RESET_SECONDS = {"game:Sokoban-v0-hard": 60.0, "game:Sokoban-v0-random": 60.0}
"""Time for gem-llm's resets where they take from milliseconds to many seconds: a short look would
miss the slow ones, which take most of the time."""
_ANSWERS = ("same", "equivalent", "wrong")
_MOST_PEER_PROCESSES = 16
"""gem-llm starts a server for each call over stdio: 512 at the same time need 30 GB."""
_SEARCHES = {
    "stub": "a server that always gives the same answer",
    "server": "gem-core's retrieval server",
    "process": "in process",
}


def groups(ids: Sequence[str], *, quick: bool) -> list[Group]:
    """Return all groups.

    Args:
        ids: The games that both sides have.
        quick: Measure for a shorter time, and fewer cases.
    """
    many = 4 if quick else 64
    callers = (1, 4) if quick else (1, 8, 64)
    episodes = (1, 4) if quick else (1, 64, 512)
    return [
        Group(
            name="startup",
            title="Start-up",
            about=f"A fresh process imports the library, makes {_GUESS_EASY} and resets it.",
            measure="startup",
            figures=[
                Figure("import_and_make_s", "import and make, s", "lower"),
                Figure("peak_rss_mib", "peak RSS, MiB", "lower"),
                Figure("modules", "modules imported", "lower"),
            ],
            cases=[Case(title="one game", arguments={"env_id": _GUESS_EASY})],
        ),
        Group(
            name="vector",
            title="Vectors",
            about=f"{_GUESS_HARD}, random guesses within the range, automatic resets included. The "
            "title of a case names gem-core's executor, then gem-llm's.",
            measure="vector",
            figures=[Figure("steps_per_s", "env steps/s")],
            cases=[
                Case(
                    title=f"{_count(number, 'env')}, {ours} / {peer}",
                    arguments=_arguments(quick, 0.2, 0.5, env_id=_GUESS_HARD, num_envs=number),
                    ours={"executor": ours},
                    peer={"executor": peer},
                )
                for ours, peer, numbers in (
                    ("serial", "sync", (1, 8, 64, 256)),
                    ("threads", "async", (64, 256)),
                    ("processes", "async", (64, 256)),
                )
                for number in numbers
            ],
        ),
        Group(
            name="straggler",
            title="A straggler",
            about="64 environments on threads, one of which sleeps 0.2 s in each step. gem-core "
            "goes on with the 16 that are ready first (send and recv); gem-llm has one step for "
            "all.",
            measure="straggler",
            figures=[Figure("steps_per_s", "env steps/s")],
            cases=[
                Case(
                    title=title,
                    arguments=_arguments(
                        quick, 1.0, 3.0, env_id=_GUESS_HARD, num_envs=64, delay=delay, wait_for=16
                    ),
                )
                for title, delay in (("no straggler", 0.0), ("one straggler", 0.2))
            ],
        ),
        Group(
            name="history",
            title="Text history",
            about="The wrapper that shows the episode so far, around an environment that does "
            "nothing. The last figure leaves out what Python itself needs to add one line to such "
            "a text.",
            measure="history",
            figures=[
                Figure("turn_us", "a turn, µs", "lower"),
                Figure("join_us", "reference: joining the lines, µs", ""),
                Figure("append_us", "reference: adding one line, µs", ""),
                Figure("beyond_text_us", "a turn beyond adding one line, µs", "lower"),
            ],
            cases=[
                Case(title=f"{turns:,} turns", arguments=_arguments(quick, 0.2, 0.5, turns=turns))
                for turns in (16, 128, 1024)
            ],
        ),
        Group(
            name="games",
            title="Games",
            about="One environment, the same well-formed random actions on both sides. Steps/s "
            "include the time of resets at the ends of episodes; bare steps/s leave it out. Resets "
            "of gem-llm that take seconds are measured for a minute; their percentiles still come "
            "from few of them.",
            measure="game",
            figures=[
                Figure("steps_per_s", "steps/s, resets included"),
                Figure("bare_steps_per_s", "bare steps/s, resets left out"),
                Figure("resets_per_s", "resets/s"),
                Figure("reset_p50_ms", "reset p50, ms", "lower"),
                Figure("reset_p99_ms", "reset p99, ms", "lower"),
            ],
            cases=[
                Case(
                    title=env_id,
                    arguments=_arguments(quick, 0.1, 0.3, env_id=env_id),
                    peer={"reset_seconds": _PEER_RESET_SECONDS[env_id]}
                    if env_id in _PEER_RESET_SECONDS and not quick
                    else {},
                )
                for env_id in ids
            ],
        ),
        Group(
            name="reproducibility",
            title="Reproducibility",
            about="How many of 8 environments of a vector on threads show the same for a seed and "
            "60 actions as the environment does alone: until the episode ends, and across the "
            "automatic resets.",
            measure="reproducibility",
            figures=[
                Figure("first_episode", "same first episode, of 8", ""),
                Figure("across_resets", "same across resets, of 8", ""),
            ],
            cases=[
                Case(
                    title=env_id,
                    arguments={"env_id": env_id, "num_envs": 8, "turns": 60},
                    ours={"executor": "threads"},
                    peer={"executor": "async"},
                )
                for env_id in ids
            ],
            once=True,
        ),
        Group(
            name="math",
            title="Math answers",
            about="Answers of mixed kinds (integers, decimals, fractions, radicals, expressions, "
            "tuples, scientific notation) that are the gold text, another form of it, or wrong; "
            "and sums and integrals that take computer algebra to compare. One environment: the "
            "time of step alone. Many: a vector on threads, resets included. No environment sees "
            "a problem twice.",
            measure="answers",
            figures=_answer_figures(),
            cases=[
                Case(
                    title=f"{_count(number, 'env')}, {title}",
                    arguments=_arguments(
                        quick,
                        1.0,
                        8.0,
                        family="math",
                        kind=kind,
                        num_envs=number,
                        problems=problems,
                    ),
                )
                for title, kind, problems in (
                    *((kind, kind, "math") for kind in _ANSWERS),
                    ("equivalent by computer algebra", "equivalent", "algebra"),
                )
                for number in (1, many)
            ],
        ),
        Group(
            name="math-memory",
            title="Memory of math environments",
            about="The process and its children after each environment has graded an answer of "
            "each kind and one that takes computer algebra. PSS counts shared memory once; RSS "
            "counts it in each process.",
            measure="memory",
            figures=[
                Figure("pss_mib", "PSS, MiB", "lower"),
                Figure("rss_mib", "RSS, MiB", "lower"),
                Figure("processes", "processes", "lower"),
            ],
            cases=[
                Case(title=_count(number, "env"), arguments={"num_envs": number})
                for number in (1, many)
            ],
            once=True,
        ),
        Group(
            name="task-start",
            title="Making and resetting tasks",
            about="Environments over the same 300 rows in memory, after the libraries have been "
            "imported and one environment has been made.",
            measure="task_start",
            figures=[
                Figure("make_ms", "make one, ms", "lower"),
                Figure("make_many_ms", f"make {many}, ms", "lower"),
                Figure("resets_per_s", "resets/s"),
            ],
            cases=[
                Case(
                    title=family,
                    arguments=_arguments(quick, 0.5, 2.0, family=family, num_envs=many),
                )
                for family in ("math", "qa")
            ],
        ),
        Group(
            name="qa",
            title="Question answering",
            about="Answers that are the gold text, another spelling of it, or wrong; the time of "
            "step alone.",
            measure="answers",
            figures=_answer_figures(),
            cases=[
                Case(
                    title=f"1 env, {kind}",
                    arguments=_arguments(quick, 0.2, 1.0, family="qa", kind=kind, num_envs=1),
                )
                for kind in _ANSWERS
            ],
        ),
        Group(
            name="rg",
            title="ReasoningGym",
            about="rg:leg_counting made and reset: the first time in a fresh process, which "
            "imports the library, and again.",
            measure="again",
            figures=[
                Figure("first_s", "first make and reset, s", "lower"),
                Figure("again_ms", "make and reset again, ms", "lower"),
            ],
            cases=[Case(title="rg:leg_counting", arguments={"env_id": "rg:leg_counting"})],
        ),
        Group(
            name="python-tool",
            title="The Python tool",
            about="Programs that compute a sum and print it, with plain Python, numpy or sympy; "
            "each caller has its own tool. CPU time is that of all processes. gem-core always runs "
            "with full isolation; gem-llm without any or, where that works, in bubblewrap, with no "
            "libraries but those of the bare interpreter.",
            measure="programs",
            figures=_work_figures("runs", "runs/s"),
            cases=[
                Case(
                    title=f"{kind}, {_count(number, 'caller')}, against {peer}",
                    arguments=_arguments(quick, 1.0, 8.0, kind=kind, callers=number),
                    ours={"sandbox": "warm"},
                    peer={"sandbox": peer},
                )
                for kind in ("bare", "numpy", "sympy")
                for number in callers
                for peer in (("none", "bwrap") if kind == "bare" else ("none",))
            ],
        ),
        Group(
            name="code-grading",
            title="Programs graded by 12 tests",
            about="A correct program that adds the numbers of a line; each caller has its own "
            "environment. CPU time is that of all processes.",
            measure="judging",
            figures=_work_figures("programs", "graded programs/s"),
            cases=[
                Case(
                    title=f"{_count(number, 'caller')}, against {peer}",
                    arguments=_arguments(quick, 1.0, 10.0, callers=number),
                    ours={"sandbox": "warm"},
                    peer={"sandbox": peer},
                )
                for number in callers
                for peer in ("none", "bwrap")
            ],
        ),
        Group(
            name="mcp",
            title="Calls of MCP servers",
            about="A tool that adds two numbers, called by episodes at the same time, each with "
            "its own stack and thread. The server is the same program on both sides; over HTTP it "
            f"runs already. Over stdio gem-llm has at most {_MOST_PEER_PROCESSES} episodes, as it "
            "starts a server for each call.",
            measure="mcp_calls",
            figures=_call_figures("calls"),
            cases=[
                Case(
                    title=f"{transport}, {_count(number, 'episode')}",
                    arguments=_arguments(quick, 1.0, 10.0, transport=transport, episodes=number),
                    peer={"episodes": min(number, _MOST_PEER_PROCESSES)}
                    if transport == "stdio"
                    else {},
                )
                for transport in ("stdio", "http")
                for number in episodes
            ],
        ),
        Group(
            name="search",
            title="Searches",
            about="Queries that never repeat, from episodes at the same time, each with its own "
            "stack and thread. Servers run in their own process and speak the same protocol. Only "
            "gem-core has searches that need no other program: its server, and in process; both "
            "search the 350 passages that come with it.",
            measure="search_calls",
            figures=_call_figures("searches"),
            cases=[
                Case(
                    title=f"{title}, {_count(number, 'episode')}",
                    arguments=_arguments(quick, 1.0, 10.0, where=where, episodes=number),
                )
                for where, title in _SEARCHES.items()
                for number in episodes
            ],
        ),
    ]


def _arguments(quick: bool, short: float, full: float, **arguments: Any) -> dict[str, Any]:  # noqa: FBT001 - read at the call
    return {**arguments, "seconds": short if quick else full}


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}"


def _answer_figures() -> list[Figure]:
    return [
        Figure("answers_per_s", "graded answers/s"),
        Figure("as_expected", "share graded as expected", ""),
    ]


def _work_figures(unit: str, title: str) -> list[Figure]:
    return [
        Figure(f"{unit}_per_s", title),
        Figure("cpu_ms", "CPU ms each", "lower"),
        Figure("median_ms", "median, ms", "lower"),
        Figure("p99_to_median", "99th percentile / median", ""),
        Figure("as_expected", "share as expected", ""),
    ]


def _call_figures(what: str) -> list[Figure]:
    return [
        Figure("calls_per_s", f"{what}/s"),
        Figure("p99_ms", "99th percentile, ms", "lower"),
        Figure("failed", f"failed {what}", ""),
    ]
