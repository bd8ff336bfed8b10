"""Answers to the requests of the page: about some runs, or about a folder of runs."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock
from gem_eval.view.home import Home
from gem_eval.view.overview import overview
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.store import Store
from gem_eval.view.training import training

__all__ = ["Answers", "HomeAnswers", "RunAnswers"]

_REFRESH_SECONDS = 2.0
_REST = 4
"""A refresh is followed by a pause of at least so many times its own duration."""
_MOST_OPEN = 4


class Answers(Protocol):
    """What a server says; it may be asked by several threads."""

    def answer(self, path: str, given: Mapping[str, str], names: Sequence[str]) -> Any:
        """Return the answer to a request; None if the path does not exist.

        Args:
            path: The path of the URL.
            given: The parameters of the URL.
            names: The runs that the URL names.

        Raises:
            GemError: A parameter is out of its range, or a run does not exist.
        """

    def change(self, path: str, given: Mapping[str, Any]) -> Any:
        """Change something, and return the answer; None if the path does not exist.

        Args:
            path: The path of the URL.
            given: The JSON object of the request.

        Raises:
            GemError: The change is not possible.
        """

    def close(self) -> None:
        """Close what was opened to answer."""


class _Refresher:
    """Calls a function now and then, in one thread at a time."""

    def __init__(self, refresh: Callable[[], object], *, is_fresh: bool) -> None:
        self._refresh, self._next = refresh, time.monotonic() + _REFRESH_SECONDS * is_fresh
        self._lock = Lock()

    def __call__(self) -> None:
        started = time.monotonic()
        if started < self._next or not self._lock.acquire(blocking=False):
            return
        try:
            self._refresh()
            ended = time.monotonic()
            self._next = ended + max(_REFRESH_SECONDS, _REST * (ended - started))
        finally:
            self._lock.release()


class RunAnswers:
    """Answers about the episodes of some runs.

    Args:
        store: The runs, which were indexed.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept: dict[tuple[str, ...], Any] = {}
        self._refresh = _Refresher(self._index, is_fresh=True)

    def answer(self, path: str, given: Mapping[str, str], names: Sequence[str] = ()) -> Any:
        """See ``Answers``."""
        if names:
            raise ConfigError(
                f"The link names the run {names[0]!r}, but this viewer shows no folder of runs: "
                f"start it with gem-core view FOLDER."
            )
        answers = {
            "/api/size": self._size,
            "/api/overview": self._overview,
            "/api/training": self._training,
            "/api/episodes": self._episodes,
            "/api/episode": self._episode,
            "/api/tasks": self._tasks,
        }
        return answers[path](given) if path in answers else None

    def change(self, path: str, given: Mapping[str, Any]) -> Any:
        """See ``Answers``; nothing can be changed."""

    def close(self) -> None:
        """See ``Answers``; whoever made the store closes it."""

    def _index(self) -> None:
        if self.store.refresh():
            self._kept = {}

    def _size(self, _: Mapping[str, str]) -> Any:
        self._refresh()
        return {"episodes": self.store.size, "training": self.store.state}

    def _overview(self, given: Mapping[str, str]) -> Any:
        env = given.get("env", "")
        return self._cached(("overview", env), lambda: overview(self.store, env))

    def _training(self, given: Mapping[str, str]) -> Any:
        every = given.get("every", "")
        return self._cached(("training", every), lambda: training(self.store, every=every == "1"))

    def _episodes(self, given: Mapping[str, str]) -> Any:
        return self.store.page(EpisodeQuery.of(given))

    def _episode(self, given: Mapping[str, str]) -> Any:
        episode_id = given.get("id", "")
        places = self.store.neighbours(episode_id, EpisodeQuery.of(given))
        return {**self.store.episode(episode_id), **places}

    def _tasks(self, given: Mapping[str, str]) -> Any:
        a, b = (_series(self.store, given.get(side, "")) for side in ("a", "b"))
        query = EpisodeQuery.of(given)
        return self.store.tasks(a, b, env=query.env, offset=query.offset, limit=query.limit)

    def _cached(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """Return what is made for a key once, until the runs grow."""
        kept = self._kept
        if key not in kept:
            kept[key] = make()
        return kept[key]


def _series(store: Store, text: str) -> int:
    if text.isdecimal() and len(text) < 9 and int(text) < len(store.series):
        return int(text)
    raise ConfigError(f"There is no series {text!r}: there are {len(store.series)}.")


@dataclass(eq=False)
class _Opened:
    """Runs that were opened together, and the number of requests that are using them."""

    lock: Lock = field(default_factory=Lock)
    answers: RunAnswers | None = None
    users: int = 0


class HomeAnswers:
    """Answers about a folder of runs, and about the runs in it that a request names.

    The runs that were asked for last stay open.

    Args:
        home: The folder.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock, self._changing = Lock(), Lock()
        self._opened: dict[tuple[str, ...], _Opened] = {}
        self._replaced: list[_Opened] = []
        self._refresh = _Refresher(home.refresh, is_fresh=False)

    def answer(self, path: str, given: Mapping[str, str], names: Sequence[str]) -> Any:
        """See ``Answers``."""
        if names:
            with self._open(tuple(dict.fromkeys(names))) as answers:
                found = answers.answer(path, given)
            return {**found, "home": True} if path == "/api/size" else found
        self._refresh()
        if path == "/api/size":
            return {"episodes": 0, "training": "", "home": True, "runs": self.home.version}
        if path == "/api/runs":
            return {"folder": self.home.shown_path, "rows": self.home.rows}
        raise ConfigError(
            f"The link names no run: choose one of the {len(self.home.rows)} in "
            f"{self.home.shown_path}."
        )

    def change(self, path: str, given: Mapping[str, Any]) -> Any:
        """See ``Answers``: ``/api/tags`` adds and removes tags of a run."""
        if path != "/api/tags":
            return None
        name, add, remove = given.get("run"), given.get("add", []), given.get("remove", [])
        lists = all(
            isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
            for tags in (add, remove)
        )
        if not isinstance(name, str) or not lists:
            raise ConfigError("run must be a text; add and remove must be lists of texts.")
        with self._changing:
            tags = self.home.run(name).change_tags(add=add, remove=remove)
            self.home.refresh()
        return {"tags": tags}

    def close(self) -> None:
        """Close the runs that are open."""
        with self._lock:
            self._replaced += self._opened.values()
            self._opened.clear()
            self._close_unused()

    @contextlib.contextmanager
    def _open(self, names: tuple[str, ...]) -> Iterator[RunAnswers]:
        """Lend the answers about some runs, which stay open at least until the end of the block."""
        with self._lock:
            opened = self._opened.pop(names, None) or _Opened()
            self._opened[names] = opened  # the last one is the one that was asked for last
            opened.users += 1
            for old in list(self._opened)[:-_MOST_OPEN]:
                self._replaced.append(self._opened.pop(old))
        try:
            with opened.lock:
                if opened.answers is None:
                    opened.answers = RunAnswers(self._store(names))
            yield opened.answers
        finally:
            with self._lock:
                opened.users -= 1
                if opened.answers is None and self._opened.get(names) is opened:
                    del self._opened[names]
                self._close_unused()

    def _store(self, names: tuple[str, ...]) -> Store:
        store = Store([self.home.run(name).path for name in names])
        try:
            store.refresh()
        except BaseException:
            store.close()
            raise
        return store

    def _close_unused(self) -> None:
        unused = [one for one in self._replaced if not one.users]
        self._replaced = [one for one in self._replaced if one.users]
        for one in unused:
            if one.answers is not None:
                one.answers.store.close()
