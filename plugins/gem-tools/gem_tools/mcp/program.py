"""The connection to a server that is a program: messages are lines of its standard streams.

The SDK's own connection reads lines of any length, and leaves behind descendants of a server that
have left its process group. Here a line has a maximum length, and a guard (``guard.py``) ends the
server.
"""

import contextlib
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

import anyio
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from gem_tools.mcp.config import ServerConfig

__all__ = ["LARGEST_MESSAGE", "open_program"]

LARGEST_MESSAGE = 64 << 20
"""Maximum size of a server's message in bytes."""
_FLUSH_SECONDS = 0.2
_END_SECONDS = 3.0
"""Longer than the guard takes to end a server."""


@asynccontextmanager
async def open_program(server: ServerConfig, errors: TextIO) -> AsyncIterator[Any]:
    """Start a server and give the streams of its messages, to be read and to be written.

    Args:
        server: The command, its environment and its folder.
        errors: Where it writes its standard error.

    Raises:
        OSError: The program cannot be started.
    """
    async with contextlib.AsyncExitStack() as stack:
        process = await _start(server, errors)
        stack.push_async_callback(_end, process)
        arrived, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        sent, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks, received, sent:
            tasks.start_soon(_read, process, arrived)
            written = anyio.Event()
            tasks.start_soon(_write, process, to_send, arrived, written)
            try:
                yield received, sent
            finally:
                sent.close()
                received.close()
                with anyio.move_on_after(_FLUSH_SECONDS, shield=True):
                    await written.wait()
                tasks.cancel_scope.cancel()


async def _start(server: ServerConfig, errors: TextIO) -> Process:
    variables = get_default_environment() | dict(server.env)
    command = list(server.command)
    if (
        not Path(command[0]).parent.name
        and shutil.which(command[0], path=variables["PATH"]) is None
    ):
        raise FileNotFoundError(f"There is no program {command[0]!r}.")
    guard = Path(__file__).with_name("guard.py")
    return await anyio.open_process(
        [sys.executable, "-I", "-S", str(guard), *command],
        env=variables,
        cwd=server.cwd,
        stderr=errors,
        start_new_session=True,
    )


async def _read(process: Process, arrived: Any) -> None:
    """Pass on the messages of a server until its stream ends or a message is too large."""
    line = bytearray()
    async with arrived:
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, OSError):
            while True:
                *ends, rest = (await _chunk(process)).split(b"\n")
                for end in ends:
                    await arrived.send(_message(bytes(line + end)))
                    line.clear()
                line += rest
                if len(line) > LARGEST_MESSAGE:
                    text = f"A message of the server is larger than {LARGEST_MESSAGE:,} bytes."
                    await arrived.send(ValueError(text))
                    return


async def _chunk(process: Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 - it was started with pipes
    return await process.stdout.receive()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        text = line.decode("utf-8", "replace")
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


async def _write(process: Process, to_send: Any, arrived: Any, written: anyio.Event) -> None:
    """Send messages to a server."""
    assert process.stdin is not None  # noqa: S101 - as above
    try:
        async with to_send:
            async for message in to_send:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(line.encode("utf-8", "replace") + b"\n")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await arrived.aclose()  # nobody will answer
    finally:
        written.set()


async def _end(process: Process) -> None:
    """Close the server's standard input, and wait until the guard has ended it."""
    with anyio.CancelScope(shield=True):
        assert process.stdin is not None  # noqa: S101 - as above
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.aclose()
        with anyio.move_on_after(_END_SECONDS):
            # `wait` would also wait for the end of the pipes.
            while process.returncode is None:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        if process.returncode is None:
            process.kill()
        transport = getattr(getattr(process, "_process", None), "_transport", None)
        if transport is not None:
            transport.close()
