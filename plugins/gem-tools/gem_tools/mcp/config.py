"""Reads the configuration of MCP servers in its many forms.

Every form becomes a dict of ``ServerConfig``. Two of them compare equal if they mean the same
server, and tools with equal servers share one session.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from gem_core.errors import ConfigError, near_names
from gem_core.records import json_value
from gem_core.secret import SecretParts

__all__ = ["Config", "ServerConfig", "read_config"]

Config = Annotated[
    str | os.PathLike[str] | Sequence[str] | Mapping[str, Any],
    SecretParts(("env", "headers", "auth")),
]
"""A URL, the path of a JSON file, a command as a list, one server, or ``{"mcpServers": ...}``."""
Transport = Literal["stdio", "http", "sse", "python"]

_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "sse": "sse",
    "python": "python",
}
_KEYS = {
    "stdio": ("command", "args", "env", "cwd"),
    "http": ("url", "headers", "auth"),
    "sse": ("url", "headers", "auth"),
    "python": ("server", "arguments"),
}
_ALL_KEYS = sorted({key for keys in _KEYS.values() for key in keys})
_COMMON_KEYS = ("transport", "type", "description")
_FORMS = (
    "a URL, the path of a JSON file, a command as a list of texts, a mapping with 'command' or "
    "'url', or a mapping with 'mcpServers'"
)

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """The address of one server.

    Args:
        transport: ``stdio``, ``http`` (streamable), ``sse``, or ``python``: in this process.
        command: The program and its arguments, for ``stdio``.
        env: Environment variables of the program, besides a few harmless ones of the host.
        cwd: Working directory of the program.
        url: URL, for ``http`` and ``sse``.
        headers: Headers of every request.
        auth: An ``httpx2.Auth`` for every request.
        entry_point: ``"module:function"`` that makes the server, for ``python``.
        arguments: Arguments of that function, as a JSON object.
    """

    transport: Transport
    command: tuple[str, ...] = ()
    env: Pairs = field(default=(), repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Pairs = field(default=(), repr=False)
    auth: Any = field(default=None, repr=False)
    entry_point: str = ""
    arguments: str = "{}"

    def __str__(self) -> str:
        """Return a name for messages, without secrets."""
        if self.url:
            parts = urlsplit(self.url)
            place = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
            return urlunsplit(place)
        return self.entry_point or (self.command[0] if self.command else "")


def read_config(
    config: Config, *, auth: Any = None, headers: Mapping[str, str] | None = None
) -> dict[str, ServerConfig]:
    """Return the servers of a configuration by name.

    Args:
        config: A URL; the path of a JSON file; a command as a list of texts; a mapping with
            ``mcpServers``, from names to servers; or a mapping that is one server, which is then
            called ``default``.
        auth: A bearer token, or an ``httpx2.Auth``, for servers with a URL and without ``auth``.
        headers: Headers for all servers with a URL; headers of a server override them.

    Raises:
        ConfigError: It has none of these forms, or a server lacks a key or has an unknown one.
    """
    entries = _entries(config)
    if not entries:
        raise ConfigError("The MCP configuration names no server.")
    return {name: _server(name, entry, auth, headers or {}) for name, entry in entries.items()}


def _entries(config: Config) -> Mapping[str, Any]:
    if isinstance(config, str) and "://" in config:
        return {"default": {"url": config}}
    if isinstance(config, str | os.PathLike):
        return _entries_of_file(Path(config))
    if isinstance(config, Mapping):
        entries = config.get("mcpServers", {"default": config})
        if isinstance(entries, Mapping):
            return entries
    elif _is_texts(config):
        return {"default": {"command": config[0], "args": config[1:]}}
    raise ConfigError(f"An MCP configuration is {_FORMS}; got {config!r}.")


def _is_texts(value: Any) -> bool:
    return bool(value) and isinstance(value, Sequence) and all(isinstance(v, str) for v in value)


def _entries_of_file(path: Path) -> Mapping[str, Any]:
    try:
        content = json_value(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The MCP configuration {str(path)!r} cannot be read: {error}. It is {_FORMS}."
        ) from error
    if not isinstance(content, Mapping):
        raise ConfigError(f"The MCP configuration {str(path)!r} must hold one JSON object.")
    return _entries(content)


def _server(name: str, entry: Any, auth: Any, headers: Mapping[str, str]) -> ServerConfig:
    if isinstance(entry, str):  # {"weather": "http://..."}
        entry = {"url": entry}
    if not isinstance(entry, Mapping):
        raise ConfigError(f"The MCP server {name!r} is a mapping or a URL; got {entry!r}.")
    transport = _transport(name, entry)
    _check_keys(name, entry, transport)
    if transport == "stdio":
        return _program(entry)
    if transport == "python":
        arguments = json.dumps(entry.get("arguments") or {}, sort_keys=True)
        return ServerConfig(transport=transport, entry_point=entry["server"], arguments=arguments)
    return _remote(transport, entry, auth, headers)


def _transport(name: str, entry: Mapping[str, Any]) -> Transport:
    asked = entry.get("transport", entry.get("type"))
    if asked is None:
        if "server" in entry:
            return "python"
        return "stdio" if "command" in entry or "args" in entry else "http"
    if asked not in _TRANSPORTS:
        raise ConfigError(
            f"The MCP server {name!r} asks for the transport {asked!r}."
            f"{near_names(str(asked), _TRANSPORTS)} There are: {', '.join(_TRANSPORTS)}."
        )
    return _TRANSPORTS[asked]


def _check_keys(name: str, entry: Mapping[str, Any], transport: Transport) -> None:
    known = (*_KEYS[transport], *_COMMON_KEYS)
    for key in entry:
        if key not in known:
            raise ConfigError(
                f"The MCP server {name!r} ({transport}) takes no {key!r}."
                f"{near_names(key, _ALL_KEYS)} It takes: {', '.join(known)}."
            )
    needed = known[0]
    if not isinstance(entry.get(needed), str) or not entry[needed]:
        raise ConfigError(
            f"The MCP server {name!r} ({transport}) needs {needed!r}, a text; "
            f"got {', '.join(map(repr, entry)) or 'nothing'}."
        )


def _program(entry: Mapping[str, Any]) -> ServerConfig:
    args, cwd = entry.get("args") or (), entry.get("cwd")
    if isinstance(args, str):
        raise ConfigError(f"'args' of an MCP server is a list of texts; got {args!r}.")
    return ServerConfig(
        transport="stdio",
        command=(entry["command"], *map(str, args)),
        env=_pairs(entry.get("env")),
        cwd=None if cwd is None else os.fspath(cwd),
    )


def _remote(
    transport: Transport, entry: Mapping[str, Any], auth: Any, headers: Mapping[str, str]
) -> ServerConfig:
    auth = entry.get("auth", auth)
    sent = {**headers, **(entry.get("headers") or {})}
    if isinstance(auth, str):
        sent.setdefault("Authorization", f"Bearer {auth}")
        auth = None
    return ServerConfig(transport=transport, url=entry["url"], headers=_pairs(sent), auth=auth)


def _pairs(mapping: Mapping[str, Any] | None) -> Pairs:
    return tuple(sorted((str(key), str(value)) for key, value in (mapping or {}).items()))
