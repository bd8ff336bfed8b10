"""Observations and actions: text, or a dict with a text and other values."""

from typing import Any

__all__ = ["Action", "Info", "Observation", "text_of", "visible_text", "with_text"]

Observation = Any
"""Usually text; a dict if a task shows more (a text value and, for example, images)."""
Action = Any
"""Usually text, as the agent wrote it."""
Info = dict[str, Any]


def text_of(observation: Observation) -> str:
    """Return the text of an observation: itself, or the first text value of a dict."""
    if isinstance(observation, str):
        return observation
    key = _text_key(observation)
    return str(observation) if key is None else str(observation[key])


def with_text(observation: Observation, text: str) -> Observation:
    """Return the observation with its text replaced and everything else unchanged."""
    key = None if isinstance(observation, str) else _text_key(observation)
    return text if key is None else {**observation, key: text}


def _text_key(observation: Observation) -> str | None:
    if not isinstance(observation, dict):
        return None
    return next((key for key, value in observation.items() if isinstance(value, str)), None)


def visible_text(observation: Observation, info: Info) -> str:
    """Return the text that an agent sees: ``info``'s prefix, the observation, ``info``'s suffix.

    A history wrapper has already added them to the observation; they are not added twice.
    """
    text = text_of(observation)
    prefix, suffix = info.get("prefix", ""), info.get("suffix", "")
    if prefix and prefix not in text:
        text = prefix + text
    if suffix and suffix not in text:
        text = f"{text}\n{suffix}"
    return text
