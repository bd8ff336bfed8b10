"""Agents that ask language models: OpenAI-compatible endpoints, and local transformers models.

The ids of the agents are registered in ``plugin.py``.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_agents.adaptive_limit import AdaptiveLimit

__all__ = ["AdaptiveLimit"]

__getattr__, __dir__ = lazy_names(__name__, {"adaptive_limit": ("AdaptiveLimit",)})
