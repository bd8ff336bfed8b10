"""Discovery of plugins: which are installed, what each registered, and why one is broken.

Entry points of the group ``gem`` are loaded one by one, each guarded, so that a broken plugin never
harms another; its error is kept for ``gem-core plugins`` and for the message about an unknown id.
The environment variable ``GEM_PLUGINS`` (comma-separated names of entry points or
distributions; empty for none) limits what is loaded.
"""

import contextlib
import functools
import logging
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from typing import Literal

import pluggy

from gem_core import builtins, hookspecs
from gem_core.errors import DuplicateIdError, PluginError
from gem_core.lifetimes import Lock
from gem_core.notices import notice_after
from gem_core.registry import Registry

__all__ = ["PluginStatus", "Plugins", "default_registry", "load_plugins"]

logger = logging.getLogger("gem_core")

SLOW_SECONDS = 0.5
"""A plugin whose loading takes more processor time is reported as slow."""
NOTICE_SECONDS = 3.0
"""A plugin that is still loading after this time is named on the standard error."""

State = Literal["loaded", "slow", "clash", "broken", "not selected"]


@dataclass
class PluginStatus:
    """The state of one plugin after loading.

    Args:
        name: Name of the entry point.
        value: What the entry point names.
        distribution: The distribution it comes from, with its version.
        state: ``loaded``; ``slow`` (loaded, but its import is heavy); ``clash`` (loaded, but
            another distribution registers one of its ids too); ``broken``; ``not selected``.
        problems: Why the state is not ``loaded``, one line each.
        seconds: Time to load it.
        error: The exception, if there was one.
    """

    name: str
    value: str
    distribution: str
    state: State = "loaded"
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: BaseException | None = None


class Plugins:
    """All plugins of this installation, and the registry that they fill."""

    def __init__(self) -> None:
        self.registry = Registry(self._explain_unknown)
        self.statuses: list[PluginStatus] = []
        self._manager = pluggy.PluginManager("gem")
        self._manager.add_hookspecs(hookspecs)
        self._manager.hook.gem_register.call_historic(kwargs={"registry": self.registry})
        with self.registry.registering("gem-core"):
            self._manager.register(builtins)

    def load_installed(self) -> None:
        """Load every installed plugin that ``GEM_PLUGINS`` selects."""
        selection = os.environ.get("GEM_PLUGINS")
        selected = None if selection is None else {name.strip() for name in selection.split(",")}
        for distribution, entry_point in _entry_points():
            status = PluginStatus(entry_point.name, entry_point.value, distribution)
            self.statuses.append(status)
            names = {entry_point.name, distribution.partition(" ")[0]}
            if selected is not None and not names & selected:
                status.state = "not selected"
            else:
                self._load(entry_point, status)

    def _load(self, entry_point: metadata.EntryPoint, status: PluginStatus) -> None:
        """Load one plugin and record the outcome; it raises nothing.

        What the plugin prints goes to the standard error: the standard output is for results.
        """
        start, begun = time.perf_counter(), time.thread_time()
        clashes: list[DuplicateIdError] = []
        try:
            with (
                notice_after(NOTICE_SECONDS, _notice(status)),
                contextlib.redirect_stdout(sys.stderr),
                self.registry.registering(status.distribution) as clashes,
            ):
                self._register(entry_point)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything
            status.state, status.error = "broken", error
            status.problems.append(f"{type(error).__name__}: {error}")
        status.seconds = time.perf_counter() - start
        if clashes:
            status.state, status.error = "clash", clashes[0]
            status.problems += [str(clash) for clash in clashes]
        elif status.state == "loaded" and time.thread_time() - begun > SLOW_SECONDS:
            status.state = "slow"
            status.problems.append(
                f"took {status.seconds:.1f} s to load; its plugin module should name entry points "
                f"as strings and import nothing heavy"
            )
        if status.problems:
            logger.warning("plugin %s: %s", status.name, "; ".join(status.problems))

    def _register(self, entry_point: metadata.EntryPoint) -> None:
        plugin = entry_point.load()
        if self._manager.is_registered(plugin):
            return
        self._manager.register(plugin, name=entry_point.value)
        hooks = self._manager.get_hookcallers(plugin) or []
        if not any(hook.name == "gem_register" for hook in hooks):
            self._manager.unregister(plugin)
            raise PluginError(
                f"{entry_point.value} has no hook: it needs a function 'gem_register(registry)' "
                f"marked with @gem_core.hookimpl"
            )

    def _explain_unknown(self) -> str:
        sentences = [
            f"Plugin {status.name!r} of {status.distribution} failed to load "
            f"({status.problems[0]}); it may have the id."
            for status in self.statuses
            if status.state == "broken"
        ]
        skipped = [status.name for status in self.statuses if status.state == "not selected"]
        if skipped:
            sentences.append(f"GEM_PLUGINS leaves out: {', '.join(skipped)}.")
        return " ".join(sentences)


def _notice(status: PluginStatus) -> str:
    return (
        f"The plugin {status.name!r} of {status.distribution} ({status.value}) is still loading "
        f"after {NOTICE_SECONDS:.0f} s. GEM_PLUGINS=NAME,... limits what is loaded."
    )


def _entry_points() -> Iterator[tuple[str, metadata.EntryPoint]]:
    """Yield each entry point of the group once, with its distribution, in a stable order."""
    found: dict[tuple[str, str], metadata.EntryPoint] = {}
    for entry_point in metadata.entry_points(group="gem"):
        dist = entry_point.dist
        distribution = f"{dist.name} {dist.version}" if dist is not None else "unknown"
        found.setdefault((distribution, entry_point.value), entry_point)
    for (distribution, _), entry_point in sorted(found.items(), key=lambda item: item[0]):
        yield distribution, entry_point


_lock = Lock()
_loading: list[Plugins] = []
# A fork waits until another thread has loaded the plugins: in the fork, a module that was being
# imported could never be imported.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


@functools.cache
def _load_once() -> Plugins:
    plugins = Plugins()
    _loading.append(plugins)
    try:
        plugins.load_installed()
    finally:
        _loading.clear()
    return plugins


def load_plugins() -> Plugins:
    """Return the plugins of this process, loaded on the first call.

    Raises:
        PluginError: A plugin called it while it was being loaded.
    """
    with _lock:
        if _loading:
            raise PluginError(
                "The registry was used while plugins are being loaded. A plugin adds its specs to "
                "the registry that gem_register receives; it must not call register or make "
                "before that."
            )
        return _load_once()


def default_registry() -> Registry:
    """Return the registry of this process, filled by every plugin."""
    return load_plugins().registry
