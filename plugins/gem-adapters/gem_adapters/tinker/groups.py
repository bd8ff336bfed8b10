"""Groups of episodes with the same start, and batches of groups."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tinker_cookbook.rl.types import Env, EnvGroupBuilder, RLDataset
from tinker_cookbook.tokenizer_utils import get_tokenizer

from gem_adapters.tinker.env import GemEnv
from gem_core.errors import ConfigError
from gem_rollout import ReplyError, RowEnvs, row_of

__all__ = ["GemDataset", "GemGroupBuilder"]


@dataclass
class GemGroupBuilder(EnvGroupBuilder):  # type: ignore[misc]  # tinker-cookbook is not imported here
    """Makes the environments of a group: episodes with the same start.

    Args:
        row: The row that they play.
        tokenizer: A tokenizer of transformers, or the name of a model, which is shorter to pickle.
        group_size: Number of episodes.
        envs: Makes the environments.
        options: Further arguments of ``GemEnv``.
    """

    row: Mapping[str, Any]
    tokenizer: Any
    group_size: int
    envs: RowEnvs = field(default_factory=RowEnvs)
    options: Mapping[str, Any] = field(default_factory=dict)
    _made: list[GemEnv] = field(default_factory=list, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": []}

    async def make_envs(self) -> Sequence[GemEnv]:
        """Return the group's environments; those of a further call are further samples."""
        tokenizer = _tokenizer(self.tokenizer)
        first = len(self._made)
        envs = [
            GemEnv(self.row, tokenizer, envs=self.envs, sample=first + number, **self.options)
            for number in range(self.group_size)
        ]
        self._made += envs
        return envs

    async def compute_group_rewards(
        self, trajectory_group: list[Any], env_group: Sequence[Env]
    ) -> list[tuple[float, dict[str, float]]]:
        """Check the log-probabilities; return no rewards beside those of the steps.

        Raises:
            ReplyError: A reply has no log-probabilities, too few or impossible ones.
        """
        for trajectory in trajectory_group:
            for turn, transition in enumerate(trajectory.transitions):
                _check_logprobs(transition.ac.tokens, transition.ac.maybe_logprobs, turn)
        return [(0.0, {}) for _ in trajectory_group]

    async def cleanup(self) -> None:
        """Close the environments; may be called twice."""
        made, self._made = self._made, []
        await asyncio.gather(*(env.session.aclose() for env in made), return_exceptions=True)

    def logging_tags(self) -> list[str]:
        """Return the id of the environment."""
        return [row_of(self.row).env]


class GemDataset(RLDataset):  # type: ignore[misc]  # tinker-cookbook is not imported here
    """Batches of groups, one group for each row.

    Args:
        rows: The rows.
        tokenizer: A tokenizer of transformers, or the name of a model.
        group_size: Number of episodes of a row.
        groups_per_batch: Number of rows of a batch; the last batch may have fewer.
        envs: Makes the environments.
        **options: Further arguments of ``GemEnv``.

    Raises:
        ConfigError: A row or another argument is invalid.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        tokenizer: Any,
        group_size: int,
        groups_per_batch: int,
        envs: RowEnvs | None = None,
        **options: Any,
    ) -> None:
        for name, value in (("group_size", group_size), ("groups_per_batch", groups_per_batch)):
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} must be a positive int; got {value!r}.")
        if not rows:
            raise ConfigError("A dataset needs at least one row. Make some with env_rows(env, n).")
        envs = envs or RowEnvs()
        for row in rows:
            envs.factory(row)
        GemEnv(rows[0], _tokenizer(tokenizer), envs=envs, **options).session.close()
        self._groups = [GemGroupBuilder(row, tokenizer, group_size, envs, options) for row in rows]
        self._batch = groups_per_batch

    def get_batch(self, index: int) -> Sequence[GemGroupBuilder]:
        """Return the builders of a batch.

        Raises:
            IndexError: There is no such batch.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"Batch {index} of {len(self)}.")
        groups = self._groups[index * self._batch : (index + 1) * self._batch]
        return [replace(group) for group in groups]  # a group may be in two rollouts at a time

    def __len__(self) -> int:
        return math.ceil(len(self._groups) / self._batch)


def _tokenizer(tokenizer: Any) -> Any:
    return get_tokenizer(tokenizer) if isinstance(tokenizer, str) else tokenizer


def _check_logprobs(tokens: list[int], logprobs: list[float] | None, turn: int) -> None:
    values = logprobs or []
    if len(values) != len(tokens) or not all(-math.inf < value <= 1e-6 for value in values):
        raise ReplyError(
            f"The reply of turn {turn + 1} has {len(tokens)} tokens and the log-probabilities "
            f"{logprobs!r}; there must be a finite number of at most 0 for each token."
        )
