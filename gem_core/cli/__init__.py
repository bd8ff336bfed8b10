"""The command ``gem-core``. Each subcommand is a spec, those of plugins too."""

import contextlib
import io
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import click

from gem_core import options
from gem_core.errors import GemError, UnknownIdError
from gem_core.notices import is_closed_pipe, results_alone
from gem_core.options import CLOSED_PIPE
from gem_core.plugins import default_registry, load_plugins
from gem_core.specs import COMMANDS

__all__ = ["Commands", "commands", "main"]

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""


class Commands(click.Group):
    """The commands of the registry, each of which is imported when it is used."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _closed_pipe_is_no_error():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _closed_pipe_is_no_error():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [spec.id for spec in default_registry().list(COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            spec = default_registry().find(COMMANDS, cmd_name)
        except UnknownIdError:
            return None
        with results_alone():
            command = spec.load()
        return command if isinstance(command, click.Command) else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0].startswith("-"):
                raise
            try:
                default_registry().find(COMMANDS, args[0])
            except UnknownIdError as unknown:
                raise click.UsageError(str(unknown), ctx) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(spec.id, spec.description) for spec in default_registry().list(COMMANDS)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@contextlib.contextmanager
def _closed_pipe_is_no_error() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:  # click would end the program with status 1, and say nothing
        if is_closed_pipe(error):
            raise click.exceptions.Exit(CLOSED_PIPE) from error
        raise ConnectionError(str(error)) from error


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n"
    "  gem-core list 'game:*'\n"
    "  gem-core show game:Sudoku-v0-easy\n"
    "  gem-core play game:GuessTheNumber-v0-easy\n"
    "  gem-core run game:Mastermind-v0-easy agent=oracle episodes=50\n"
    "\n"
    "\b\nCompletion of commands, ids and keys in bash (or zsh, fish):\n"
    '  eval "$(_GEM_CORE_COMPLETE=bash_source gem-core)"',
)
@click.version_option(package_name="gem-core", prog_name="gem-core")
def commands() -> None:
    """A gym for agentic LLMs."""


def main() -> None:
    """Run the command line. A ``GemError`` is printed as one message, without a traceback."""
    # Problems of plugins are shown by `gem-core plugins` and in the errors that they cause.
    logging.getLogger("gem_core").addHandler(logging.NullHandler())
    options.add_completion()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None if it is closed
        if isinstance(stream, io.TextIOWrapper):  # of any encoding: no character is an error
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(_status())
    finally:
        _drop_what_nobody_reads()
        # Nothing is left to do: one more Ctrl-C ends the process without a traceback.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _drop_what_nobody_reads() -> None:
    """Keep Python from reporting, when it ends, that the reader of a stream has gone."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):  # a full disk, which the status tells; a closed stream
            continue


def _status() -> int:
    """Run the command; return the exit status."""
    try:
        with results_alone():
            load_plugins()
        status = commands.main(prog_name="gem-core", standalone_mode=False, obj=options.PROGRAM)
        if sys.stdout is not None and status != CLOSED_PIPE:
            sys.stdout.flush()
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(options.visible(shown.getvalue()), err=True, nl=False)
        return error.exit_code
    except (GemError, OSError) as error:
        if is_closed_pipe(error):
            return CLOSED_PIPE
        click.echo(f"Error: {options.message_of(error)}", err=True)
        return 1
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    return status if isinstance(status, int) else 0
