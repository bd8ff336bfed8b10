"""Warnings of a run that does not learn: gradients of 0, equal groups, unreadable responses, ...

A sign is reported when it has lasted for a number of consecutive steps, once until it ends.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gem_rollout import Trajectory, Turn
from gem_rollout.records.format_errors import quote_of

__all__ = ["Health"]

_COLLAPSED = {"train/entropy": 0.05, "rollout/response_tokens": 0.1}
"""Share of the first step's value below which a metric has collapsed."""
_SUCCEEDS = 0.9
"""Success from which a policy may be certain: a low entropy is then what was asked for."""
_UNREADABLE = 0.5
"""Share of actions with format errors above which they are reported."""


class _Sign(NamedTuple):
    """A sign of a broken run.

    Args:
        is_there: Whether metrics show it; takes those of a step and of the first one.
        text: What to print.
        is_example: Whether the response of a turn is an example to quote; None for no example.
    """

    is_there: Callable[[Mapping[str, float], Mapping[str, float]], bool]
    text: str
    is_example: Callable[[Turn], bool] | None = None


def _is_cut(turn: Turn) -> bool:
    return turn.generation is not None and turn.generation.finish_reason == "length"


def _is(name: str, value: float) -> Callable[[Mapping[str, float], Mapping[str, float]], bool]:
    return lambda now, _first: now.get(name) == value


def _fell(name: str) -> Callable[[Mapping[str, float], Mapping[str, float]], bool]:
    def fell(now: Mapping[str, float], first: Mapping[str, float]) -> bool:
        is_good = now.get("rollout/success", 0.0) >= _SUCCEEDS
        known = name in now and name in first
        return known and not is_good and now[name] < _COLLAPSED[name] * first[name]

    return fell


_SIGNS = {
    "gradient": _Sign(
        _is("train/grad_norm", 0.0),
        "The gradient has been 0: nothing is learned. Look at rollout/return and the advantages.",
    ),
    "groups": _Sign(
        lambda now, _first: (
            now.get("rollout/equal_groups") == 1 and not now.get("train/advantage_std")
        ),
        "All episodes of every group have had the same return, so no advantage differs from 0. "
        "Choose tasks that are neither too easy nor too hard, or raise rollout.group_size.",
    ),
    "entropy": _Sign(
        _fell("train/entropy"),
        "The entropy has collapsed to less than 5% of that of the first step: the policy no longer "
        "explores. Lower optim.lr, or set loss.entropy, and continue from an earlier checkpoint.",
    ),
    "length": _Sign(
        _fell("rollout/response_tokens"),
        "The responses have collapsed to less than a tenth of the length of the first step's. "
        "Look at episodes (gem-core view), and at rewards that favour short responses.",
    ),
    "cut": _Sign(
        _is("rollout/cut", 1.0),
        "Every response has been cut at sampling.max_new_tokens. Raise it, or look at episodes "
        "(gem-core view): the model may no longer end its responses.",
        _is_cut,
    ),
    "format": _Sign(
        lambda now, _first: now.get("rollout/format_errors", 0.0) > _UNREADABLE,
        "Most responses do not have the form that the environment asks for. Begin with a warm "
        "start (gem-core train sft), or describe the form: sampling.system, answer_instruction.",
        lambda turn: bool(turn.info.get("format_error")),
    ),
}


class Health:
    """Watches the metrics of a run.

    Args:
        patience: Number of consecutive steps after which a sign is reported; 0 for never.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._first: dict[str, float] = {}
        self._counts = dict.fromkeys(_SIGNS, 0)

    def notes(
        self, metrics: Mapping[str, float], trajectories: Sequence[Trajectory] = ()
    ) -> list[str]:
        """Return the warnings to report after a step.

        Args:
            metrics: The metrics of the step.
            trajectories: Its episodes, to quote an example from.
        """
        for name in _COLLAPSED:
            if name in metrics:
                self._first.setdefault(name, metrics[name])
        found = []
        for name, sign in _SIGNS.items():
            is_there = sign.is_there(metrics, self._first)
            self._counts[name] = self._counts[name] + 1 if is_there else 0
            if is_there and self._counts[name] == self._patience:
                text = f"Warning, {self._patience} steps in a row: {sign.text}"
                found.append(text + _example(sign, trajectories))
        return found

    @property
    def equal_steps(self) -> int:
        """Number of latest steps in which advantages did not differ, or the gradient was 0."""
        return max(self._counts["groups"], self._counts["gradient"])

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"first": self._first, "counts": self._counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a state that ``state_dict`` returned."""
        self._first = dict(state["first"])
        self._counts = {name: state["counts"].get(name, 0) for name in _SIGNS}


def _example(sign: _Sign, trajectories: Sequence[Trajectory]) -> str:
    turns = (turn for one in trajectories for turn in one.turns)
    found = next((turn for turn in turns if sign.is_example and sign.is_example(turn)), None)
    return "" if found is None else f" For example: {quote_of(found)!r}"
