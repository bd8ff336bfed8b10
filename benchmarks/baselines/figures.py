"""The figures of the baselines, as the page shows them: means over seeds with intervals."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Self

from learning.intervals import Interval, difference, over_warm_starts
from learning.store import read_lines

from baselines.real import FILE as REAL
from baselines.tiny import PLAN, STARTS, env_of

__all__ = ["FILE", "Figures", "Row"]

FILE = "baselines.json"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Figures:
    """The content of ``baselines.json``, and the rows of real models."""

    content: Mapping[str, Any]
    real: Sequence[Row] = ()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the figures in a folder."""
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return cls(content, list(read_lines(folder / REAL)))

    @property
    def envs(self) -> list[str]:
        """The environments in the order of the tables."""
        return list(self.content["descriptions"])

    @property
    def trained(self) -> list[str]:
        """The tasks in which models were trained with all seeds."""
        done = [one["task"] for one in self.content["runs"]]
        return [task for task in PLAN.tasks if done.count(task) == STARTS]

    @property
    def failed(self) -> dict[str, Row]:
        """The environments with a warm start that did not reach the success of the rule."""
        return {
            one["family"]: one
            for one in self.content["warm_starts"]
            if min(one["learned"]) < PLAN.least_success
        }

    @property
    def constants(self) -> dict[str, Row]:
        """The best constant answers by environment."""
        return {one["env"]: one for one in self.content["constants"]}

    @property
    def cheapest(self) -> list[str]:
        """The environments, those with the fewest turns of the oracle first."""
        return sorted(self.envs, key=lambda env: self.scripted(env, "oracle")[0].get("turns", 0))

    def scripted(self, env: str, agent: str) -> list[Row]:
        """Return the rows of an agent, one for each seed."""
        key = (env, agent)
        return [one for one in self.content["scripted"] if (one["env"], one["agent"]) == key]

    def reason(self, env: str, agent: str) -> str:
        """Return why a figure is missing; an empty string if it is not."""
        rows = self.scripted(env, agent)
        if len(rows) < len(self.content["seeds"]):
            return "not played"
        return next((one["error"] for one in rows if "error" in one), "")

    def of(self, env: str, agent: str, measure: str) -> Interval | None:
        """Return a measure of an agent; None without a figure."""
        rows = self.scripted(env, agent)
        if self.reason(env, agent) or any(one[measure] is None for one in rows):
            return None
        return _over_seeds(rows, measure)

    def cpu_seconds(self, env: str, agent: str) -> float | None:
        """Return the CPU seconds of an episode, the median over seeds; None without a figure."""
        rows = self.scripted(env, agent)
        return None if self.reason(env, agent) else median(one["cpu_seconds"] for one in rows)

    def over_envs(self, agent: str, measure: str) -> Interval | None:
        """Return the mean over the environments that have the measure; None if none has."""
        envs = [env for env in self.envs if self.of(env, agent, measure) is not None]
        if not envs:
            return None
        rows = [row for env in envs for row in self.scripted(env, agent)]
        means = {
            seed: fmean(row[measure] for row in rows if row["seed"] == seed)
            for seed in self.content["seeds"]
        }
        return _over_seeds([{"seed": seed, "mean": mean} for seed, mean in means.items()], "mean")

    def real_rows(self, model: str) -> list[Row]:
        """Return the rows of a real model in the order of the tables."""
        known = {one["env"]: one for one in self.real if one["model"] == model}
        return [known[env] for env in self.envs if env in known]

    def floor(self, task: str) -> float:
        """Return the success of the best constant answer in the tasks that the models play."""
        return float(self.constants[env_of(task)]["held_out"]["success"])

    def before(self, task: str, measure: str) -> Interval:
        """Return a measure of the warm starts."""
        return over_warm_starts(self._warm(task), lambda one: one[measure])

    def after(self, task: str, measure: str) -> Interval:
        """Return a measure of the trained models."""
        return over_warm_starts(self._runs(task), lambda one: one[measure])

    def gain(self, task: str, measure: str) -> Interval:
        """Return what training adds to a measure."""
        return difference(self._runs(task), self._warm(task), lambda one: one[measure])

    def is_learned(self, task: str) -> bool:
        """Return whether success is above the best constant answer and above the warm start."""
        after, gain = self.after(task, "success"), self.gain(task, "success")
        return after.mean - after.half > self.floor(task) and gain.mean - gain.half > 0

    def curves(self, task: str) -> list[Row]:
        """Return the runs of a task, with their curves."""
        return [one for one in self.content["runs"] if one["task"] == task]

    def _warm(self, task: str) -> list[Row]:
        made = [one for one in self.content["warm_starts"] if one["family"] == env_of(task)]
        return [_played(one, env_of(task)) for one in made]

    def _runs(self, task: str) -> list[Row]:
        return [_played(one, task) for one in self.curves(task)]


def _played(one: Row, task: str) -> Row:
    """Return what a model did, with its seed and what it cost."""
    kept = {name: one[name] for name in ("start", "cpu_seconds")}
    return {**one["plays"][task], **kept, "seed": 0}


def _over_seeds(rows: list[Row], measure: str) -> Interval:
    values = [{"start": one["seed"], "seed": 0, "value": one[measure]} for one in rows]
    return over_warm_starts(values, lambda one: float(one["value"]))
