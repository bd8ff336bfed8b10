"""The oracle of WikiGame: it knows the map, and takes a shortest way in the variant's rules."""

import heapq
from itertools import count

from gem_core import Action, BaseAgent, Env, Info, Observation
from gem_games.wikigame.env import WikiGameEnv
from gem_games.wikigame.errors import PageFault
from gem_games.wikigame.graph import Graph
from gem_games.wikigame.pages import Page
from gem_games.wikigame.variants import Option

__all__ = ["WikiGameOracle", "shortest"]

_MOST_PAGES = 2000
"""Pages that are loaded to find a way."""


class WikiGameOracle(BaseAgent):
    """An agent that takes a shortest way to the target.

    Where all distances are known, it compares those of the pages that can be reached. Elsewhere it
    searches breadth first through the links, which loads the pages.
    """

    def reset(self, env: Env) -> None:
        self._env: WikiGameEnv = env.unwrapped

    def act(self, observation: Observation, info: Info) -> Action:
        env = self._env
        options = list(env.memory.options(env.page))
        return f"\\boxed{{{shortest(env.graph, options, env.target)}}}"


def shortest(graph: Graph, options: list[Option], target: Page) -> str:
    """Return the first action of a shortest way; of any option if none leads to the target.

    Args:
        graph: The pages.
        options: The actions to choose from.
        target: The page to reach.
    """
    steps = graph.steps(target)
    if not graph.is_whole:
        return _searched(graph, options, target)
    known = [(one.turns + far, one) for one in options if (far := steps(one.key)) is not None]
    return min(known, default=(0, options[0]), key=lambda one: one[0])[1].action


def _searched(graph: Graph, options: list[Option], target: Page) -> str:
    """Search from the options on; ways that take more turns come later."""
    order = count()
    waiting = [(turns, next(order), action, key) for turns, action, key in options]
    heapq.heapify(waiting)
    seen: set[str] = set()
    while waiting and len(seen) < _MOST_PAGES:
        turns, _, action, key = heapq.heappop(waiting)
        if key in seen:
            continue
        seen.add(key)
        if key == target.key:
            return action
        try:
            page = graph.page(key)
        except PageFault:
            continue
        if page.key == target.key:
            return action
        for other in page.links.values():
            if other not in seen:
                heapq.heappush(waiting, (turns + 1, next(order), action, other))
    return options[0].action
