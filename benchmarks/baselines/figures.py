"""The figures of the baselines, as the page shows them: means over seeds with intervals."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from learning.intervals import Interval, difference, over_warm_starts

__all__ = ["FILE", "Figures"]

FILE = "baselines.json"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Figures:
    """The content of ``baselines.json``."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the figures in a folder."""
        return cls(json.loads((folder / FILE).read_text(encoding="utf-8")))

    @property
    def envs(self) -> list[str]:
        """The environments in the order of the tables."""
        return list(self.content["descriptions"])

    @property
    def trained(self) -> list[str]:
        """The environments in which models were trained with all seeds."""
        done = [one["task"] for one in self.content["runs"]]
        return [env for env in self.envs if done.count(env) == len(self.content["seeds"])]

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

    def before(self, env: str, measure: str) -> Interval:
        """Return a measure of the warm starts."""
        return over_warm_starts(self._played("warm_starts", env), lambda one: one[measure])

    def after(self, env: str, measure: str) -> Interval:
        """Return a measure of the trained models."""
        return over_warm_starts(self._played("runs", env), lambda one: one[measure])

    def gain(self, env: str, measure: str) -> Interval:
        """Return what training adds to a measure."""
        pair = self._played("runs", env), self._played("warm_starts", env)
        return difference(*pair, lambda one: one[measure])

    def seconds(self, env: str, part: str) -> Interval:
        """Return the CPU seconds of ``warm_starts`` or ``runs``."""
        return over_warm_starts(self._played(part, env), lambda one: one["cpu_seconds"])

    def curves(self, env: str) -> list[Row]:
        """Return the runs of an environment, with their curves."""
        return [one for one in self.content["runs"] if one["task"] == env]

    def _played(self, part: str, env: str) -> list[Row]:
        """Return what the models of an environment did, with their warm start and seed."""
        return [
            {
                **one["plays"][env],
                "cpu_seconds": one["cpu_seconds"],
                "start": one["start"],
                "seed": 0,
            }
            for one in self.content[part]
            if one["family"] == env
        ]


def _over_seeds(rows: list[Row], measure: str) -> Interval:
    values = [{"start": one["seed"], "seed": 0, "value": one[measure]} for one in rows]
    return over_warm_starts(values, lambda one: float(one["value"]))
