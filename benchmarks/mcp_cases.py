"""What is compared on MCP servers: calls through the wrapper, by many episodes at once."""

from schema import Case, Figure, Group

__all__ = ["mcp_groups"]

_EPISODES = (1, 64, 512)
_MOST_PEER_PROCESSES = 16
"""gem-llm starts a server for each call over stdio: 512 of them at once need 30 GB."""
_TARGET = 10


def mcp_groups(*, quick: bool) -> list[Group]:
    """Return the groups of MCP."""
    episodes = (1, 4) if quick else _EPISODES
    seconds = 1.0 if quick else 10.0
    return [
        Group(
            name="mcp",
            title="Calls of MCP servers",
            about="A tool that adds two numbers, called by episodes at once, each a stack of its "
            "own on a thread of its own. The server is the same program on both sides; over HTTP "
            f"it runs already. Over stdio gem-llm has at most {_MOST_PEER_PROCESSES} episodes, as "
            "it starts a server for each call.",
            measure="mcp_calls",
            figures=[
                Figure(name="calls_per_s", title="calls/s", target=_TARGET),
                Figure(name="p99_ms", title="99th percentile, ms", lower_is_better=True),
                Figure(name="failed", title="failed calls", own_most=0),
            ],
            cases=[
                Case(
                    title=f"{transport}, {number} episode{'s' * (number > 1)}",
                    arguments={"transport": transport, "episodes": number, "seconds": seconds},
                    peer={"episodes": min(number, _MOST_PEER_PROCESSES)}
                    if transport == "stdio"
                    else {},
                )
                for transport in ("stdio", "http")
                for number in episodes
            ],
        )
    ]
