"""The images of a batch as arguments of a model."""

from typing import Any

import torch

from gem_core.errors import ConfigError
from gem_rollout.models.vision import Vision
from gem_train.batch import Batch

__all__ = ["image_inputs"]


def image_inputs(vision: Vision | None, batch: Batch, dtype: torch.dtype) -> dict[str, Any]:
    """Return the arguments of a forward pass over whole rows for their images; none without images.

    Args:
        vision: How the model reads images; None if it reads text only.
        batch: The rows.
        dtype: Type of the pixels.

    Raises:
        ConfigError: There are images, and the model reads text only.
        ContentError: An image is damaged.
    """
    if batch.images is None:
        return {}
    if vision is None:
        raise ConfigError(
            "The episodes show images, and the policy reads text only. Train a vision-language "
            "model that comes with its processor, or choose environments whose observations are "
            "text."
        )
    images = [image for of_row in batch.images for image in of_row]
    return vision.inputs(batch.ids, images, dtype=dtype)
