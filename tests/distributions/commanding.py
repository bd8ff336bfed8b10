"""A plugin that brings a command."""

import click

from gem_core import hookimpl
from gem_core.specs import COMMANDS, Spec


@click.command()
@click.argument("name")
def hello(name):
    """Greet somebody."""
    click.echo(f"Hello, {name}!")


@hookimpl
def gem_register(registry):
    registry.add(
        Spec(
            kind=COMMANDS, id="hello", entry_point="commanding:hello", description="Greet somebody"
        )
    )
