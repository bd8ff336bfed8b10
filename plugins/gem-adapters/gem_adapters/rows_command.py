"""``gem-core rows``: write a dataset of episodes for a trainer."""

import json

import click

from gem_adapters.rows import LAYOUTS, rows
from gem_core.errors import ConfigError
from gem_core.options import message_of

__all__ = ["command"]

_EPILOG = """\b
Examples:
  gem-core rows game:GuessTheNumber-v0-easy -n 4096 --layout verl --out train.parquet
  gem-core rows math:GSM8K -n 1000 --layout openrlhf --out rows.jsonl
  gem-core rows game:Sudoku-v0-easy -n 8 --env-kwargs '{"max_turns": 5}' --out rows.jsonl
"""


@click.command(epilog=_EPILOG)
@click.argument("env")
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Number of rows.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the run whose episodes these are.",
)
@click.option("--env-kwargs", default="{}", help="Parameters of the environment, as JSON.")
@click.option(
    "--layout",
    type=click.Choice(list(LAYOUTS)),
    default="plain",
    show_default=True,
    help="The trainer that reads the rows.",
)
@click.option("--out", required=True, help="The file: .jsonl or .parquet.")
def command(env: str, count: int, seed: int, env_kwargs: str, layout: str, out: str) -> None:
    """Write episodes of ENV as rows that a trainer reads.

    Each row stands for one episode: its environment, seed and number.
    """
    try:
        kwargs = json.loads(env_kwargs)
    except ValueError as error:
        raise ConfigError(f"--env-kwargs is not JSON: {error}") from error
    if not isinstance(kwargs, dict):
        raise ConfigError(f"--env-kwargs must be a JSON object; got {env_kwargs}.")
    try:
        found = rows(env, count, seed=seed, env_kwargs=kwargs, layout=layout, path=out)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {message_of(error)}") from error
    click.echo(f"{len(found):,} rows in {out}")
