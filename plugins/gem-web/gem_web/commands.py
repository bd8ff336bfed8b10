"""``gem-core webshop``: write catalogues for WebShop."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import click
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gem_core.console import Terminal
from gem_web.product import Product
from gem_web.readers import Source, find_source
from gem_web.sample import sample_catalogue
from gem_web.store import write_catalogue

__all__ = ["command"]

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group()
def command() -> None:
    """Write catalogues for the environments webshop:..."""


@command.command(
    epilog="\b\nExamples:\n"
    "  gem-core webshop index WebShop/data shop\n"
    "  gem-core webshop index .cache/webshop .cache/webshop/catalogue\n"
    "  gem-core run webshop:test-text agent=oracle env.data=shop"
)
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("folder", type=_FOLDER)
@click.option(
    "--goals",
    type=click.Choice(["human", "synthetic"]),
    help="Of the files of WebShop: goals that people wrote, or made from attributes and options.",
)
@click.option("--force", is_flag=True, help="Replace a catalogue that is there.")
def index(
    source: Path, folder: Path, goals: Literal["human", "synthetic"] | None, *, force: bool
) -> None:
    """Convert the files in SOURCE into a catalogue in FOLDER.

    SOURCE has items_shuffle.json and the files beside it
    (https://github.com/princeton-nlp/WebShop), the webshop.db of gem-llm, or products.jsonl and
    goals_train.jsonl of your own.
    """
    found = find_source(source, synthetic=None if goals is None else goals == "synthetic")
    _write(found, folder, force=force)


@command.command(epilog="\b\nExamples:\n  gem-core webshop sample shop --products 100000 --seed 1")
@click.argument("folder", type=_FOLDER)
@click.option(
    "--products",
    type=click.IntRange(min=100),
    default=1000,
    show_default=True,
    help="Number of products.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the products and goals.",
)
@click.option("--force", is_flag=True, help="Replace a catalogue that is there.")
def sample(folder: Path, products: int, seed: int, *, force: bool) -> None:
    """Write a generated catalogue into FOLDER.

    webshop:Sample is the one of 1,000 products and seed 0.
    """
    made, goals = sample_catalogue(products=products, seed=seed)
    _write(Source(lambda: iter(made), lambda: goals, f"sample, seed {seed}"), folder, force=force)


def _write(source: Source, folder: Path, *, force: bool) -> None:
    with Progress(
        TextColumn("{task.description}"),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Terminal(stderr=True),
        transient=True,
    ) as progress:
        manifest = write_catalogue(
            folder.absolute(),
            _counted(progress, source.products()),
            source.goals,
            origin=source.origin,
            overwrite=force,
        )
    Terminal().print(_summary(folder, manifest), soft_wrap=True)


def _counted(progress: Progress, products: Iterable[Product]) -> Iterator[Product]:
    task = progress.add_task("products", total=None)
    for product in products:
        progress.advance(task)
        yield product
    progress.update(task, description="writing the index")


def _summary(folder: Path, manifest: dict[str, Any]) -> str:
    goals = ", ".join(f"{count} {split}" for split, count in manifest["goals"].items())
    return (
        f"{folder}: {manifest['products']} products, goals: {goals}.\n"
        f"Try: gem-core run webshop:train-text agent=oracle env.data={folder} episodes=10"
    )
