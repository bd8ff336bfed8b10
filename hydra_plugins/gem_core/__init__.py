"""Where Hydra 1.3 looks for plugins."""

from gem_core.hydra_source import GemConfigSource, GemSearchPathPlugin

__all__ = ["GemConfigSource", "GemSearchPathPlugin"]
