"""The option ``--machine``: a provider of machines with its parameters, as in a configuration."""

from collections.abc import Callable
from typing import Any

import click
import yaml

from gem_core.errors import ConfigError
from gem_workers.machine import MachineProvider, make_machine_provider

__all__ = ["machine_option", "read_machine"]


def read_machine(text: str) -> str | dict[str, Any]:
    """Return the id of a provider, or the mapping with its parameters, that an option gives.

    Raises:
        ConfigError: It is neither.
    """
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if not isinstance(value, str | dict):
        raise ConfigError(
            f"--machine is an id or a mapping such as {{id: local, installed: skip}}; got {text!r}."
        )
    return value


def _made(_: click.Context, __: click.Parameter, text: str) -> MachineProvider:
    return make_machine_provider(read_machine(text))


def machine_option(function: Callable[..., Any]) -> Any:
    """Add ``--machine`` to a command, which gets a provider as ``machine``."""
    return click.option(
        "--machine",
        callback=_made,
        default="local",
        show_default=True,
        metavar="MACHINE",
        help="A provider of machines: its id, or a mapping with its parameters as in "
        "'{id: local, installed: skip}'.",
    )(function)
