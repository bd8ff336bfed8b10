"""Objects that the episodes of a process share: some trainers make an adapter for each episode."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from gem_rollout import RowEnvs

__all__ = ["row_envs"]


def row_envs(config: Mapping[str, Any] | Sequence[str] | None) -> RowEnvs:
    """Return the environments of a configuration; equal configurations share them.

    Raises:
        ConfigError: The configuration cannot be used.
    """
    return _row_envs(json.dumps(config))


@lru_cache
def _row_envs(config: str) -> RowEnvs:
    return RowEnvs(json.loads(config))
