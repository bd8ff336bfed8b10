"""The MCP tool: all tools of the configured servers as one tool.

An agent calls a tool with a block; the first one in an action counts::

    <tool_call> <tool_name>NAME</tool_name> <arguments>JSON</arguments> </tool_call>

The tool has no state. All tools of a process with the same servers share one session for each
server, which is opened on first use and stays open.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import anyio

from gem_core.errors import ClosedError, ConfigError
from gem_core.lifetimes import Lifetime, Lock
from gem_core.observation import Action
from gem_core.records import json_value
from gem_core.secret import Secret
from gem_core.tool import BaseTool, Function, ToolCall, ToolResult
from gem_tools import background
from gem_tools.mcp.config import Config, ServerConfig, read_config
from gem_tools.mcp.menu import Entry, Menu, menu_of
from gem_tools.mcp.results import cut, error_result, failed, result_of
from gem_tools.mcp.sessions import Handlers, Session, SessionLostError, sessions

if TYPE_CHECKING:
    from mcp.types import CallToolResult

__all__ = ["MCPTool"]

_HEAD = re.compile(r"<tool_call>\s*<tool_name>([^<]*)</tool_name>\s*(<arguments>)?")
_TAIL = re.compile(r"\s*</tool_call>")
_TAIL_OF_ARGUMENTS = re.compile(r"</arguments>\s*</tool_call>")
_CLOSE_SECONDS = 10.0
"""Longer than a session takes to close."""
_lock = Lock()
"""Held while a tool gets its sessions, which opens none of them."""


@dataclass(frozen=True)
class _Unreadable(ToolCall):
    """A call whose arguments are not a JSON object."""

    why: str = ""


@dataclass(frozen=True)
class _Limits:
    """Timeouts and retries of a tool."""

    max_retries: int
    delay_between_retries: float
    execution_timeout: float
    connect_timeout: float

    def __post_init__(self) -> None:
        for name in ("execution_timeout", "connect_timeout"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} must be more than 0; got {getattr(self, name)!r}.")
        for name in ("max_retries", "delay_between_retries"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must be 0 or more; got {getattr(self, name)!r}.")


class _ToolSessions:
    """The sessions that one tool uses in one process."""

    def __init__(
        self, tool: "MCPTool", servers: Mapping[str, ServerConfig], handlers: Handlers
    ) -> None:
        self.shared = sessions()
        self.sessions = {
            name: self.shared.hold(server, handlers) for name, server in servers.items()
        }
        self._calls: set[anyio.CancelScope] = set()
        self._ending: Future[None] | None = None
        self.lifetime = Lifetime(tool, self._give_back, what="MCP tool", at_exit=False)

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Hold them for a call, in the background.

        Raises:
            ClosedError: The tool was closed, before or in the block.
        """
        scope = anyio.CancelScope()
        self._calls.add(scope)  # before the check, so that a call is either refused or ended
        try:
            self.lifetime.check()
            with scope:
                yield
        finally:
            self._calls.discard(scope)
        if scope.cancelled_caught:
            self.lifetime.check()

    def close(self) -> None:
        """Give the sessions back, and wait until unused ones are closed."""
        self.lifetime.end()
        if self._ending is not None and not background.LOOP.is_current:
            wait([self._ending], _CLOSE_SECONDS)

    def _give_back(self) -> None:
        unused = self.shared.release(self.sessions.values())
        if background.LOOP.is_running:
            with contextlib.suppress(ClosedError):  # the process ends, which closes them
                self._ending = background.LOOP.start(self._end(unused))

    async def _end(self, unused: Sequence[Session]) -> None:
        for scope in list(self._calls):
            scope.cancel()
        await self.shared.end(unused)


class MCPTool(BaseTool):
    """Calls the tools of MCP servers.

    Args:
        config: A URL; the path of a JSON file with ``mcpServers``; a command as a list of texts; a
            mapping with ``mcpServers``, from names to servers; or a mapping that is one server. A
            server has ``command``, ``args``, ``env`` and ``cwd``, or ``url``, ``headers`` and
            ``auth``; its ``transport`` is ``stdio``, ``http`` or ``sse``.
        auth: A bearer token, or an ``httpx2.Auth``, for servers that have a URL.
        headers: Headers for servers that have a URL.
        log_handler: Called with each log message of a server: ``level``, ``logger``, ``data``.
        progress_handler: Called with progress, total and message of a call.
        sampling_handler: Called with messages, params and context when a server asks for text from
            a model; returns the text.
        max_retries: How often a call is repeated after a timeout or a lost connection. Tools whose
            annotations deny that they are idempotent get each call once.
        delay_between_retries: Seconds before each retry.
        execution_timeout: Seconds for each attempt; then the call is cancelled at the server.
        connect_timeout: Seconds to open a session.
        validate_on_init: Connect immediately, and check that there are tools.
        longest_output: Maximum number of characters of a result that are shown.

    Raises:
        ConfigError: The configuration has an unknown form; or, with ``validate_on_init``, a server
            cannot be reached, or there are no tools.
    """

    name = "mcp"
    blocking = True
    in_order = True
    shared: ClassVar[tuple[str, ...]] = (
        "_closed",
        "_menu",
        "_handlers",
        "_tool_sessions",
        "_limits",
        "_progress",
        "_servers",
        "longest_output",
    )

    def __init__(
        self,
        config: Config,
        *,
        auth: Secret | Any = None,
        headers: Mapping[str, Secret] | None = None,
        log_handler: Callable[..., Any] | None = None,
        progress_handler: Callable[..., Any] | None = None,
        sampling_handler: Callable[..., Any] | None = None,
        max_retries: int = 3,
        delay_between_retries: float = 1.0,
        execution_timeout: float = 30.0,
        connect_timeout: float = 30.0,
        validate_on_init: bool = True,
        longest_output: int = 20_000,
    ) -> None:
        self._limits = _Limits(
            max_retries, delay_between_retries, execution_timeout, connect_timeout
        )
        if longest_output < 1:
            raise ConfigError(f"longest_output must be at least 1; got {longest_output}.")
        self._handlers = Handlers(log_handler, sampling_handler)
        self._progress = progress_handler
        self.longest_output = longest_output
        self._menu: Menu | None = None
        self._tool_sessions: _ToolSessions | None = None
        self._closed = False
        self._servers = read_config(config, auth=auth, headers=headers)
        self._held()
        if validate_on_init:
            self._validate()

    @classmethod
    def from_url(cls, url: str, **kwargs: Any) -> Self:
        """Make a tool for one server by its URL; see ``MCPTool`` for the arguments."""
        return cls({"url": url}, **kwargs)

    @classmethod
    def from_config_file(cls, path: str | os.PathLike[str], **kwargs: Any) -> Self:
        """Make a tool from a JSON file."""
        return cls(os.fspath(path), **kwargs)

    @classmethod
    def from_local_command(
        cls, server_params: Sequence[str] | Mapping[str, Any], name: str = "default", **kwargs: Any
    ) -> Self:
        """Make a tool for a program: a list of texts, or a mapping with ``command``."""
        if not isinstance(server_params, Mapping):
            server_params = {"command": server_params[0], "args": server_params[1:]}
        return cls({"mcpServers": {name: dict(server_params)}}, **kwargs)

    @classmethod
    def from_multi_server(cls, urls: Mapping[str, str], **kwargs: Any) -> Self:
        """Make a tool for several servers: name to URL."""
        return cls({"mcpServers": dict(urls)}, **kwargs)

    def reconfigure(
        self, config: Config, *, auth: Any = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Disconnect, and use other servers; see ``MCPTool`` for the arguments.

        Raises:
            ConfigError: The configuration has an unknown form; nothing has changed.
            ClosedError: The tool was closed.
        """
        servers = read_config(config, auth=auth, headers=headers)
        self._held()
        self._give_back()
        self._servers, self._menu = servers, None

    def get_available_tools(self) -> list[dict[str, Any]]:
        """Return name, description, parameters and server of every tool.

        Raises:
            ConfigError: A server cannot be reached.
        """
        menu = self._listed()
        many = {"is_multi_server": len(self._servers) > 1, "servers": list(self._servers)}
        return [
            {
                "name": function.name,
                "description": function.description,
                "parameters": function.parameters,
                "server_info": {**many, "detected_server": menu.entries[function.name].server},
            }
            for function in menu.functions
        ]

    def instructions(self) -> str:
        return self._listed().instructions

    def functions(self) -> Sequence[Function]:
        return self._listed().functions

    def parse(self, action: Action) -> ToolCall | None:
        block = _block(action) if isinstance(action, str) else None
        if block is None:
            return None
        text, name, body = block
        try:
            arguments = json_value(body) if body.strip() else {}
        except ValueError as error:
            return _Unreadable(self.name, {}, text, name, f"The arguments are not JSON: {error}.")
        if not isinstance(arguments, dict):
            why = f"The arguments are one JSON object; got a {type(arguments).__name__}."
            return _Unreadable(self.name, {}, text, name, why)
        return ToolCall(self.name, arguments, text, name)

    def run(self, call: ToolCall) -> ToolResult:
        """Run a call.

        Raises:
            ClosedError: The tool was closed, before or during the call.
        """
        return background.run(self._run(call))

    async def arun(self, call: ToolCall) -> ToolResult:
        """``run`` for asynchronous environments; cancelling it cancels the call at the server."""
        return await background.wait_for(self._run(call))

    async def _run(self, call: ToolCall) -> ToolResult:
        """Run a call, in the background."""
        with self._held().use():
            return await self._result(call)

    async def _result(self, call: ToolCall) -> ToolResult:
        try:
            menu = await self._list()
        except SessionLostError as error:
            return failed(f"failed to connect: {error.why}", function=call.function)
        why = call.why if isinstance(call, _Unreadable) else ""
        problem = menu.problem(call.function, call.arguments, unreadable=why)
        entry = menu.find(call.function)
        if problem or entry is None:
            return failed(problem, function=call.function)
        return await self._sent(entry, call.arguments)

    async def _sent(self, entry: Entry, arguments: Mapping[str, Any]) -> ToolResult:
        """Send a call, with retries, and read the answer."""
        name = entry.function.name
        info = {"function": name, "server": entry.server}
        attempts = 1 + (self._limits.max_retries if entry.offer.repeatable else 0)
        why = ""
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(self._limits.delay_between_retries)
            try:
                answer = await self._answer(entry, arguments)
            except TimeoutError:
                why = f"{name!r} timed out after {self._limits.execution_timeout:g} seconds"
            except SessionLostError as error:
                why = f"failed to connect to the server {entry.server!r}: {error.why}"
            except ClosedError:
                raise
            except Exception as error:  # noqa: BLE001 - the agent reads about every other error
                return self._refused(error, info)
            else:
                return result_of(answer, longest_output=self.longest_output, **info)
        return failed(cut(why, self.longest_output), **info)

    async def _answer(self, entry: Entry, arguments: Mapping[str, Any]) -> "CallToolResult":
        from gem_tools.mcp.callbacks import progress_callback  # noqa: PLC0415 - imports the SDK

        session = self._held().sessions[entry.server]
        return await session.call(
            entry.offer.name,
            arguments,
            connect_timeout=self._limits.connect_timeout,
            timeout=self._limits.execution_timeout,
            progress=progress_callback(self._progress) if self._progress else None,
        )

    def _refused(self, error: Exception, info: Mapping[str, Any]) -> ToolResult:
        """Return the result of a call that the server refused or answered invalidly."""
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - imported by now

        said = cut(str(error) or type(error).__name__, self.longest_output)
        return error_result(said, **info) if isinstance(error, MCPError) else failed(said, **info)

    def _held(self) -> _ToolSessions:
        """Return the sessions of this process; a fork has its own.

        Raises:
            ClosedError: The tool was closed.
        """
        with _lock:
            if self._closed:
                raise ClosedError("This MCP tool is closed.")
            if self._tool_sessions is None or self._tool_sessions.shared is not sessions():
                self._tool_sessions = _ToolSessions(self, self._servers, self._handlers)
            return self._tool_sessions

    async def _list(self) -> Menu:
        """Return the tools; the last known ones if a server cannot be reached."""
        held = self._held().sessions
        limit = self._limits.connect_timeout
        try:
            offers = await asyncio.gather(*(session.offers(limit) for session in held.values()))
        except SessionLostError:
            if self._menu is None:
                raise
        else:
            self._menu = menu_of(tuple(zip(held, offers, strict=True)))
        return self._menu

    def _listed(self) -> Menu:
        if self._menu is not None:
            return self._menu
        try:
            return background.run(self._listing())
        except SessionLostError as error:
            raise ConfigError(str(error)) from error

    async def _listing(self) -> Menu:
        with self._held().use():
            return await self._list()

    def _validate(self) -> None:
        """Connect, and check that there are tools."""
        try:
            entries = self._listed().entries
        except BaseException:
            self.close()
            raise
        if not entries:
            self.close()
            servers = ", ".join(map(str, self._servers.values()))
            raise ConfigError(f"The MCP servers have no tools: {servers}.")

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._tool_sessions = None  # each tool counts as a user of the sessions
        return twin

    def close(self) -> None:
        """Give the sessions back for good; the last tool ends the servers that were started.

        Calls in progress raise ``ClosedError``. It takes at most ten seconds, and in a fork it does
        nothing to what the parent uses.
        """
        self._closed = True
        self._give_back()

    def _give_back(self) -> None:
        with _lock:
            in_use, self._tool_sessions = self._tool_sessions, None
        if in_use is not None:
            in_use.close()


def _block(text: str) -> tuple[str, str, str] | None:
    """Return the text up to the end of the first call, its name and its arguments.

    Linear time for any text.
    """
    may_end = True
    for head in _HEAD.finditer(text):
        if not head[2]:
            tail = _TAIL.match(text, head.end())
        elif may_end:
            tail = _TAIL_OF_ARGUMENTS.search(text, head.end())
            may_end = tail is not None  # if this does not end, those that follow do not either
        else:
            continue
        if tail is not None:
            body = text[head.end() : tail.start()] if head[2] else ""
            return text[: tail.end()], head[1].strip(), body
    return None
