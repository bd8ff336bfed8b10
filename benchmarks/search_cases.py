"""What is compared on search: calls of the tool through the wrapper, by many episodes at once."""

from schema import Case, Figure, Group

__all__ = ["search_groups"]

_EPISODES = (1, 64, 512)
_TITLES = {
    "stub": "a server that always gives the same answer",
    "server": "gem-core's retrieval server",
    "process": "in process",
}


def search_groups(*, quick: bool) -> list[Group]:
    """Return the groups of search."""
    episodes = (1, 4) if quick else _EPISODES
    seconds = 1.0 if quick else 10.0
    return [
        Group(
            name="search",
            title="Searches",
            about="Queries of which none comes twice, from episodes at once, each a stack of its "
            "own on a thread of its own. Servers run in a process of their own and speak the same "
            "protocol. Only gem-core has searches that run here by themselves: its server, and in "
            "process; both search the 350 passages that come with it.",
            measure="search_calls",
            figures=[
                Figure(name="calls_per_s", title="searches/s"),
                Figure(name="p99_ms", title="99th percentile, ms", lower_is_better=True),
                Figure(name="failed", title="failed searches", own_most=0),
            ],
            cases=[
                Case(
                    title=f"{title}, {number} episode{'s' * (number > 1)}",
                    arguments={"where": where, "episodes": number, "seconds": seconds},
                )
                for where, title in _TITLES.items()
                for number in episodes
            ],
        )
    ]
