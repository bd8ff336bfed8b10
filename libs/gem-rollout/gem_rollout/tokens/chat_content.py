"""Observations as the content of chat messages: text and images, in order.

``content_parts`` splits an observation into its parts; ``to_openai`` and ``to_transformers`` turn
the parts into the content of a message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.content import PLACEHOLDER, Image, images_of, place_images
from gem_core.observation import Info, Observation, visible_text

__all__ = [
    "ContentPart",
    "TextPart",
    "content_parts",
    "images_of_messages",
    "to_openai",
    "to_transformers",
]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text."""

    text: str


ContentPart = TextPart | Image
"""A part of an observation: a piece of text, or an image."""


def content_parts(observation: Observation, info: Info | None = None) -> list[ContentPart]:
    """Return the parts of an observation, in order.

    Args:
        observation: Text, or a dict of one text and ``images``.
        info: The info beside it; its prefix and suffix are shown too, see ``visible_text``.

    Raises:
        ContentError: An item of ``images`` is not an image.
    """
    text = visible_text(observation, info or {})
    images = [Image.of(value) for value in images_of(observation)]
    if not images:
        return [TextPart(text)]
    head, *rest = place_images(text, len(images)).split(PLACEHOLDER)
    parts: list[ContentPart] = [TextPart(head)]
    for image, piece in zip(images, rest, strict=True):
        parts += [image, TextPart(piece)]
    return [part for part in parts if isinstance(part, Image) or part.text]


def to_openai(parts: Sequence[ContentPart]) -> str | list[dict[str, Any]]:
    """Return the content of a chat message as OpenAI's API and those like it take it.

    Text alone is returned as text. Images are sent along as ``data:`` URLs.
    """
    if not any(isinstance(part, Image) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, TextPart))
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "image_url", "image_url": {"url": part.data_url}}
        for part in parts
    ]


def to_transformers(parts: Sequence[ContentPart]) -> list[dict[str, Any]]:
    """Return the content of a chat message as ``apply_chat_template`` of a processor takes it.

    Images are PIL images.

    Raises:
        ContentError: An image is damaged, or Pillow is not installed.
    """
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "image", "image": part.open()}
        for part in parts
    ]


def images_of_messages(messages: Iterable[Mapping[str, Any]]) -> list[Image]:
    """Return the images of chat messages in OpenAI's format, in order.

    Raises:
        ContentError: An image is damaged.
    """
    contents = [message.get("content") for message in messages]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return [
        Image.of(part["image_url"]["url"])
        for part in parts
        if isinstance(part, Mapping) and part.get("type") == "image_url"
    ]
