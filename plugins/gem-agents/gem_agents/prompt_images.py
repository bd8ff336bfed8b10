"""The images of prompts that a model decodes with a cache.

The tokens of two images are the same numbers. To compare prompts, the *keys* of a prompt have a
number of its own for each image in their place; two prompts with the same keys have the same keys
and values in the cache. An image is computed as a whole, so a cached beginning never ends inside
one.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gem_core.content import Image
from gem_core.errors import DataError
from gem_rollout.models.vision import Vision

__all__ = ["ImageReader", "PromptImages", "new_images"]


class PromptImages:
    """The images of one prompt.

    Args:
        images: The images.
        spans: ``(start, end)`` of the tokens of each.
        keys: The keys of the prompt's tokens.
        positions: The position of each token on three axes, (3, length), for a model that gives an
            image's tokens positions by row and column; None for other models.
    """

    def __init__(
        self,
        images: Sequence[Image],
        spans: Sequence[tuple[int, int]],
        keys: list[int],
        positions: torch.Tensor | None,
    ) -> None:
        self.keys = keys
        self._images = images
        self._spans = spans
        self._positions = positions
        self.shift = 0 if positions is None else int(positions.max()) + 1 - len(keys)
        """The position of a later token minus its index."""

    def whole(self, cached: int) -> int:
        """Return the length of a beginning without the images that end after it."""
        return min([cached, *(start for start, end in self._spans if start < cached < end)])

    def after(self, cached: int) -> list[Image]:
        """Return the images after a beginning of this length."""
        pairs = zip(self._images, self._spans, strict=True)
        return [image for image, (start, _) in pairs if start >= cached]

    def positions(self, index: torch.Tensor) -> torch.Tensor:
        """Return the positions of tokens with these indices, (3, tokens)."""
        shifted = (index + self.shift).expand(3, -1)
        if self._positions is None:
            return shifted
        known = self._positions.to(index.device)
        length = known.shape[1]
        return torch.where(index < length, known[:, index.clamp(max=length - 1)], shifted)


class ImageReader:
    """Prepares prompts with images for a model.

    Args:
        vision: How the model reads images.
        model: The model, without peft's wrapper.
    """

    def __init__(self, vision: Vision, model: Any) -> None:
        self.vision = vision
        self._rope_index: Callable[..., Any] | None = getattr(
            model.base_model, "get_rope_index", None
        )
        self._numbers: dict[Image, int] = {}
        self._device = next(model.parameters()).device
        self._dtype = model.dtype

    @property
    def has_axes(self) -> bool:
        """Whether positions have three axes."""
        return self._rope_index is not None

    def prepare(self, ids: Sequence[int], images: Sequence[Image]) -> PromptImages:
        """Return the images of a prompt.

        Args:
            ids: Token ids of the prompt.
            images: Its images, in the order of their tokens.

        Raises:
            DataError: The tokens of images are not those of these images.
            ContentError: An image is damaged.
        """
        places = [place for place, one in enumerate(ids) if one == self.vision.image_id]
        counts = list(map(self.vision.tokens_of, images))
        if sum(counts) != len(places) or 0 in counts:
            raise DataError(
                f"The prompt has {len(places)} tokens of images, and its {len(images)} images have "
                f"{sum(counts)}."
            )
        keys, spans = list(ids), []
        for image, count in zip(images, counts, strict=True):
            own, places = places[:count], places[count:]
            number = self._numbers.setdefault(image, -1 - len(self._numbers))
            for place in own:
                keys[place] = number
            spans.append((own[0], own[-1] + 1))
        return PromptImages(images, spans, keys, self._positions(ids, images))

    def _positions(self, ids: Sequence[int], images: Sequence[Image]) -> torch.Tensor | None:
        if self._rope_index is None:
            return None
        tokens = torch.tensor([ids], device=self._device)
        given = self.inputs(tokens, images)
        known = inspect.signature(self._rope_index).parameters
        positions: torch.Tensor = self._rope_index(
            tokens, **{name: one for name, one in given.items() if name in known}
        )[0]
        return positions[:, 0]

    def inputs(self, ids: torch.Tensor, images: Sequence[Image], **options: Any) -> dict[str, Any]:
        """Return the arguments of a forward pass for images; see ``Vision.inputs``."""
        return self.vision.inputs(ids, images, dtype=self._dtype, **options)


def new_images(prompts: Sequence[PromptImages | None], cached: Sequence[int]) -> list[Image]:
    """Return the images after the cached beginnings of prompts, in order."""
    pairs = zip(prompts, cached, strict=True) if prompts else ()
    return [image for one, start in pairs if one is not None for image in one.after(start)]
