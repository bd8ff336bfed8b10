"""The event loop of the core, for synchronous callers of asynchronous functions."""

from gem_core.background import BackgroundLoop

__all__ = ["BackgroundLoop"]
