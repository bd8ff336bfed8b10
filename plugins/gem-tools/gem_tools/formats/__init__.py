"""Call formats: Hermes tags, code fences, and OpenAI's messages."""

from gem_tools.formats.marked import FencedFormat, HermesFormat
from gem_tools.formats.openai import OpenAIFormat

__all__ = ["FencedFormat", "HermesFormat", "OpenAIFormat"]
