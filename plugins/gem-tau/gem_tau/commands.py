"""``gem-core tau``: what dialogues over a database pay, and how good a user is."""

import click

from gem_tau.check_command import command as check
from gem_tau.users_command import command as users

__all__ = ["command"]


@click.group()
def command() -> None:
    """Check dialogues over a database, and the users that play in them."""


command.add_command(check, "check")
command.add_command(users, "users")
