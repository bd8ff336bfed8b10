"""``gem-core serve``: serve environments to other processes."""

import asyncio
import ipaddress
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from gem_core.config import factory_from_config
from gem_core.errors import ConfigError, UnknownIdError
from gem_core.factory import EnvFactory
from gem_core.options import complete_envs
from gem_core.plugins import default_registry
from gem_core.specs import ENVS
from gem_serve.server.limits import Limits

__all__ = ["command", "factories_of"]

_STATUS_SECONDS = 60.0
_OTHERS_RATE = 2000.0
"""Messages a second from a client of another machine, unless ``--rate`` says otherwise."""


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core serve game:Wordle-v0-easy\n"
    "  gem-core serve 'game:*' --port 8000 --max-envs 1000\n"
    "  gem-core serve 'gcd={id: rg:gcd, level: 2}' math:Sample --tool python\n"
    "  GEM_SERVE_TOKEN=... gem-core serve math:Sample --host 0.0.0.0\n"
    "\n"
    "\b\nThen, in another process or on another machine:\n"
    "  gem-core play remote:127.0.0.1:8000/game:Wordle-v0-easy"
)
@click.argument("envs", metavar="ENV...", nargs=-1, required=True, shell_complete=complete_envs)
@click.option("--tool", "tools", multiple=True, help="A tool for all environments; repeatable.")
@click.option(
    "--wrapper", "wrappers", multiple=True, help="A wrapper for all; the innermost first."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 for any free port.",
)
@click.option(
    "--max-envs",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Most sessions at the same time; each has one environment.",
)
@click.option(
    "--idle-timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds after which a session without a connection and without messages ends.",
)
@click.option(
    "--token", envvar="GEM_SERVE_TOKEN", help="What clients must send; or GEM_SERVE_TOKEN."
)
@click.option(
    "--max-bytes",
    type=click.IntRange(1),
    default=16 * 2**20,
    show_default=True,
    help="Of a message.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help="Messages a second from a client. Default: any on the loopback interface, else 2000.",
)
@click.option(
    "--step-timeout",
    type=click.FloatRange(0, min_open=True),
    help="Most seconds for a call of an environment that blocks. Default: any time.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds for the episodes that are being played, after SIGTERM or Ctrl-C.",
)
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The key that signs snapshots. Servers with the same key take each other's.",
)
def command(
    *,
    envs: tuple[str, ...],
    tools: tuple[str, ...],
    wrappers: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    drain: float,
    secret_file: Path | None,
    **limits: Any,
) -> None:
    """Serve environments to other processes and machines, until SIGTERM or Ctrl-C.

    ENV is an id, a pattern such as 'game:*', or NAME=ID for another name; '{id: ..., PARAMETER:
    VALUE}' takes the place of an id. OpenEnv's clients play the first one at the address that is
    printed, and each at ADDRESS/env/NAME.

    The exit status is 0 if all episodes ended before the server did.
    """
    if not token and not _is_loopback(host):
        raise ConfigError(
            f"At {host} other machines reach the server: give --token, or set GEM_SERVE_TOKEN."
        )
    if limits["rate"] is None and not _is_loopback(host):
        limits["rate"] = _OTHERS_RATE
    factories = factories_of(envs, tools=list(tools), wrappers=list(wrappers))
    secret = secret_file.read_bytes().strip() if secret_file else None
    if secret is not None and len(secret) < 16:
        raise ConfigError(f"{secret_file}: a secret has at least 16 bytes; got {len(secret)}.")
    from gem_serve.server.app import EnvServer  # noqa: PLC0415 - aiohttp

    server = EnvServer(factories, limits=Limits(**limits), token=token or None, secret=secret)
    try:
        cut_off = asyncio.run(_serve(server, host, port, drain))
    except OSError as error:
        number = error.errno or 0  # of a name that cannot be resolved it is negative
        reason = os.strerror(number) if number > 0 else error.strerror or error
        raise ConfigError(f"Cannot listen at {host}:{port}: {reason}.") from error
    sys.exit(1 if cut_off else 0)


def factories_of(
    envs: Iterable[str], *, tools: list[str], wrappers: list[str]
) -> dict[str, EnvFactory]:
    """Return a factory for each environment of the arguments, by name.

    Raises:
        GemError: An environment, a tool or a wrapper does not exist or refuses its parameters.
    """
    found: dict[str, EnvFactory] = {}
    for argument in envs:
        for name, env in _named(argument):
            if name in found:
                raise ConfigError(f"Two environments have the name {name!r}. Use NAME=ID.")
            config = {"env": env, "tools": tools, "wrappers": wrappers}
            found[name] = factory_from_config({key: part for key, part in config.items() if part})
    return found


def _named(argument: str) -> list[tuple[str, Mapping[str, Any]]]:
    name, equals, rest = argument.partition("=")
    is_named = bool(equals) and name.replace("-", "").replace("_", "").isalnum()
    env = _parsed(rest if is_named else argument)
    registry = default_registry()
    found = registry.list(ENVS, env["id"])
    if not found:
        try:
            found = [registry.find(ENVS, env["id"])]
        except UnknownIdError as error:
            if argument != "search":
                raise
            raise UnknownIdError(f"{error} A server for searches: gem-core serve-search.") from None
    if is_named and len(found) > 1:
        raise ConfigError(f"{argument!r} names {len(found)} environments. Leave out the name.")
    return [(name if is_named else spec.id, {**env, "id": spec.id}) for spec in found]


def _parsed(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        return {"id": text}
    try:
        env = OmegaConf.to_container(OmegaConf.create(text))
    except (OmegaConfBaseException, ValueError) as error:
        raise ConfigError(f"{text!r} is not a mapping in YAML: {error}") from error
    except Exception as error:  # of the YAML library, which omegaconf does not wrap
        raise ConfigError(f"{text!r} is not a mapping in YAML.") from error
    if not isinstance(env, dict) or not isinstance(env.get("id"), str):
        raise ConfigError(f"{text!r} needs an id, such as '{{id: rg:gcd, level: 2}}'.")
    return {str(key): value for key, value in env.items()}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _serve(server: Any, host: str, port: int, drain: float) -> int:
    """Serve until a signal; return how many episodes were cut off."""
    from aiohttp import web  # noqa: PLC0415 - the other commands do not need it

    ending = asyncio.Event()
    now = asyncio.Event()
    runner = web.AppRunner(server.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        _on_signals(ending, now)
        bound = runner.addresses[0][1]
        shown = f"[{host}]" if ":" in host else host
        count = len(server.sessions.factories)
        click.echo(f"Serving {count} environment{'s' * (count != 1)} at http://{shown}:{bound}")
        status = asyncio.create_task(_status(server))
        await ending.wait()
        status.cancel()
        return await _drained(server, drain, now)
    finally:
        await runner.cleanup()


def _on_signals(ending: asyncio.Event, now: asyncio.Event) -> None:
    """Drain at the first SIGTERM or SIGINT, and end at the second."""

    def end() -> None:
        (now if ending.is_set() else ending).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)


async def _drained(server: Any, seconds: float, now: asyncio.Event) -> int:
    playing = server.sessions.playing()
    if playing:
        click.echo(
            f"Ending when {playing} episodes have ended, in at most {seconds:g} s.", err=True
        )
    draining = asyncio.create_task(server.drain(seconds))
    hurry = asyncio.create_task(now.wait())
    await asyncio.wait([draining, hurry], return_when=asyncio.FIRST_COMPLETED)
    hurry.cancel()
    draining.cancel()
    left: int = server.sessions.playing()
    click.echo(f"Ended; {left} episodes were cut off." if left else "Ended.", err=True)
    return left


async def _status(server: Any) -> None:
    """Print a line a minute, if anything has happened."""
    seen = 0
    while True:
        await asyncio.sleep(_STATUS_SECONDS)
        if (count := server.metrics.messages - seen) != 0:
            seen = server.metrics.messages
            _tell(server, count)


def _tell(server: Any, count: int) -> None:
    metrics = server.metrics
    click.echo(
        f"{count:,} messages in {_STATUS_SECONDS:g} s; "
        f"{server.sessions.capacity.taken} of {server.limits.max_envs} sessions, "
        f"{metrics.episodes:,} episodes, {metrics.steps:,} steps, "
        f"{sum(metrics.errors.values()):,} errors",
        err=True,
    )
