"""Environments on a server: ``make("remote:HOST:PORT/ID")``."""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_serve.remote.env import RemoteEnv

__all__ = ["RemoteEnv"]

__getattr__, __dir__ = lazy_names(__name__, {"env": ("RemoteEnv",)})
