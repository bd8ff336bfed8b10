"""The pages for users and for generators of clients: ``/`` and ``/openapi.json``."""

import html
from collections.abc import Iterable
from typing import Any

__all__ = ["index_page", "openapi"]

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 1, "description": "The call's number in its session."}
_SEED = {"type": ["integer", "null"], "minimum": 0}
_FIELDS: dict[str, dict[str, Any]] = {
    "session": {**_TEXT, "pattern": "^[A-Za-z0-9_-]{16,64}$"},
    "into": {**_TEXT, "pattern": "^[A-Za-z0-9_-]{16,64}$"},
    "env": {**_TEXT, "description": "Name of an environment, as in hello."},
    "wait": {"type": "number", "description": "Most seconds to wait for a slot."},
    "snapshot": {**_TEXT, "contentEncoding": "base64"},
    "number": _NUMBER,
    "seed": _SEED,
    "options": {"type": "object"},
    "action": {},
    "sessions": {"type": "array", "items": _TEXT},
    "calls": {"type": "array", "items": {"type": "object"}, "maxItems": 1024},
}
_CALLS: dict[str, tuple[str, str, str]] = {
    "hello": ("Describe the server and its environments.", "", ""),
    "open": ("Begin a session.", "session env", "wait snapshot"),
    "reset": ("Start an episode.", "session", "number seed options"),
    "step": ("Take an action.", "session action", "number"),
    "sample": ("Return a random action.", "session", "number"),
    "seed": ("Seed the next episodes.", "session seed", "number"),
    "seed_actions": ("Seed the random actions.", "session seed", "number"),
    "snapshot": ("Return the state, signed.", "session", "number"),
    "restore": ("Return to a state.", "session snapshot", "number"),
    "fork": ("Begin a session with a copy of another one.", "session into", "number seed"),
    "close": ("End a session.", "session", ""),
    "attach": ("Keep sessions alive by this connection.", "sessions", ""),
    "batch": ("Do several calls.", "calls", ""),
}
"""The calls of the protocol: what they do, the fields that they need, and other fields."""
_OTHERS = {
    "/health": ("get", "Say that the process runs."),
    "/gem/ready": ("get", "Say whether new sessions begin here; 503 while the server drains."),
    "/metrics": ("get", "Return metrics in the format of Prometheus."),
    "/list_environments": ("get", "OpenEnv: return the names of the environments."),
    "/metadata": ("get", "OpenEnv: describe the first environment."),
    "/schema": ("get", "OpenEnv: return the schemas of actions, observations and states."),
    "/reset": ("post", "OpenEnv: start an episode, and return its episode_id."),
    "/step": ("post", "OpenEnv: take an action in the episode of an episode_id."),
    "/state": ("get", "OpenEnv: return the state of the episode of an episode_id."),
    "/mcp": ("post", "OpenEnv: answer JSON-RPC; no environment serves tools by MCP."),
}
"""Other routes: their methods, and what they do."""


def openapi(version: str, *, needs_token: bool) -> dict[str, Any]:
    """Return the description of the routes in the format of OpenAPI 3.1.

    Args:
        version: The version of gem-serve.
        needs_token: Whether clients need a token.
    """
    paths: dict[str, Any] = {f"/gem/{name}": {"post": _operation(name)} for name in _CALLS}
    for path, (method, about) in _OTHERS.items():
        paths[path] = {method: {"summary": about, "responses": {"200": {"description": "It is."}}}}
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "gem-core serve", "version": version},
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR}},
    }
    if needs_token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "type": _TEXT,
                "message": _TEXT,
                "retry_after": {"type": "number", "description": "Seconds; try again then."},
            },
            "required": ["type", "message"],
        }
    },
}


def _operation(name: str) -> dict[str, Any]:
    about, needed, others = _CALLS[name]
    names = [*needed.split(), *others.split()]
    schema = {
        "type": "object",
        "properties": {one: _FIELDS[one] for one in names},
        "required": needed.split(),
    }
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "operationId": name,
        "summary": about,
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {
                "description": "The reply.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            },
            "default": {"description": "An error.", "content": error},
        },
    }


def index_page(environments: Iterable[tuple[str, str]], status: str) -> str:
    """Return a page that says what is served.

    Args:
        environments: Names and descriptions.
        status: A line about the sessions.
    """
    rows = "".join(
        f"<tr><td><code>{html.escape(name)}</code></td><td>{html.escape(about)}</td></tr>"
        for name, about in environments
    )
    links = " ".join(
        f'<a href="{path}">{path}</a>' for path in ("/openapi.json", "/metrics", "/health")
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>gem-core serve</title>'
        "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}"
        "td{padding:.2em 1em .2em 0;vertical-align:top}</style>"
        f"<h1>gem-core serve</h1><p>{html.escape(status)}</p><table>{rows}</table>"
        f"<p>{links}</p></html>"
    )
