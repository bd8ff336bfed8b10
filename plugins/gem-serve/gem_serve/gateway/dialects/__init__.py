"""The APIs that programs speak."""

from gem_serve.gateway.dialects.anthropic import MESSAGES
from gem_serve.gateway.dialects.base import Dialect
from gem_serve.gateway.dialects.chat import CHAT
from gem_serve.gateway.dialects.completions import COMPLETIONS
from gem_serve.gateway.dialects.responses import RESPONSES

__all__ = ["DIALECTS"]

DIALECTS: dict[str, Dialect] = {
    "chat/completions": CHAT,
    "completions": COMPLETIONS,
    "responses": RESPONSES,
    "messages": MESSAGES,
}
"""The dialects by the path of their requests, below ``/v1``."""
