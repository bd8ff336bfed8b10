"""What a reward lacks, and how a database differs, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["changes_text", "missing_text"]

_MOST = 3
_LONGEST_VALUE = 60


def missing_text(details: Mapping[str, Sequence[Any]]) -> str:
    """Return what the parts of a reward lack; empty if nothing is missing.

    Args:
        details: ``Grade.details`` of ``gem_tau.rewards``.
    """
    return "; ".join(one for part in details for one in _shown(part, details[part]))


def changes_text(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return the changes of a database.

    Args:
        changes: ``info["db_diff"]``.
    """
    return "; ".join(_shown("db", changes)) or "nothing was changed"


def _shown(part: str, missing: Sequence[Any]) -> Iterator[str]:
    """Yield sentences on what a part of the reward misses."""
    for one in missing[:_MOST]:
        if part == "db":
            place = "/".join(filter(None, [one["table"], one["id"], one["path"]]))
            yield f"{place} is {_short(one['after'])} instead of {_short(one['before'])}"
        elif part == "communicate":
            yield f"{one!r} was not said"
        elif part == "actions":
            yield f"{one['name']} was not called as expected"
        elif part == "env_assertions":
            yield f"{one['function']} does not hold"
        else:
            yield f"the judge finds this false: {one}"
    if len(missing) > _MOST:
        yield f"and {len(missing) - _MOST} more"


def _short(value: Any) -> str:
    text = "none" if value is None else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
