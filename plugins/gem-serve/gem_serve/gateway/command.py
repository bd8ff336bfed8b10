"""``gem-core gateway``: serve episodes to agent programs, and record what the engine samples."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import click

from gem_core.console import Terminal
from gem_serve.gateway.apis import API_KINDS
from gem_serve.gateway.client import TOKEN
from gem_serve.gateway.engine import EngineClient
from gem_serve.gateway.serving import GatewayServer

__all__ = ["command"]

_KEY = "GEM_ENGINE_KEY"


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core gateway --engine http://127.0.0.1:8000 --out runs/agents\n"
    "  curl -X POST http://127.0.0.1:8081/episodes -H 'Authorization: Bearer TOKEN' -d '{}'"
)
@click.option("--engine", required=True, metavar="URL", help="The engine: a vLLM or SGLang server.")
@click.option(
    "--engine-kind",
    type=click.Choice(API_KINDS),
    default="vllm",
    show_default=True,
    help="Its API. openai: an endpoint without token ids; nothing can be trained on its calls.",
)
@click.option("--model", help="The engine's model; by default the first one that it lists.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the logs and of trajectories.jsonl. What is there is continued.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address for programs.")
@click.option("--port", default=8080, show_default=True, help="Their port; 0 for a free one.")
@click.option(
    "--admin-host", default="127.0.0.1", show_default=True, help="The address of the admin API."
)
@click.option("--admin-port", default=8081, show_default=True, help="Its port; 0 for a free one.")
@click.option(
    "--public-url", help="The URL under which programs reach the gateway, if it is another one."
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds that episodes have to be closed, after SIGTERM or Ctrl-C.",
)
def command(
    engine: str,
    engine_kind: str,
    model: str | None,
    out: Path | None,
    host: str,
    port: int,
    admin_host: str,
    admin_port: int,
    public_url: str | None,
    drain: float,
) -> None:
    """Let agent programs call a model, and record the tokens of their episodes.

    Each episode has a base URL for OpenAI's chat completions, completions and responses, and for
    Anthropic's messages. The variable GEM_GATEWAY_TOKEN is the token of the admin API; without it
    a new one is printed. GEM_ENGINE_KEY is the key of the engine.

    The exit status is 0 if all episodes that were played were closed before the gateway ended.
    """
    client = EngineClient(engine, model=model, kind=engine_kind, api_key=os.environ.get(_KEY))
    token = os.environ.get(TOKEN)
    server = GatewayServer(
        client,
        out,
        host=host,
        port=port,
        admin_host=admin_host,
        admin_port=admin_port,
        admin_token=token,
        public_url=public_url,
    )
    shown = "" if token else server.admin_token
    sys.exit(1 if asyncio.run(_serve(server, drain, shown)) else 0)


async def _serve(server: GatewayServer, drain: float, token: str) -> int:
    """Serve until a signal, and drain; return how many episodes were still open.

    Args:
        server: The gateway.
        drain: Most seconds to drain.
        token: The token to print; empty if the user has chosen it.
    """
    ending, now = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        (now if ending.is_set() else ending).set()

    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, end)
    async with server:
        console = Terminal(highlight=False, soft_wrap=True)
        console.print(f"Programs: {server.url}/e/EPISODE/v1")
        console.print(f"Admin API: {server.admin_url}/episodes")
        if token:
            console.print(f"Its token: {token}  (choose one with the variable {TOKEN})")
        await ending.wait()
        return await _drained(server, drain, now)


async def _drained(server: GatewayServer, seconds: float, now: asyncio.Event) -> int:
    """Drain, unless a second signal ends it; return how many episodes were still open."""
    if playing := server.gateway.playing():
        plural = "s are" if playing != 1 else " is"
        click.echo(f"Ending when {playing} episode{plural} closed, in {seconds:g} s.", err=True)
    draining = asyncio.create_task(server.gateway.drain(seconds))
    hurry = asyncio.create_task(now.wait())
    await asyncio.wait([draining, hurry], return_when=asyncio.FIRST_COMPLETED)
    hurry.cancel()
    draining.cancel()
    if left := server.gateway.playing():
        click.echo(f"Ended; {left} episodes were still open.", err=True)
    return left
