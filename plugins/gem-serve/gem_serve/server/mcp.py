"""``/mcp`` of OpenEnv: JSON-RPC, which says that the environments have no tools of MCP.

OpenEnv's servers have this endpoint whether or not an environment serves tools by MCP, and
``openenv validate`` asks for it. The tools of our environments are called in the text of actions.
"""

from typing import Any

from gem_core.errors import GemError
from gem_serve.wire import loads

__all__ = ["mcp_reply"]

_METHODS = ("tools/list", "tools/call")


def mcp_reply(text: bytes) -> dict[str, Any]:
    """Return the reply to a message of JSON-RPC 2.0."""
    try:
        message = loads(text or "{}")
    except GemError:
        return _error(None, -32700, "Parse error")
    number, method = message.get("id"), message.get("method")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        return _error(number, -32600, "A message has 'jsonrpc': '2.0' and a method.")
    if method not in _METHODS:
        return _error(number, -32601, f"There is no method {method[:100]!r}.")
    return _error(number, -32603, "Environment does not support MCP")


def _error(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
