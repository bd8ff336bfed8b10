"""WikiGame: reach a page of an encyclopedia by following links.

``env`` has the environment, ``variants`` what an episode remembers, ``oracle`` and ``reader`` two
players, ``pages`` and ``graph`` the pages and the graphs of them, ``sources`` the table of graphs.
"""

from gem_games.wikigame.env import WikiGameEnv
from gem_games.wikigame.oracle import WikiGameOracle
from gem_games.wikigame.reader import WikiGameReader

__all__ = ["WikiGameEnv", "WikiGameOracle", "WikiGameReader"]
