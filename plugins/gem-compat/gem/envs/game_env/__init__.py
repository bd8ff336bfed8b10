"""The games of gem-games, with the constructors, resets and flags of gem-llm."""

from gem.lazy import modules_of

__all__: list[str] = []

__getattr__ = modules_of(__name__)
