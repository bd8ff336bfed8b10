"""Tools, at the paths of gem-llm."""

from gem.lazy import modules_of

__all__: list[str] = []

__getattr__ = modules_of(__name__)
