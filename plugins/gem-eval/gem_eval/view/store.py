"""The episodes of several runs as one table, with queries for pages, episodes and comparisons.

A *series* is an agent of a run. It has a colour in the plots and can be compared with others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_eval.view.index import INDEX_COLUMNS, RunIndex
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.tables import connect, literal_path

__all__ = ["Store"]

Row = dict[str, Any]
Result = TypeVar("Result")

_HIDDEN = ("text", "line_start", "line_bytes")
_SHOWN = ", ".join(f'"{name}"' for name in INDEX_COLUMNS if name not in _HIDDEN)
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
        paths: Run folders, or files of trajectories.

    Raises:
        ConfigError: There is no run at a path.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.runs = [RunIndex(path) for path in paths]
        self.labels = _distinct([index.run.name for index in self.runs])
        self.series: list[Row] = []
        self._database = connect()
        self._lifetime = Lifetime(self, _close, self._database, self.runs, what="store of runs")
        self._lock = Lock()
        self._lending = Lock()
        types = ", ".join(f'"{name}" {kind}' for name, kind in INDEX_COLUMNS.items())
        self._database.execute("CREATE TABLE series (series INT, run INT, agent VARCHAR)")
        self._database.execute(f"CREATE TABLE no_episodes (run INT, {types})")
        self._define_episodes()

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> bool:
        """Index the episodes that the runs have added; return whether anything changed.

        Args:
            progress: Called with the number of bytes read and the size of the file, for each run.

        Raises:
            ConfigError: A line is not a trajectory.
        """
        with self._lock:
            self._lifetime.check()
            changed = [index.refresh(progress) for index in self.runs]
            if any(changed):
                self._define_episodes()
        return any(changed)

    @property
    def size(self) -> int:
        """The number of episodes."""
        return sum(index.episodes for index in self.runs)

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
            f"SELECT id, run, series, {_SHOWN} FROM episodes WHERE {where} "
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
                f"SELECT id, run, series, line_start, line_bytes, {_SHOWN} "
                "FROM episodes WHERE run = ? AND number = ?",
                [int(run), int(number)],
            )
        if not found:
            raise ConfigError(f"There is no episode {episode_id!r}.")
        row = found[0]
        episode = self.runs[row["run"]].read(row.pop("line_start"), row.pop("line_bytes"))
        return {"row": row, "episode": episode}

    def neighbours(self, episode_id: str, query: EpisodeQuery) -> Row:
        """Return the ids ``previous`` and ``next`` in a query's result, ``place`` and ``total``.

        All are None if the episode is not in the result.
        """
        where, parameters = query.where()
        found = self.rows(
            f"WITH places AS (SELECT id, lag(id) OVER w AS previous, lead(id) OVER w AS next, "
            "row_number() OVER w AS place, count(*) OVER () AS total "
            f"FROM episodes WHERE {where} WINDOW w AS (ORDER BY {query.order()})) "
            "SELECT previous, next, place, total FROM places WHERE id = ?",
            [*parameters, episode_id],
        )
        nothing = {"previous": None, "next": None, "place": None, "total": None}
        return found[0] if found else nothing

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
                for index in self.runs:
                    index.refresh()
                self._define_episodes()
            return ask()

    def _define_episodes(self) -> None:
        """Define the SQL view ``episodes`` over the current parts."""
        selects = ["SELECT * FROM no_episodes"]
        for number, index in enumerate(self.runs):
            if index.parts:
                files = ", ".join(literal_path(path) for path in index.parts)
                selects.append(
                    f"SELECT {number} AS run, * FROM "
                    f"read_parquet([{files}], hive_partitioning = false)"
                )
        union = " UNION ALL BY NAME ".join(selects)
        with self._cursor() as cursor:
            self._define(cursor, union)

    def _define(self, cursor: duckdb.DuckDBPyConnection, union: str) -> None:
        """Number the agents of each run in order of appearance, and define the SQL view."""
        found = cursor.execute(
            f"SELECT run, agent FROM ({union}) GROUP BY ALL ORDER BY run, min(number)"
        ).fetchall()
        known = {(row["run"], row["agent"]) for row in self.series}
        for run, agent in found:
            if (run, agent) not in known:
                row = {"series": len(self.series), "run": run, "agent": agent}
                cursor.execute("INSERT INTO series VALUES (?, ?, ?)", list(row.values()))
                self.series.append(row)
        for row in self.series:
            row["label"] = self._series_label(row)
        cursor.execute(
            "CREATE OR REPLACE VIEW episodes AS "
            "SELECT e.run || '-' || e.number AS id, s.series, e.* "
            f"FROM ({union}) e JOIN series s ON e.run = s.run AND e.agent = s.agent"
        )

    def _series_label(self, row: Row) -> str:
        agent = str(row["agent"])
        if len(self.runs) == 1:
            return agent
        agents = Counter(other["run"] for other in self.series)
        label = self.labels[row["run"]]
        return label if agents[row["run"]] == 1 and self._agents_alike() else f"{agent} · {label}"

    def _agents_alike(self) -> bool:
        return len({row["agent"] for row in self.series}) == 1


def _close(database: duckdb.DuckDBPyConnection, runs: Iterable[RunIndex]) -> None:
    database.close()
    for index in runs:
        index.close()


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the names, with a number after repeated ones."""
    seen: Counter[str] = Counter()
    labels = []
    for name in names:
        seen[name] += 1
        labels.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return labels
