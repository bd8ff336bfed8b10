"""``gem-core rows``: write a dataset of episodes for a trainer."""

from collections.abc import Mapping
from typing import Any

import click
from pydantic import Field

from gem_adapters.rows import LAYOUTS, rows
from gem_core.errors import ConfigError
from gem_core.options import message_of
from gem_core.plugins import default_registry
from gem_core.specs import ENVS
from gem_rollout.commands import CommandKeys, HydraCommand, Job, env_factories

__all__ = ["command"]


class RowsKeys(CommandKeys):
    """The keys of ``gem-core rows``."""

    episodes: int = Field(default=1000, ge=1)
    """The number of rows; each stands for an episode: its environment, seed and number."""
    seed: int = Field(default=0, ge=0)
    """Seed of the run whose episodes these are."""
    layout: str = Field(
        default="plain", description=f"The trainer that reads the rows: {', '.join(LAYOUTS)}."
    )
    file: str = Field(min_length=1)
    """The file to write: .jsonl or .parquet."""


def _write(job: Job[RowsKeys]) -> None:
    """Write episodes of an environment as rows that a trainer reads."""
    keys = job.keys
    if job.config.get("tools") or job.config.get("wrappers"):
        raise ConfigError(
            "A row names an environment and its parameters: tools and wrappers are the trainer's."
        )
    factories = env_factories(job.config)
    if len(factories) != 1 or job.config.get("mixture"):
        raise ConfigError("rows takes one environment: write a file for each.")
    (factory,) = factories
    kwargs = _changed(factory.spec.id, factory.spec.kwargs)
    try:
        found = rows(
            factory.spec.id,
            keys.episodes,
            seed=keys.seed,
            env_kwargs=kwargs,
            layout=keys.layout,
            path=keys.file,
        )
    except OSError as error:
        raise ConfigError(f"{keys.file} cannot be written: {message_of(error)}") from error
    if job.form == "json":
        job.print_json({"rows": len(found), "file": keys.file})
    else:
        click.echo(f"{len(found):,} rows in {keys.file}")


def _changed(env_id: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from those of the environment's spec."""
    usual = default_registry().find(ENVS, env_id).parameters()
    return {name: value for name, value in kwargs.items() if usual.get(name, ...) != value}


command = HydraCommand(
    "rows",
    _write,
    RowsKeys,
    agents=None,
    examples=[
        "gem-core rows game:GuessTheNumber-v0-easy episodes=4096 layout=verl file=train.parquet",
        "gem-core rows math:GSM8K layout=openrlhf file=rows.jsonl",
        "gem-core rows game:Sudoku-v0-easy episodes=8 env.max_turns=5 file=rows.jsonl",
    ],
)
