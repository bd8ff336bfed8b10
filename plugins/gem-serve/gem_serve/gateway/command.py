"""``gem-core gateway``: serve episodes to agent programs, and record what the engine samples."""

import asyncio
import os
import signal
from pathlib import Path

import click

from gem_core.console import Terminal
from gem_core.errors import ConfigError
from gem_serve.gateway.apis import API_KINDS
from gem_serve.gateway.engine import Engine
from gem_serve.gateway.serving import GatewayServer

__all__ = ["command"]

_TOKEN = "GEM_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable
_KEY = "GEM_ENGINE_KEY"


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core gateway --engine http://127.0.0.1:8000 --out runs/agents\n"
    '  curl -X POST http://127.0.0.1:8081/episodes -d \'{"mode": "continue"}\''
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
) -> None:
    """Let agent programs call a model, and record the tokens of their episodes.

    Each episode has a base URL for OpenAI's chat completions, completions and responses, and for
    Anthropic's messages. The variable GEM_GATEWAY_TOKEN is the token of the admin API, and
    GEM_ENGINE_KEY the key of the engine.
    """
    client = Engine(engine, model=model, kind=engine_kind, api_key=os.environ.get(_KEY))
    try:
        server = GatewayServer(
            client,
            out,
            host=host,
            port=port,
            admin_host=admin_host,
            admin_port=admin_port,
            admin_token=os.environ.get(_TOKEN),
            public_url=public_url,
        )
    except ConfigError as error:
        raise ConfigError(f"{error} The token is the variable {_TOKEN}.") from error
    asyncio.run(_serve(server))


async def _serve(server: GatewayServer) -> None:
    """Serve until a signal ends it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop.set)
    async with server:
        console = Terminal(highlight=False, soft_wrap=True)
        console.print(f"Programs: {server.url}/e/EPISODE/v1")
        console.print(f"Admin API: {server.admin_url}/episodes")
        await stop.wait()
