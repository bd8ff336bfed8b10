"""The reward that tests write to a file."""

import contextlib
import json
import math
from collections.abc import Mapping
from typing import Any

from gem_core.errors import GemError, MachineError
from gem_workers.machine import Machine

__all__ = ["GradingError", "read_reward", "total_of"]

_REWARD_FILES = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
_LARGEST = 1 << 20


class GradingError(GemError, RuntimeError):
    """The tests of a task gave no reward; this is a fault of the task or the machine."""


def read_reward(machine: Machine, name: str, output: str) -> float | dict[str, float]:
    """Return the reward that tests have written: a number, or numbers by name.

    Args:
        machine: Where they ran.
        name: The id of the task, for the message.
        output: What they printed.

    Raises:
        GradingError: They wrote no finite reward, or two that differ.
    """
    found = []
    for path in _REWARD_FILES:
        with contextlib.suppress(MachineError):
            text = machine.read(path, limit=_LARGEST).decode("utf-8", "replace").strip()
            value = _parsed(text)
            if value is None:
                raise GradingError(
                    f"The tests of {name!r} wrote {text[:200]!r} to {path}, which is neither a "
                    f"finite number nor an object of finite numbers."
                )
            found.append(value)
    if not found:
        raise GradingError(
            f"The tests of {name!r} wrote neither {' nor '.join(_REWARD_FILES)}. They printed: "
            f"{output or 'nothing'}"
        )
    if len(set(map(total_of, found))) > 1:
        raise GradingError(
            f"The tests of {name!r} wrote two rewards that differ: {found[0]!r} to "
            f"{_REWARD_FILES[0]} and {found[1]!r} to {_REWARD_FILES[1]}."
        )
    return found[0]


def _parsed(text: str) -> float | dict[str, float] | None:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return None
    if _is_finite(value):
        return float(value)
    if isinstance(value, dict) and value and all(map(_is_finite, value.values())):
        return {str(name): float(number) for name, number in value.items()}
    return None


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    with contextlib.suppress(OverflowError):
        return math.isfinite(float(value))
    return False


def total_of(value: float | Mapping[str, float]) -> float:
    """Return a number as it is; of several the one named ``reward``, or else their mean."""
    if not isinstance(value, Mapping):
        return value
    return value["reward"] if "reward" in value else sum(value.values()) / len(value)
