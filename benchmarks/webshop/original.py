"""The original WebShop as a server of lines of JSON; it runs under an interpreter of its own.

``python original.py CHECKOUT DATA`` starts the environment of a checkout of
https://github.com/princeton-nlp/WebShop with the products of a folder. What needs Java or a model
is replaced: the search answers with the products that the request names, and the tagger with the
nouns that it was given.

A request is an object with ``do``: ``begin`` (``goal``, ``mode``, ``prices``, ``nouns``), ``step``
(``action``, ``hits``), ``goals`` or ``walk`` (``goal``, ``mode``, ``actions``, each with its hits).
"""

import contextlib
import json
import resource
import sys
import time
import types
from pathlib import Path
from typing import Any

_HITS: list[str] = []
_NOUNS: dict[str, list[str]] = {}


class _Hit(types.SimpleNamespace):
    """A result of the search engine, and its document."""

    def raw(self) -> str:
        return json.dumps({"id": self.docid})


class _Searcher:
    """Answers with the products that the request names."""

    def __init__(self, *_: Any) -> None:
        pass

    def search(self, _: str, k: int) -> list[_Hit]:
        return [_Hit(docid=asin) for asin in _HITS[:k]]

    def doc(self, asin: str) -> _Hit:
        return _Hit(docid=asin)


def _tagger(title: str) -> list[Any]:
    return [types.SimpleNamespace(text=noun, pos_="NOUN") for noun in _NOUNS.get(title, ())]


def _stand_in(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], child, module)


def _replace_what_is_large() -> None:
    _stand_in("pyserini")
    _stand_in("pyserini.search")
    _stand_in("pyserini.search.lucene", LuceneSearcher=_Searcher)
    _stand_in("spacy", load=lambda _: _tagger)
    _stand_in("torch")
    _stand_in("gym", Env=object)
    _stand_in("gym.envs")
    _stand_in("gym.envs.registration", register=lambda **_: None)
    # The package imports a browser's driver; only this module is needed.
    _stand_in("web_agent_site.envs.web_agent_site_env", WebAgentSiteEnv=object)


class Original:
    """The environment of a checkout."""

    def __init__(self, checkout: Path, data: Path) -> None:
        _replace_what_is_large()
        sys.path.insert(0, str(checkout))
        from web_agent_site import utils  # noqa: PLC0415

        utils.DEFAULT_ATTR_PATH = str(data / "items_ins_v2.json")
        utils.HUMAN_ATTR_PATH = str(data / "items_human_ins.json")
        from web_agent_site.envs import web_agent_text_env as module  # noqa: PLC0415

        human = (data / "items_human_ins.json").stat().st_size > 2
        self._server = module.SimServer(
            "http://webshop.test", str(data / "items_shuffle.json"), human_goals=human
        )
        self._make = module.WebAgentTextEnv
        self._env: Any = None

    def begin(self, goal: dict[str, Any], mode: str, **given: Any) -> dict[str, Any]:
        """Start an episode with a goal."""
        _NOUNS.update(given.get("nouns", {}))
        self._server.product_prices.update(given.get("prices", {}))
        self._server.goals = [goal]
        self._server.cum_weights = [0, 1]
        if self._env is None:
            self._env = self._make(server=self._server)
        self._env.observation_mode = mode
        observation, _ = self._env.reset()
        return {"observation": observation, **self._env.get_available_actions()}

    def step(self, action: str, hits: list[str]) -> dict[str, Any]:
        """Take an action."""
        _HITS[:] = hits
        observation, reward, done, _ = self._env.step(action)
        found = {"observation": observation, "reward": reward, "done": done}
        return found if done else {**found, **self._env.get_available_actions()}

    def goals(self) -> dict[str, Any]:
        """Return the goals that the original has made."""
        return {"goals": self._server.goals}

    def walk(self, episodes: list[Any], mode: str) -> dict[str, Any]:
        """Play episodes; return the seconds of the CPU for steps and resets, and the memory."""
        steps = reset = 0.0
        for goal, actions in episodes:
            start = time.process_time()
            self.begin(goal, mode)
            reset += time.process_time() - start
            start = time.process_time()
            for action, hits in actions:
                _HITS[:] = hits
                self._env.step(action)
            steps += time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"steps": steps, "resets": reset, "kib": memory}


def main() -> None:
    """Serve requests from the standard input."""
    lines = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # the original prints
        original = Original(Path(sys.argv[1]), Path(sys.argv[2]))
        print(json.dumps({"ready": True}), file=lines, flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            answer = getattr(original, request.pop("do"))(**request)
            print(json.dumps(answer), file=lines, flush=True)


if __name__ == "__main__":
    main()
