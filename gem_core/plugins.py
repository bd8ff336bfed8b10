"""Discovery of plugins: which are installed, what each registered, and why one is broken.

Entry points of the group ``gem`` are loaded one by one, each guarded, so that a broken plugin never
harms another; its error is kept for ``gem-core plugins`` and for the message about an unknown id.
Those of the group ``gem.namespaces`` declare namespaces of environments, and their values do not
matter: the declaration is the distribution's.
The environment variable ``GEM_PLUGINS`` (comma-separated names of entry points or
distributions; empty for none) limits what is loaded.
"""

import contextlib
import functools
import importlib
import logging
import os
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Literal

import pluggy

from gem_core import builtins, hookspecs
from gem_core.errors import DuplicateIdError, PluginError
from gem_core.installed import NAMESPACES, installed, normalized
from gem_core.lifetimes import Lock
from gem_core.notices import notice_after
from gem_core.registry import CORE, Registry

__all__ = ["PluginStatus", "Plugins", "default_registry", "load_plugins"]

logger = logging.getLogger("gem_core")

SLOW_SECONDS = 0.5
"""A plugin whose loading takes more processor time is reported as slow."""
NOTICE_SECONDS = 3.0
"""A plugin that is still loading after this time is named on the standard error."""

State = Literal["not loaded", "loaded", "slow", "clash", "broken", "not selected"]


@dataclass
class PluginStatus:
    """The state of one plugin.

    Args:
        name: Name of the entry point.
        value: What the entry point names.
        distribution: The distribution it comes from, with its version.
        state: ``not loaded`` (yet); ``loaded``; ``slow`` (loaded, but its import is heavy);
            ``clash`` (loaded, but another distribution registers one of its ids too); ``broken``;
            ``not selected``.
        problems: Why the state is not ``loaded``, one line each.
        seconds: Time to load it.
        error: The exception, if there was one.
    """

    name: str
    value: str
    distribution: str
    state: State
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    error: BaseException | None = None


class Plugins:
    """All plugins of this installation, and the registry that they fill.

    A plugin is loaded when the registry is asked for something that it may have. A namespace of
    environments that distributions declare is theirs: only their plugins can add to it, so only
    they are loaded for one of its ids. For anything else all plugins are loaded.
    """

    def __init__(self) -> None:
        self.registry = Registry(load=self.load, explain_unknown=self._explain_unknown)
        self.is_loading = False
        """Whether a plugin is just being loaded."""
        self._loaded: set[str] = set()
        self._registered: list[object] = []
        self._owners: dict[str, set[str]] = {}
        self.statuses: list[PluginStatus] = []
        """The plugins, sorted by distribution."""
        self._include(builtins, "gem_core.builtins", CORE)
        self._find_installed()

    def _find_installed(self) -> None:
        """Find every installed plugin, and which ``GEM_PLUGINS`` selects."""
        selection = os.environ.get("GEM_PLUGINS")
        selected = None if selection is None else {name.strip() for name in selection.split(",")}
        for one in installed():
            for value, name in one.plugins.items():
                names = {name, one.name.partition(" ")[0]}
                is_selected = selected is None or bool(names & selected)
                state: State = "not loaded" if is_selected else "not selected"
                self.statuses.append(PluginStatus(name, value, one.name, state))
                for namespace in one.namespaces if is_selected else ():
                    self._owners.setdefault(namespace, set()).add(one.name)

    def named(self, name: str) -> list[PluginStatus]:
        """Return the plugin of a name, or those of the distribution ``name``; empty for neither."""
        by_name = [status for status in self.statuses if status.name == name]
        return by_name or [
            status
            for status in self.statuses
            if normalized(status.distribution.partition(" ")[0]) == normalized(name)
        ]

    def load(self, namespace: str = "") -> None:
        """Load the plugins of a namespace, or all of them if it is empty or nobody declares it."""
        namespace = namespace if namespace in self._owners else ""
        if namespace in self._loaded or "" in self._loaded:
            return
        with _lock:
            if self.is_loading:
                return
            self.is_loading = True
            try:
                for status in self.statuses:
                    is_asked_for = not namespace or status.distribution in self._owners[namespace]
                    if status.state == "not loaded" and is_asked_for:
                        self._load(status)
                self._loaded.add(namespace)
            finally:
                self.is_loading = False

    def _load(self, status: PluginStatus) -> None:
        """Load one plugin and record the outcome; it raises nothing.

        What the plugin prints goes to the standard error: the standard output is for results.
        """
        start, begun = time.perf_counter(), time.thread_time()
        clashes: list[DuplicateIdError] = []
        try:
            with (
                notice_after(NOTICE_SECONDS, _notice(status)),
                contextlib.redirect_stdout(sys.stderr),
            ):
                clashes = self._include(_entry(status.value), status.value, status.distribution)
            status.state = "loaded"
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

    def _include(self, plugin: object, name: str, distribution: str) -> list[DuplicateIdError]:
        """Call the hook of a plugin, and add what it registers unless it raises an error."""
        if any(plugin is one for one in self._registered):  # of another entry point
            return []
        manager = pluggy.PluginManager("gem")
        manager.add_hookspecs(hookspecs)
        manager.register(plugin, name=name)
        if not manager.hook.gem_register.get_hookimpls():
            raise PluginError(
                f"{name} has no hook: it needs a function 'gem_register(registry)' marked with "
                f"@gem_core.hookimpl"
            )
        part = Registry(distribution)
        manager.hook.gem_register(registry=part)
        for namespace in sorted(part.namespaces() & self._owners.keys()):
            owners = self._owners[namespace]
            if distribution not in owners:
                raise PluginError(
                    f"it adds environments to the namespace {namespace!r}, which belongs to "
                    f"{', '.join(sorted(owners))}. To share it, declare it too: "
                    f'[project.entry-points."{NAMESPACES}"] {namespace} = "..."'
                )
        self._registered.append(plugin)
        return self.registry.include(part)

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


def _entry(value: str) -> Any:
    """Import what an entry point names: ``module`` or ``module:attribute``."""
    module, _, attributes = value.partition("[")[0].partition(":")
    names = attributes.strip().split(".") if attributes.strip() else []
    return functools.reduce(getattr, names, importlib.import_module(module.strip()))


_lock = Lock()
# A fork waits until another thread has loaded the plugins: in the fork, a module that was being
# imported could never be imported.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


@functools.cache
def _plugins() -> Plugins:
    return Plugins()


def _found_plugins() -> Plugins:
    with _lock:
        plugins = _plugins()
        if plugins.is_loading:
            raise PluginError(
                "The registry was used while plugins are being loaded. A plugin adds its specs to "
                "the registry that gem_register receives; it must not call register or make "
                "before that."
            )
        return plugins


def load_plugins() -> Plugins:
    """Return the plugins of this process, and load those that are not loaded yet.

    Raises:
        PluginError: A plugin called it while it was being loaded.
    """
    plugins = _found_plugins()
    plugins.load()
    return plugins


def default_registry() -> Registry:
    """Return the registry of this process, which loads the plugins that it needs.

    Raises:
        PluginError: A plugin called it while it was being loaded.
    """
    return _found_plugins().registry
