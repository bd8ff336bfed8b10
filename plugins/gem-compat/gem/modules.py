"""Modules of gem-llm without a file in this package: each is made from a table on import.

There are three kinds: games, whose classes are those of ``gem_games`` with another constructor;
modules whose names another package defines; and modules whose names gem-core does not have yet.
After ``import gem``, each can be imported like a module with a file.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from gem.games import GAME_ENV, GAMES, home_of
from gem.requirements import absent

__all__: list[str] = []

_MULTI_AGENT = "gem.multi_agent"
_WIKI = f"{GAME_ENV}.wikigame"
_WIKI_GAMES = "gem_games.wikigame"
_REEXPORTED = {
    "gem.envs.multiagent": {"MultiAgentEnv": _MULTI_AGENT},
    "gem.envs.multiagent.multi_agent_env": {
        "AgentSelector": _MULTI_AGENT,
        "MultiAgentEnv": _MULTI_AGENT,
    },
    f"{_WIKI}.dynamics": {
        "EideticDynamics": f"{_WIKI_GAMES}.variants:Eidetic",
        "FreeNavDynamics": f"{_WIKI_GAMES}.variants:FreeNav",
        "NoRegretsDynamics": f"{_WIKI_GAMES}.variants:NoRegrets",
        "OneBackDynamics": f"{_WIKI_GAMES}.variants:OneBack",
        "WikiGameDynamics": f"{_WIKI_GAMES}.variants:Variant",
    },
    f"{_WIKI}.errors": {
        "BackendFailureException": f"{_WIKI_GAMES}.errors:PageFault",
        "DisambiguationException": f"{_WIKI_GAMES}.errors:DisambiguationError",
        "QueryPageNotFoundException": f"{_WIKI_GAMES}.errors:PageNotFoundError",
    },
    f"{_WIKI}.rewards": {"WikiGameReward": f"{_WIKI_GAMES}.rewards"},
}
"""Names by module, each with the module that defines it, and its name there if it differs."""
_ABSENT: dict[str, dict[str, Sequence[str]]] = {
    "executor of commands in containers": {
        "gem.envs.terminal.executor": ["DockerExecutor"],
        "gem.envs.terminal.reward": ["calculate_test_score"],
    },
}
_ABSENT_MODULES = {
    module: (names, what) for what, modules in _ABSENT.items() for module, names in modules.items()
}


_GAME_MODULES = {
    **{f"{GAME_ENV}.{game}": game for game in GAMES},
    **{home_of(game): game for game in GAMES},
}
_MODULES = {*_GAME_MODULES, *_REEXPORTED, *_ABSENT_MODULES}


def _found(item: str, home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(importlib.import_module(module), name or item)


class _TableImporter:
    """Finds and loads the modules of the tables; modules with a file come first."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in _MODULES:
            return None
        is_package = any(other.startswith(f"{name}.") for other in _MODULES)
        return ModuleSpec(name, self, origin=__file__, is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None  # the default: an empty module

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in _ABSENT_MODULES:
            names, what = _ABSENT_MODULES[name]
            module.__doc__ = f"{what[0].upper()}{what[1:]}: not in gem-core yet."
            module.__getattr__ = absent(name, names, what)  # type: ignore[method-assign]
            return
        if name in _GAME_MODULES:
            from gem.envs.game_env.hooks import game_class  # noqa: PLC0415 - imports gem_games

            cls = game_class(_GAME_MODULES[name])
            found: dict[str, Any] = {cls.__name__: cls}
        else:
            homes = _REEXPORTED[name].items()
            found = {item: _found(item, home) for item, home in homes}
        module.__doc__ = f"{', '.join(found)} of gem-llm."
        module.__dict__.update(found, __all__=sorted(found))


sys.meta_path.append(_TableImporter())
