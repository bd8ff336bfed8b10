"""Deprecated: use the library ``gem_tasks``."""

from gem_core.moved import moved_module

__all__: list[str] = []

__getattr__ = moved_module(__name__, "gem_tasks.parsing")
