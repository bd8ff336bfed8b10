"""What is compared: the table of groups and cases, with the targets that gem-core sets itself.

A new case is one entry in a group below, in ``task_cases`` (tasks from datasets), ``code_cases``
(running code), ``mcp_cases`` (MCP servers) or ``search_cases`` (search); a new measurement is a
file in ``measures`` besides.
"""

from collections.abc import Mapping, Sequence

from code_cases import code_groups
from mcp_cases import mcp_groups
from schema import Case, Figure, Group, Trend
from search_cases import search_groups
from task_cases import task_groups

__all__ = ["groups"]

_GUESS_EASY = "game:GuessTheNumber-v0-easy"
_GUESS_HARD = "game:GuessTheNumber-v0-hard"

_RESET_TARGETS = {
    "game:Sokoban-v0-hard": 1000,
    "game:Sokoban-v0-random": 1000,
    "game:Sudoku-v0-hard": 10,
    "game:WordSearch-v0-hard": 10,
}
_PEER_RESET_SECONDS = {"game:Sokoban-v0-hard": 60.0, "game:Sokoban-v0-random": 60.0}
"""Where gem-llm's resets take from milliseconds to many seconds: a short look misses the slow ones,
in which most of the time goes by."""


def groups(ids: Sequence[str], *, quick: bool) -> list[Group]:
    """Return all groups: of the games that both sides have, of tasks, code, MCP, search."""
    return [
        _startup(),
        _vector(seconds=0.2 if quick else 0.5),
        _straggler(seconds=1.0 if quick else 3.0),
        _history(seconds=0.2 if quick else 0.5),
        _games(
            ids,
            seconds=0.1 if quick else 0.3,
            peer_reset_seconds={} if quick else _PEER_RESET_SECONDS,
        ),
        _reproducibility(ids),
        *task_groups(quick=quick),
        *code_groups(quick=quick),
        *mcp_groups(quick=quick),
        *search_groups(quick=quick),
    ]


def _startup() -> Group:
    return Group(
        name="startup",
        title="Start-up",
        about=f"A fresh process imports the library, makes {_GUESS_EASY} and resets it.",
        measure="startup",
        figures=[
            Figure(
                name="import_and_make_s",
                title="import and make, s",
                lower_is_better=True,
                target=10,
            ),
            Figure(name="peak_rss_mib", title="peak RSS, MiB", lower_is_better=True, target=5),
            Figure(name="modules", title="modules imported", lower_is_better=True),
        ],
        cases=[Case(title="one game", arguments={"env_id": _GUESS_EASY})],
    )


def _vector(*, seconds: float) -> Group:
    def case(num_envs: int, ours: str, peer: str, **targets: float) -> Case:
        return Case(
            title=f"{num_envs} env{'s' * (num_envs > 1)}, {ours} / {peer}",
            arguments={"env_id": _GUESS_HARD, "num_envs": num_envs, "seconds": seconds},
            ours={"executor": ours},
            peer={"executor": peer},
            targets=targets,
        )

    return Group(
        name="vector",
        title="Vectors",
        about=f"{_GUESS_HARD}, random guesses within the range, automatic resets included. "
        "The title of a case names gem-core's executor, then gem-llm's.",
        measure="vector",
        figures=[Figure(name="steps_per_s", title="env steps/s")],
        cases=[
            case(1, "serial", "sync"),
            case(8, "serial", "sync"),
            case(64, "serial", "sync", steps_per_s=2),
            case(256, "serial", "sync"),
            case(64, "threads", "async"),
            case(256, "threads", "async"),
            case(64, "processes", "async"),
            case(256, "processes", "async"),
        ],
        trends=[
            Trend(
                title="256 envs against 64, serial / sync (5 % left to noise)",
                figure="steps_per_s",
                of="256 envs, serial / sync",
                against="64 envs, serial / sync",
                at_least=0.95,
            ),
            Trend(
                title="256 envs against 64, threads / async",
                figure="steps_per_s",
                of="256 envs, threads / async",
                against="64 envs, threads / async",
            ),
        ],
    )


def _straggler(*, seconds: float) -> Group:
    def case(title: str, delay: float) -> Case:
        arguments = {"env_id": _GUESS_HARD, "num_envs": 64, "delay": delay, "wait_for": 16}
        return Case(title=title, arguments={**arguments, "seconds": seconds})

    return Group(
        name="straggler",
        title="A straggler",
        about="64 environments on threads, one of which sleeps 0.2 s each step. gem-core goes on "
        "with the 16 that are ready first (send and recv); gem-llm has one step for all.",
        measure="straggler",
        figures=[Figure(name="steps_per_s", title="env steps/s")],
        cases=[case("no straggler", 0.0), case("one straggler", 0.2)],
        trends=[
            Trend(
                title="throughput that is left with the straggler",
                figure="steps_per_s",
                of="one straggler",
                against="no straggler",
                at_least=0.95,
            )
        ],
    )


def _history(*, seconds: float) -> Group:
    return Group(
        name="history",
        title="Text history",
        about="The wrapper that shows the episode so far, round an environment that does nothing. "
        "What adding one line to such a text costs in Python itself is taken off for the last "
        "figure and the trend.",
        measure="history",
        figures=[
            Figure(name="turn_us", title="a turn, µs", lower_is_better=True),
            Figure(name="join_us", title="reference: joining the lines, µs", reference=True),
            Figure(name="append_us", title="reference: adding one line, µs", reference=True),
            Figure(
                name="beyond_text_us",
                title="a turn beyond adding one line, µs",
                lower_is_better=True,
            ),
        ],
        cases=[
            Case(title=f"{turns:,} turns", arguments={"turns": turns, "seconds": seconds})
            for turns in (16, 128, 1024)
        ],
        trends=[
            Trend(
                title="1,024 turns against 16, beyond adding one line",
                figure="beyond_text_us",
                of="1,024 turns",
                against="16 turns",
                at_most=2,
            )
        ],
    )


def _games(ids: Sequence[str], *, seconds: float, peer_reset_seconds: Mapping[str, float]) -> Group:
    def case(env_id: str) -> Case:
        longer = peer_reset_seconds.get(env_id)
        return Case(
            title=env_id,
            arguments={"env_id": env_id, "seconds": seconds},
            peer={"reset_seconds": longer} if longer else {},
            targets={"resets_per_s": _RESET_TARGETS[env_id]} if env_id in _RESET_TARGETS else {},
        )

    return Group(
        name="games",
        title="Games",
        about="One environment, the same well-formed random actions on both sides. Steps/s count "
        "the resets at episodes' ends as time; bare steps/s leave it out. Resets of gem-llm that "
        "take seconds are measured for a minute; their percentiles still come from few of them.",
        measure="game",
        figures=[
            Figure(
                name="steps_per_s",
                title="steps/s, resets included",
                target=0.9,
                mean_target=1.5,
            ),
            Figure(
                name="bare_steps_per_s",
                title="bare steps/s, resets left out",
                target=0.9,
                mean_target=1.5,
            ),
            Figure(name="resets_per_s", title="resets/s"),
            Figure(name="reset_p50_ms", title="reset p50, ms", lower_is_better=True),
            Figure(name="reset_p99_ms", title="reset p99, ms", lower_is_better=True),
        ],
        cases=[case(env_id) for env_id in ids],
    )


def _reproducibility(ids: Sequence[str]) -> Group:
    return Group(
        name="reproducibility",
        title="Reproducibility",
        about="How many of 8 environments of a vector on threads show the same for a seed and "
        "60 actions as the environment does alone: until the episode ends, and on across the "
        "automatic resets.",
        measure="reproducibility",
        figures=[
            Figure(name="first_episode", title="same first episode, of 8", own_target=8),
            Figure(name="across_resets", title="same across resets, of 8", own_target=8),
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
    )
