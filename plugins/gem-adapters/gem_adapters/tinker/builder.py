"""The datasets of a run, from its configuration."""

import json
from pathlib import Path
from typing import Any

import chz
from tinker_cookbook.rl.types import RLDatasetBuilder

from gem_adapters.tinker.groups import GemDataset
from gem_core.errors import ConfigError
from gem_rollout import Limits, RowEnvs, env_rows

__all__ = ["GemDatasetBuilder"]


@chz.chz
class GemDatasetBuilder(RLDatasetBuilder):  # type: ignore[misc]  # tinker-cookbook is not imported here
    """Builds datasets from an environment's id or a file of rows, in a run's configuration.

    Args:
        model_name: The model whose tokenizer is used.
        group_size: Number of episodes of a row.
        groups_per_batch: Number of rows of a batch.
        env: Id of the environment.
        n: Number of its rows.
        seed: Seed of its rows.
        rows_file: A file with a row as JSON in each line, instead of ``env``.
        test_n: Number of rows for evaluation, which follow the ``n`` rows.
        config: Overrides of Hydra, such as ``tools=[python]``.
        prompt_tokens: See ``Limits``, also below.
        response_tokens: A limit.
        turn_tokens: A limit.
        context: A limit.
        options: Further arguments of ``GemEnv``.
    """

    model_name: str
    group_size: int
    groups_per_batch: int
    env: str = ""
    n: int = 1
    seed: int = 0
    rows_file: str = ""
    test_n: int = 0
    config: list[str] = chz.field(default_factory=list)
    prompt_tokens: int | None = None
    response_tokens: int | None = None
    turn_tokens: int | None = None
    context: int | None = None
    options: dict[str, Any] = chz.field(default_factory=dict)

    async def __call__(self) -> tuple[GemDataset, GemDataset | None]:
        """Return the dataset for training, and the one for evaluation or None.

        Raises:
            ConfigError: A field is invalid.
        """
        rows = self._rows()
        train, test = rows[: len(rows) - self.test_n], rows[len(rows) - self.test_n :]
        limits = Limits(
            prompt_tokens=self.prompt_tokens,
            response_tokens=self.response_tokens,
            turn_tokens=self.turn_tokens,
            context=self.context,
        )
        shared = {
            "tokenizer": self.model_name,
            "groups_per_batch": self.groups_per_batch,
            "envs": RowEnvs(self.config),
            "limits": limits,
            **self.options,
        }
        evaluated = GemDataset(test, group_size=1, **shared) if test else None
        return GemDataset(train, group_size=self.group_size, **shared), evaluated

    def _rows(self) -> list[dict[str, Any]]:
        if bool(self.env) == bool(self.rows_file):
            raise ConfigError("Set either env or rows_file.")
        if self.test_n < 0:
            raise ConfigError(f"test_n must be 0 or more; got {self.test_n}.")
        if self.env:
            return env_rows(self.env, self.n + self.test_n, seed=self.seed)
        lines = Path(self.rows_file).read_text(encoding="utf-8").splitlines()
        try:
            return [json.loads(line) for line in lines if line.strip()]
        except ValueError as error:
            raise ConfigError(f"{self.rows_file} must have JSON in each line: {error}.") from error
