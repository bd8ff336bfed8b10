"""Plays WikiGame with agents that need no model: ``worker.py wikigame.players EPISODES``."""

import itertools
import json
import sys
from typing import Any

__all__ = ["main"]

_AGENTS = ("oracle", "WikiGame-reader", "random")
_SETTINGS = (
    *(("world", variant) for variant in ("noregrets", "eidetic", "oneback", "freenav")),
    ("wordnet", "noregrets"),
)


def main() -> None:
    """Print mean returns and shares of won episodes as JSON."""
    episodes = int(sys.argv[1])
    found = [
        {"what": [*setting, agent], **_play(*setting, agent, episodes)}
        for setting, agent in itertools.product(_SETTINGS, _AGENTS)
    ]
    print(json.dumps(found))


def _play(graph: str, variant: str, agent: str, episodes: int) -> dict[str, float]:
    import gem_core  # noqa: PLC0415 - as in the other measurements
    from gem_rollout import collect  # noqa: PLC0415

    def env() -> Any:
        return gem_core.make("game:WikiGame-v0-easy", graph=graph, variant=variant)

    played = list(collect(env, lambda: gem_core.make_agent(agent), episodes=episodes))
    errors = [one.error for one in played if one.error]
    if errors:
        raise RuntimeError(errors[0]["traceback"])
    won = sum(one.turns[-1].reward == 1.0 for one in played)
    return {
        "return": sum(one.episode_return for one in played) / episodes,
        "wins": won / episodes,
    }


if __name__ == "__main__":
    main()
