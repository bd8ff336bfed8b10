"""Observations with images.

An observation with images is a dict of a text and ``images``, a list of ``Image``::

    {"problem": "Is <image> a triangle?", "images": [Image.of("shape.png")]}

``<image>`` in the text marks the place of an image. Images without a mark go before the text.
``gem_rollout.tokens.chat_content`` turns such an observation into the content of a chat message.
"""

import base64
import binascii
import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gem_core.errors import ContentError
from gem_core.observation import Observation

__all__ = [
    "PLACEHOLDER",
    "Image",
    "images_of",
    "place_images",
]

PLACEHOLDER = "<image>"
"""Marks the place of an image in a text."""
_DISARMED = "[image]"
_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}
_PNG_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}


@dataclass(frozen=True, slots=True, repr=False)
class Image:
    """An image in its file format: compressed, comparable, and cheap to send between processes.

    Args:
        data: The bytes of an image file.
        media_type: Their format: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
    """

    data: bytes
    media_type: str

    @classmethod
    def of(cls, value: Any) -> Self:
        """Return an image from any of its usual representations.

        Args:
            value: An ``Image``, a PIL image, the bytes of a file, a path, a ``data:`` URL (such as
                ``to_json`` gives), or a mapping with ``bytes`` or ``path`` as data sets have. What
                is not PNG, JPEG, GIF or WebP becomes PNG.

        Raises:
            ContentError: It is not an image, or the file cannot be read.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return cls._of_bytes(bytes(value))
        if isinstance(value, Mapping):
            return cls._of_mapping(value)
        if isinstance(value, str) and value.startswith("data:"):
            return cls._of_bytes(_bytes_of_url(value))
        if isinstance(value, str | os.PathLike):
            return cls._of_bytes(_bytes_of_file(value))
        pil = sys.modules.get("PIL.Image")
        if pil is not None and isinstance(value, pil.Image):
            return cls(_to_png(value), "image/png")
        raise ContentError(
            f"An image is a PIL image, bytes, a path, a data: URL, or a mapping with 'bytes' or "
            f"'path'; got {type(value).__name__}."
        )

    @classmethod
    def _of_bytes(cls, data: bytes) -> Self:
        kind = _sniff(data)
        if kind is not None:
            return cls(data, f"image/{kind}")
        return cls(_to_png(_decode(data)), "image/png")

    @classmethod
    def _of_mapping(cls, value: Mapping[str, Any]) -> Self:
        found = value.get("bytes") or value.get("path")
        if found is None or isinstance(found, Mapping):
            raise ContentError(
                f"An image as a mapping has 'bytes' or 'path'; got the keys {sorted(value)}, "
                f"neither with a value."
            )
        return cls.of(found)

    @property
    def data_url(self) -> str:
        """The image as a URL that holds all of it, in base64."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"

    def open(self) -> Any:
        """Return the image as a PIL image, decoded.

        Raises:
            ContentError: The data is damaged, or Pillow is not installed.
        """
        return _decode(self.data)

    def to_json(self) -> str:
        """Return the image for JSON, as its ``data_url``; ``of`` reads it."""
        return self.data_url

    def __repr__(self) -> str:
        return f"Image({self.media_type}, {len(self.data):,} bytes)"


def _sniff(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for start, kind in _SIGNATURES.items() if data.startswith(start)), None)


def _bytes_of_url(url: str) -> bytes:
    head, _, data = url.partition(",")
    if not head.endswith(";base64"):
        raise ContentError(f"The URL {url[:40]!r} holds no image: it is not in base64.")
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ContentError(f"The URL {url[:40]!r} holds no image: {error}.") from error


def _bytes_of_file(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise ContentError(f"The image {str(path)[:200]!r} cannot be read: {error}.") from error


def _decode(data: bytes) -> Any:
    try:
        import PIL.Image  # noqa: PLC0415 - only for those who look at the pixels
    except ImportError as error:
        raise ContentError("Reading an image needs Pillow: pip install pillow.") from error
    try:
        image = PIL.Image.open(io.BytesIO(data))
        image.load()
    except Exception as error:  # damaged files raise many things
        raise ContentError(
            f"These {len(data):,} bytes are not an image that can be read; they begin with "
            f"{data[:12]!r} ({type(error).__name__})."
        ) from error
    return image


def _to_png(image: Any) -> bytes:
    file = io.BytesIO()
    image = image if image.mode in _PNG_MODES else image.convert("RGB")
    image.save(file, "PNG")
    return file.getvalue()


def images_of(observation: Observation) -> list[Any]:
    """Return the images of an observation as they are; none for text."""
    if isinstance(observation, str) or not isinstance(observation, Mapping):
        return []
    images = observation.get("images")
    if images is None:
        return []
    return list(images) if isinstance(images, list | tuple) else [images]


def place_images(text: str, count: int) -> str:
    """Return the text with exactly ``count`` placeholders.

    Those that it lacks are put in front. Of those that it has too many, the last become
    ``[image]``: what an agent or a tool wrote must not take an image away from its place.
    """
    head, *rest = text.split(PLACEHOLDER)
    placed = min(len(rest), count)
    marks = [PLACEHOLDER] * placed + [_DISARMED] * (len(rest) - placed)
    marked = "".join(mark + piece for mark, piece in zip(marks, rest, strict=True))
    return PLACEHOLDER * (count - placed) + head + marked
