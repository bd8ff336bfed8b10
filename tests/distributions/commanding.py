"""A plugin that brings a command."""

import errno

import click

from gem_core import hookimpl
from gem_core.specs import COMMANDS, Spec


@click.command()
@click.argument("name")
def hello(name):
    """Greet somebody."""
    if "gone" in name:
        raise BrokenPipeError(errno.EPIPE, "The server has gone")
    click.echo(f"Hello, {name}!")


@hookimpl
def gem_register(registry):
    registry.add(
        Spec(
            kind=COMMANDS, id="hello", entry_point="commanding:hello", description="Greet somebody"
        )
    )
