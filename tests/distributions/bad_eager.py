"""A plugin that registers while it is imported, instead of in its hook."""

import gem_core

__all__: list[str] = []

gem_core.register("eager:First-v0", "collections:Counter")
