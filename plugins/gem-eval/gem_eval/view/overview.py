"""The figures of the overview: by series and environment, distributions, and over time.

Nearly all of them are sums that SQL computes in one pass, so memory does not grow with the number
of episodes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gem_core.errors import ConfigError
from gem_eval.episodes import Ends, range_of_all, return_range_of
from gem_eval.likelihood import MeanLikelihood
from gem_eval.statistics import ends_around, t_quantile, wilson, z_quantile
from gem_eval.view.store import Store
from gem_rollout.records.runs import Run

__all__ = ["CONFIDENCE", "figures_by_step", "overview"]

Row = dict[str, Any]

CONFIDENCE = 0.95
_LISTED = 50_000
"""Up to this number of tasks the interval of a return is that of ``mean_estimate``."""
_LISTS = ("returns", "sizes")
_BINS = 24
_CURVE_POINTS = 60
_EPISODES_A_POINT = 25

# Episodes of one task (question or start state) are not independent: sums are taken over tasks
# first, and intervals come from the variation between tasks.
_FIGURES = """
WITH task AS (
  SELECT series, env_id, {split} coalesce(task_id, '#' || "group") AS task, count(*) AS n,
         count(success) AS scored,
         coalesce(sum(success::INT), 0) AS won, count("return") AS m,
         coalesce(sum("return"), 0) AS r,
         count("return") FILTER ("return" NOT IN (0, 1)) AS fractions,
         min("return") AS least, max("return") AS most,
         sum(turns) AS turns, sum(tool_calls) AS tool_calls,
         sum(tool_failures) AS tool_failures, sum(prompt_tokens) AS prompt_tokens,
         sum(completion_tokens) AS completion_tokens, sum(cost) AS cost,
         sum(seconds) AS seconds, count(error_type) AS errors, sum(truncated::INT) AS truncated
  FROM episodes WHERE {where} GROUP BY ALL
)
SELECT {keys}, count(*) AS tasks, count(*) FILTER (scored > 0) AS scored_tasks,
  count(*) FILTER (m > 0) AS return_tasks, sum(n) AS episodes,
  sum(scored) AS scored, sum(won) AS won, sum(won * won) AS won_won, sum(won * scored) AS won_n,
  sum(scored * scored) AS n_n, sum(m) AS m, sum(r) AS r, sum(r * r) AS r_r, sum(r * m) AS r_m,
  sum(m * m) AS m_m, sum(fractions) AS fractions, min(least) AS least, max(most) AS most,
  CASE WHEN return_tasks <= {listed} THEN list(r) FILTER (m > 0) END AS task_returns,
  CASE WHEN return_tasks <= {listed} THEN list(m) FILTER (m > 0) END AS task_sizes,
  list(DISTINCT env_id) AS env_ids, sum(turns) AS turns,
  sum(tool_calls) AS tool_calls,
  sum(tool_failures) AS tool_failures, sum(prompt_tokens) AS prompt_tokens,
  sum(completion_tokens) AS completion_tokens, sum(cost) AS cost, sum(seconds) AS seconds,
  sum(errors) AS errors, sum(truncated) AS truncated
FROM task GROUP BY ALL ORDER BY ALL
"""
_SUMMED = ("episodes", "tasks", "turns", "tool_calls", "tool_failures", "errors", "truncated")
_TOTALS = (*_SUMMED, "prompt_tokens", "completion_tokens", "cost", "seconds")
_KEYS = ("series", "env_id", "source", "step", "evaluation")
_OF_ENV = "? = '' OR env_id = ?"


def overview(store: Store, env: str = "") -> Row:
    """Return the figures of the overview.

    Args:
        store: The runs.
        env: Id of an environment; empty for all environments.
    """
    where = [env, env]
    every = _figures_by(store, "0 AS everything", where)
    return {
        "env": env,
        "runs": [
            {"label": label, "path": run.shown_path, "info": {} if env else _info(run)}
            for label, run in zip(store.labels, store.sources, strict=True)
        ],
        "series": store.series,
        "envs": store.rows(
            "SELECT env_id, count(*) AS episodes FROM episodes GROUP BY env_id ORDER BY env_id"
        ),
        "totals": every[0] if every else None,
        "by_series": _figures_by(store, "series", where),
        "by_env": _figures_by(store, "env_id, series", where),
        "errors": store.rows(
            "SELECT error_boundary AS boundary, error_type AS type, count(*) AS episodes, "
            "any_value(error_message) AS message FROM episodes "
            "WHERE outcome = 'error' AND (? = '' OR env_id = ?) GROUP BY ALL "
            "ORDER BY episodes DESC, boundary, type LIMIT 12",
            where,
        ),
        "returns": _histogram(store, '"return"', where),
        "turns": _histogram(store, "turns", where, whole=True),
        "curve": _curve(store, where),
        "times": store.rows(
            "SELECT series, avg(setup_seconds) AS setup, avg(queue_seconds) AS queue, "
            "avg(model_seconds) AS model, "
            "avg(greatest(agent_seconds - queue_seconds - model_seconds, 0)) AS agent, "
            "avg(env_seconds) AS env FROM episodes WHERE ? = '' OR env_id = ? "
            "GROUP BY series ORDER BY series",
            where,
        ),
    }


def _info(run: Run) -> Row:
    """Return what ``run.json`` says, or what is wrong with it."""
    try:
        return run.info()
    except (ConfigError, OSError) as error:
        return {"run.json": str(error)}


def figures_by_step(store: Store) -> list[Row]:
    """Return figures of the episodes of each training step, and of each evaluation.

    Their keys are ``source``, ``step`` and ``evaluation``.
    """
    keys = "source, step, evaluation"
    return _figures_of(store, split=f"{keys},", where="step IS NOT NULL", keys=keys)


def _figures_by(store: Store, keys: str, where: list[str]) -> list[Row]:
    return _figures_of(store, where, split="", where=_OF_ENV, keys=keys)


def _figures_of(store: Store, given: Sequence[Any] = (), **parts: str) -> list[Row]:
    """Return the figures of each row of sums, with 95 % intervals."""
    rows = [
        row
        for row in store.rows(_FIGURES.format(listed=_LISTED, **parts), list(given))
        if row["episodes"]
    ]
    ranges = _ranges(store, {name for row in rows for name in row["env_ids"]})
    return [
        {
            **{key: row[key] for key in _KEYS if key in row},
            **{key: row[key] for key in _TOTALS},
            "success": _success(row),
            "return": _mean_return(row, range_of_all(ranges[name] for name in row["env_ids"])),
        }
        for row in rows
    ]


def _ranges(store: Store, names: Iterable[str]) -> dict[str, Ends | None]:
    """Return the range of the returns of environments by their names, which need not be ids."""
    ids: dict[str, str] = {}
    for run in store.sources:
        parameters = _info(run).get("parameters")
        for name, one in (parameters if isinstance(parameters, Mapping) else {}).items():
            if isinstance(one, Mapping) and isinstance(one.get("id"), str):
                ids[name] = one["id"]
    return {name: return_range_of(ids.get(name, name)) for name in names}


def _success(sums: Mapping[str, Any]) -> Row | None:
    n, tasks = int(sums["scored"]), int(sums["scored_tasks"])
    if not n:
        return None
    rate = sums["won"] / n
    error = _standard_error(rate, n, tasks, sums["won_won"], sums["won_n"], sums["n_n"])
    return _proportion(rate, n, tasks, error)


def _proportion(rate: float, n: int, tasks: int, error: float | None) -> Row:
    """Return the same interval as ``proportion_estimate``, computed from sums over tasks.

    Args:
        rate: The mean of all values, in [0, 1].
        n: The number of values.
        tasks: The number of tasks.
        error: The standard error of the mean; None for one task.
    """
    if tasks == n or rate in (0, 1) or error is None:
        worth: float = tasks
    elif error == 0:
        worth = n
    else:
        few = z_quantile(CONFIDENCE) / t_quantile(CONFIDENCE, tasks - 1)
        worth = min(rate * (1 - rate) / error**2 * few**2, n)
    low, high = wilson(rate, worth, CONFIDENCE)
    return {"mean": rate, "low": low, "high": high}


def _mean_return(sums: Mapping[str, Any], ends: Ends | None) -> Row | None:
    """Return the same interval as ``mean_estimate``, computed from sums over tasks.

    With very many tasks it is that of Student's t, which then differs little.
    """
    n, tasks = int(sums["m"]), int(sums["return_tasks"])
    if not n:
        return None
    mean = sums["r"] / n
    error = _standard_error(mean, n, tasks, sums["r_r"], sums["r_m"], sums["m_m"])
    is_share = not sums["fractions"] and ends in {None, (0, 1)}
    if is_share and (error is not None or n == 1):
        return _proportion(mean, n, tasks, error)
    around = ends_around(sums["least"], sums["most"], ends)
    if error is None or around is None:
        return {"mean": mean, "low": None, "high": None}
    if sums["task_returns"] is None:
        half = t_quantile(CONFIDENCE, tasks - 1) * error
        low, high = max(mean - half, around[0]), min(mean + half, around[1])
    else:
        returns, sizes = (np.array(sums[f"task_{name}"], dtype=float) for name in _LISTS)
        low, high = MeanLikelihood(returns, sizes, around).interval(CONFIDENCE)
    return {"mean": mean, "low": low, "high": high}


def _standard_error(
    mean: float, n: int, tasks: int, squares: float, products: float, sizes: float
) -> float | None:
    """Return the standard error of a mean, clustered by task; None for one task.

    Args:
        mean: The mean of all values.
        n: The number of values.
        tasks: The number of tasks.
        squares: Sum over tasks of the square of the task's sum.
        products: Sum over tasks of the task's sum times its number of values.
        sizes: Sum over tasks of the square of its number of values.
    """
    if tasks < 2:
        return None
    residual = float(squares) - 2 * mean * float(products) + mean**2 * float(sizes)
    # A residual this small is a rounding error of 0.
    residual = residual if residual > 1e-12 * float(squares) else 0.0
    return math.sqrt(residual * tasks / (tasks - 1)) / n


def _histogram(store: Store, column: str, where: list[str], *, whole: bool = False) -> Row | None:
    """Return a histogram for each series, with bins of a round width.

    Bin i covers ``[start + i * step, start + (i + 1) * step)``.
    """
    low, high = store.rows(
        f"SELECT min({column}) AS low, max({column}) AS high FROM episodes "
        "WHERE ? = '' OR env_id = ?",
        where,
    )[0].values()
    if low is None:
        return None
    step = _round_step((high - low) / _BINS or 1 / _BINS)
    if whole:
        step = max(1.0, float(math.ceil(step)))
    start = math.floor(low / step + 1e-9) * step
    counts = store.rows(
        f"SELECT series, floor(({column} - ?) / ? + 1e-9)::BIGINT AS bin, count(*) AS episodes "
        f"FROM episodes WHERE {column} IS NOT NULL AND (? = '' OR env_id = ?) "
        "GROUP BY ALL ORDER BY ALL",
        [start, step, *where],
    )
    bins = max(row["bin"] for row in counts) + 1
    return {"start": start, "step": step, "bins": bins, "whole": whole, "counts": counts}


def _round_step(width: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least ``width``."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= width * 0.999)


def _curve(store: Store, where: list[str]) -> list[Row]:
    """Return means of stretches of each series, in the order in which episodes ended.

    A stretch has the same share of the episodes of every environment, so that the curve does not
    fall where a harder environment begins. ``place`` is the middle of the stretch, in (0, 1).
    """
    return store.rows(
        'WITH placed AS (SELECT series, success, "return", '
        "row_number() OVER (PARTITION BY series, env_id ORDER BY run, number) AS place, "
        "count(*) OVER (PARTITION BY series, env_id) AS own, "
        "count(*) OVER (PARTITION BY series) AS n "
        "FROM episodes WHERE ? = '' OR env_id = ?), "
        f"sized AS (SELECT *, greatest(1, least({_CURVE_POINTS}, n // {_EPISODES_A_POINT}, "
        "min(own) OVER (PARTITION BY series))) AS bins FROM placed), "
        "binned AS (SELECT *, (place - 1) * bins // own AS bin FROM sized) "
        "SELECT series, bin, (bin + 0.5) / any_value(bins) AS place, count(*) AS episodes, "
        'avg("return") AS "return", avg(success::INT) AS success '
        "FROM binned GROUP BY series, bin ORDER BY series, bin",
        where,
    )
