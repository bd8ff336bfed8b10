"""Tables of GRPO steps: medians, ratios and returns."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from common.output import table

from trl_steps.setting import Setting

__all__ = ["SIDES", "Comparison", "parts_of"]

SIDES = ("gem_train", "trl")
"""Their modules in this package."""
_NAMES = {"gem_train": "gem-train", "trl": "TRL"}
_ENDS = 10
"""Number of steps at either end for the mean returns."""
_TITLES = {
    "reverse": "Reversing letters, one turn",
    "guess": "`game:GuessTheNumber-v0-easy`, up to four turns",
}
_HOW = """\
A step samples the episodes of 8 start states, 8 of each, with at most 16 tokens a response, and
makes one update: GRPO with advantages divided by the group's deviation, the mean loss of all
tokens, clipping at 0.2, no KL, AdamW; float32 on the CPU, no logging, no checkpoints. Figures are
medians over the steps after 3 to warm up. *Sampling* is generation, environments and rewards;
*learning* is the rest. Ratios are medians over turns (some steps of one side, then as many of the
other), and above 1 if gem-train is faster. On a machine with other load, the ratio of CPU seconds
is the most stable one.

gem-train computes the tokens that episodes of a group share only once, and skips rows whose
advantages are all 0. So its lead grows as the policy becomes more certain; both models start from
the same weights, as the returns below show.

TRL generates with transformers: vLLM, which it recommends, needs a GPU. Several turns are a
`rollout_func` that calls TRL's own generation for all live episodes. Its `environment_factory`
needs actions that are tool calls, and a chat template that it can parse; this model has none."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The measurements of both sides.

    Args:
        task: Its name.
        setting: The setting of both.
        steps_of_a_turn: Number of steps of one side before it is the other's turn.
        versions: Versions of the libraries.
        steps: Figures of each step, by side.
    """

    task: str
    setting: Setting
    steps_of_a_turn: int
    versions: Mapping[str, str]
    steps: Mapping[str, Sequence[Mapping[str, float]]]

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the path of the model."""
        found = asdict(self)
        del found["setting"]["model"]
        return found

    def median(self, side: str, figure: str) -> float:
        """Return the median of a figure over the steps of a side."""
        return statistics.median(step[figure] for step in self.steps[side])

    def ratio(self, figure: str) -> float:
        """Return the ratio of TRL's figure to gem-train's: the median over turns."""
        ours, peer = (self._turns(side, figure) for side in SIDES)
        return statistics.median(b / a for a, b in zip(ours, peer, strict=True))

    def _turns(self, side: str, figure: str) -> list[float]:
        values = [step[figure] for step in self.steps[side]]
        size = self.steps_of_a_turn
        return [sum(values[at : at + size]) for at in range(0, len(values), size)]

    def reward(self, side: str) -> tuple[float, float]:
        """Return the mean return of the first and of the last steps."""
        values = [step["reward"] for step in self.steps[side]]
        return statistics.fmean(values[:_ENDS]), statistics.fmean(values[-_ENDS:])


def parts_of(found: Sequence[Comparison]) -> list[str]:
    """Return the versions, the explanation and the tables."""
    versions = {name: one for comparison in found for name, one in comparison.versions.items()}
    parts = [", ".join(f"{name} {one}" for name, one in versions.items()), _HOW]
    for task in dict.fromkeys(one.task for one in found):
        parts += [f"## {_TITLES[task]}", *_tables([one for one in found if one.task == task])]
    return parts


def _tables(found: Sequence[Comparison]) -> list[str]:
    parts = []
    for one in found:
        threads = one.setting.threads
        title = f"### {threads} thread{'s' * (threads > 1)}"
        parts += [title, table(("", "gem-train", "TRL", "ratio"), _rows(one)), _learned(one)]
    return parts


def _rows(one: Comparison) -> list[list[str]]:
    per_second: dict[str, list[float]] = {"episodes/s": [], "sampled tokens/s": []}
    others: dict[str, list[float]] = {}
    for side in SIDES:
        steps = one.steps[side]
        seconds = one.median(side, "seconds")
        per_second["episodes/s"].append(one.setting.episodes / seconds)
        rates = [step["tokens"] / step["seconds"] for step in steps]
        per_second["sampled tokens/s"].append(statistics.median(rates))
        learning = [step["seconds"] - step["sampling"] for step in steps]
        figures = {
            "seconds a step": seconds,
            "of these sampling": one.median(side, "sampling"),
            "of these learning": statistics.median(learning),
            "CPU seconds a step": one.median(side, "cpu"),
            "sampled tokens an episode": one.median(side, "tokens") / one.setting.episodes,
            "turns an episode": one.median(side, "turns"),
        }
        for name, value in figures.items():
            others.setdefault(name, []).append(value)
    ratios = {
        "episodes/s": one.ratio("seconds"),
        "of these sampling": one.ratio("sampling"),
        "of these learning": _quotient(others["of these learning"]),
        "CPU seconds a step": one.ratio("cpu"),
    }
    lines = []
    for name, values in {**per_second, **others}.items():
        cells = [f"{value:.3g}" for value in values]
        cells.append(f"{ratios[name]:.2f}" if name in ratios else "")
        lines.append([name, *cells])
    return lines


def _quotient(values: Sequence[float]) -> float:
    return values[1] / values[0]


def _learned(one: Comparison) -> str:
    parts = []
    for side in SIDES:
        begin, end = one.reward(side)
        parts.append(f"{_NAMES[side]} from {begin:.2f} to {end:.2f}")
    updates = len(one.steps[SIDES[0]])
    return (
        f"Return of an episode, mean of the first {_ENDS} and of the last {_ENDS} of {updates} "
        f"steps, each with one update: {', '.join(parts)}."
    )
