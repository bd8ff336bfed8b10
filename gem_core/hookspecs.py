"""The one hook of gem-core.

A plugin is a module with an implementation of ``gem_register``, named by an entry point of the
group ``gem``::

    # pyproject.toml
    [project.entry-points.gem]
    acme = "acme_gym.plugin"

    [project.entry-points."gem.namespaces"]  # optional: to make acme:..., this plugin is enough
    acme = "acme_gym.plugin"

    # acme_gym/plugin.py
    from gem_core import EnvSpec, hookimpl

    @hookimpl
    def gem_register(registry):
        registry.add(EnvSpec(id="acme:Echo-v0", entry_point="acme_gym.echo:EchoEnv"))
"""

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from gem_core.registry import Registry

__all__ = ["gem_register", "hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("gem")
hookimpl = pluggy.HookimplMarker("gem")


@hookspec
def gem_register(registry: "Registry") -> None:
    """Add specs to the registry.

    It is called once, when the plugin is loaded. Name entry points as strings, so that loading the
    plugin imports nothing heavy.
    """
