"""The episodes of several runs as one table, with queries for pages, episodes and comparisons.

A *source* is a run that the viewer was given; the evaluations of a training run belong to its
source. A *series* is an agent of a source, in evaluations or outside. It has a colour in the plots
and can be compared with others.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_eval.view.index import INDEX_COLUMNS, RunIndex
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.tables import connect, literal_path
from gem_rollout.records.runs import TRAJECTORIES, Run
from gem_rollout.records.step_metrics import METRICS_FILE

__all__ = ["Store", "is_run"]

Row = dict[str, Any]
Result = TypeVar("Result")

_HIDDEN = ("text", "line_start", "line_bytes", "question")
_SHOWN = ", ".join(f'"{name}"' for name in INDEX_COLUMNS if name not in _HIDDEN)
_PLACE = "id, run, series, source, step, evaluation"
_NEIGHBOURS = ("previous", "next", "previous_failed", "next_failed", "place", "total")
_NEIGHBOUR_ROWS = """
WITH places AS MATERIALIZED (
  SELECT id, row_number() OVER (ORDER BY {order}) AS place, outcome IN ('failed', 'error') AS failed
  FROM episodes WHERE {where}
), here AS (SELECT place AS own FROM places WHERE id = ?)
SELECT min(id) FILTER (place = own - 1) AS previous, min(id) FILTER (place = own + 1) AS next,
       arg_max(id, place) FILTER (failed AND place < own) AS previous_failed,
       arg_min(id, place) FILTER (failed AND place > own) AS next_failed,
       own AS place, count(*) AS total
FROM places, here GROUP BY own
"""
_TASKS = """
WITH side AS (
  SELECT env_id, "group", series, count(*) AS n, avg("return") AS mean,
         avg(success::INT) AS success, avg(turns) AS turns,
         min_by(run || '-' || number, sample) AS id
  FROM episodes WHERE series IN (?, ?) AND (? = '' OR env_id = ?) GROUP BY ALL
)
SELECT a.env_id, a."group", a.n AS n_a, b.n AS n_b, a.mean AS return_a, b.mean AS return_b,
       a.success AS success_a, b.success AS success_b, a.turns AS turns_a, b.turns AS turns_b,
       a.id AS id_a, b.id AS id_b, b.mean - a.mean AS difference
FROM side a JOIN side b USING (env_id, "group") WHERE a.series = ? AND b.series = ?
"""


class Store:
    """The episodes of one or several runs. It is thread-safe.

    Args:
        paths: Run folders, or files of trajectories. A training run need not have episodes.

    Raises:
        ConfigError: There is no run at a path.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.sources = [_source(path) for path in paths]
        self.labels = _distinct([run.name for run in self.sources])
        self.runs: dict[int, RunIndex] = {}
        """The runs by number; those of a source and its evaluations stay the same as it grows."""
        self._find_runs()
        self.metrics = self._metrics_state()
        """The sources that have metrics, each with what changes with the file of its metrics."""
        self.series: list[Row] = []
        self._database = connect()
        self._lifetime = Lifetime(self, _close, self._database, self.runs, what="store of runs")
        self._lock = Lock()
        self._lending = Lock()
        types = ", ".join(f'"{name}" {kind}' for name, kind in INDEX_COLUMNS.items())
        self._database.execute(
            "CREATE TABLE series (series INT, source INT, evaluation BOOLEAN, agent VARCHAR)"
        )
        self._database.execute(
            f"CREATE TABLE no_episodes "
            f"(run INT, source INT, evaluation BOOLEAN, step BIGINT, {types})"
        )
        self._define_episodes()

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> bool:
        """Index the episodes that the runs have added; return whether they or metrics changed.

        Args:
            progress: Called with the number of bytes read and the size of the file, for each run.

        Raises:
            ConfigError: A line is not a trajectory.
        """
        with self._lock:
            self._lifetime.check()
            self._find_runs()
            changed = [index.refresh(progress) for index in self.runs.values()]
            if any(changed):
                self._define_episodes()
            before, self.metrics = self.metrics, self._metrics_state()
        return any(changed) or before != self.metrics

    @property
    def state(self) -> str:
        """A text that is another one when metrics have changed; empty without any."""
        return ", ".join("-".join(map(str, one)) for one in self.metrics)

    @property
    def size(self) -> int:
        """The number of episodes."""
        return sum(index.episodes for index in self.runs.values())

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of an SQL query over ``episodes``, each as a dict."""

        def ask() -> list[Row]:
            with self._cursor() as cursor:
                found = cursor.execute(sql, list(parameters))
                names = [column[0] for column in found.description or ()]
                return [dict(zip(names, values, strict=True)) for values in found.fetchall()]

        return self._again_if_replaced(ask)

    def page(self, query: EpisodeQuery) -> Row:
        """Return the ``rows`` of a page, and ``total``, the number of episodes of all pages."""
        where, parameters = query.where()
        total = self.rows(f"SELECT count(*) AS n FROM episodes WHERE {where}", parameters)[0]["n"]
        rows = self.rows(
            f"SELECT {_PLACE}, {_SHOWN} FROM episodes WHERE {where} "
            f"ORDER BY {query.order()} LIMIT {query.limit} OFFSET {query.offset}",
            parameters,
        )
        return {"total": total, "rows": rows}

    def episode(self, episode_id: str) -> Row:
        """Return the ``episode`` as it is in the file, and its ``row`` in the table.

        Raises:
            ConfigError: There is no such episode.
        """
        run, _, number = episode_id.partition("-")
        found = []
        if run.isdecimal() and number.isdecimal() and len(run + number) < 18:
            found = self.rows(
                f"SELECT {_PLACE}, line_start, line_bytes, {_SHOWN} "
                "FROM episodes WHERE run = ? AND number = ?",
                [int(run), int(number)],
            )
        if not found:
            raise ConfigError(f"There is no episode {episode_id!r}.")
        row = found[0]
        episode = self.runs[row["run"]].read(row.pop("line_start"), row.pop("line_bytes"))
        return {"row": row, "episode": episode}

    def neighbours(self, episode_id: str, query: EpisodeQuery) -> Row:
        """Return the neighbours of an episode in a query's result.

        They are the ids ``previous`` and ``next``, the ids ``previous_failed`` and ``next_failed``
        of the nearest episodes that failed or ended with an error, ``place`` and ``total``. All
        are None if the episode is not in the result.
        """
        where, parameters = query.where()
        found = self.rows(
            _NEIGHBOUR_ROWS.format(order=query.order(), where=where), [*parameters, episode_id]
        )
        return found[0] if found else dict.fromkeys(_NEIGHBOURS)

    def tasks(self, a: int, b: int, *, env: str = "", offset: int = 0, limit: int = 50) -> Row:
        """Return the differences of two series by task, the largest difference first.

        A task is a start state: an environment and the number of the group. The ids are those of
        the first episode of each series.

        Args:
            a: Number of a series.
            b: Number of the other series.
            env: Id of an environment; empty for all.
            offset: The number of tasks to skip.
            limit: The largest number of tasks.
        """
        parameters = [a, b, env, env, a, b]
        total = self.rows(
            f"SELECT count(*) AS total, avg(return_a) AS return_a, avg(return_b) AS return_b, "
            "avg(success_a) AS success_a, avg(success_b) AS success_b, "
            "count(*) FILTER (difference < 0) AS a_better, "
            f"count(*) FILTER (difference > 0) AS b_better FROM ({_TASKS})",
            parameters,
        )[0]
        rows = self.rows(
            f'{_TASKS} ORDER BY abs(difference) DESC NULLS LAST, a.env_id, a."group" '
            f"LIMIT {int(limit)} OFFSET {int(offset)}",
            parameters,
        )
        return {**total, "rows": rows}

    def sample(self, most: int) -> Iterator[str]:
        """Yield the ids of about ``most`` episodes, of evenly spread tasks.

        All episodes of a chosen task are included, so that series can still be compared.
        """
        step = max(1.0, self.size / most)
        tasks = self.rows(
            "SELECT list(id ORDER BY series, sample, number) AS ids FROM episodes "
            'GROUP BY env_id, "group" ORDER BY env_id, "group"'
        )
        taken, passed = 0, 0
        for task in tasks:
            if taken < most and passed >= taken * step - 1e-9:
                yield from task["ids"][: most - taken]
                taken += len(task["ids"])
            passed += len(task["ids"])

    def close(self) -> None:
        """Close the database, and remove indexes in temporary folders; may be called twice.

        Questions to a closed store raise ``ClosedError``, in a fork of the process ``ForkError``.
        """
        self._lifetime.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection for one thread, made from the shared one, which is never busy."""
        self._lifetime.check()
        with self._lending:
            return self._database.cursor()

    def _again_if_replaced(self, ask: Callable[[], Result]) -> Result:
        """Ask again if another viewer of the run has replaced a part in the meantime."""
        try:
            return ask()
        except duckdb.IOException:
            self._lifetime.check()
            with self._lock:
                for index in self.runs.values():
                    index.refresh()
                self._define_episodes()
            return ask()

    def _define_episodes(self) -> None:
        """Define the SQL view ``episodes`` over the current parts."""
        selects = ["SELECT * FROM no_episodes"]
        for number, index in sorted(self.runs.items()):
            if index.parts:
                files = ", ".join(literal_path(path) for path in index.parts)
                selects.append(
                    f"SELECT {number} AS run, {index.source} AS source, "
                    f"{index.evaluated is not None} AS evaluation, "
                    f"{'training_step' if index.evaluated is None else index.evaluated} AS step, "
                    "* FROM "
                    f"read_parquet([{files}], hive_partitioning = false)"
                )
        union = " UNION ALL BY NAME ".join(selects)
        with self._cursor() as cursor:
            self._define(cursor, union)

    def _define(self, cursor: duckdb.DuckDBPyConnection, union: str) -> None:
        """Number the agents of each source in order of appearance, and define the SQL view."""
        found = cursor.execute(
            f"SELECT source, evaluation, agent FROM ({union}) GROUP BY ALL "
            "ORDER BY source, evaluation, min(number)"
        ).fetchall()
        known = {(row["source"], row["evaluation"], row["agent"]) for row in self.series}
        for key in found:
            if key not in known:
                row: Row = {"series": len(self.series)}
                row |= dict(zip(("source", "evaluation", "agent"), key, strict=True))
                cursor.execute("INSERT INTO series VALUES (?, ?, ?, ?)", list(row.values()))
                self.series.append(row)
        for one in self.series:
            one["label"] = self._series_label(one)
        cursor.execute(
            "CREATE OR REPLACE VIEW episodes AS "
            "SELECT e.run || '-' || e.number AS id, s.series, e.* "
            f"FROM ({union}) e JOIN series s USING (source, evaluation, agent)"
        )

    def _series_label(self, row: Row) -> str:
        agent, label = str(row["agent"]), self.labels[row["source"]]
        if len(self.sources) == 1:
            name = agent
        else:
            alike = len({other["agent"] for other in self.series}) == 1
            name = label if alike else f"{agent} · {label}"
        kinds = {one["evaluation"] for one in self.series if one["source"] == row["source"]}
        kind = "evaluation" if row["evaluation"] else "training"
        return f"{name} · {kind}" if len(kinds) > 1 else name

    def _find_runs(self) -> None:
        """Add the runs of the sources, and the evaluations that training runs have begun."""
        known = {(index.source, index.run.path) for index in self.runs.values()}
        for source, run in enumerate(self.sources):
            for path, evaluated in [(run.path, None), *_evaluations(run)]:
                if (source, path) not in known:
                    own = sum(index.source == source for index in self.runs.values())
                    number = source + own * len(self.sources)
                    self.runs[number] = RunIndex(Run(path), source, evaluated)

    def _metrics_state(self) -> list[tuple[int, int, int, int]]:
        """Return each source with metrics, and what changes with the file of its metrics."""
        found = []
        for source, run in enumerate(self.sources):
            with contextlib.suppress(OSError):
                stat = (run.path / METRICS_FILE).stat()
                found.append((source, stat.st_ino, stat.st_size, stat.st_mtime_ns))
        return found


def is_run(folder: Path) -> bool:
    """Return whether a folder has episodes, or metrics of training steps."""
    return any((folder / name).is_file() for name in (METRICS_FILE, TRAJECTORIES))


def _source(path: Path) -> Run:
    """Return the run at a path.

    Raises:
        ConfigError: There are neither episodes nor metrics of training steps.
    """
    if not path.is_dir():
        return Run.open(path)
    if not is_run(path):
        raise ConfigError(f"{path} is not a run: it has neither {TRAJECTORIES} nor {METRICS_FILE}.")
    return Run(path)


def _evaluations(run: Run) -> Iterator[tuple[Path, int]]:
    """Yield the folders of a training run's evaluations, and the steps after which they were."""
    for path in sorted((run.path / "eval").glob(f"*/{TRAJECTORIES}")):
        if path.parent.name.isdecimal():
            yield path.parent, int(path.parent.name)


def _close(database: duckdb.DuckDBPyConnection, runs: Mapping[int, RunIndex]) -> None:
    database.close()
    for index in runs.values():
        index.close()


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the names, with a number after repeated ones."""
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return labels
