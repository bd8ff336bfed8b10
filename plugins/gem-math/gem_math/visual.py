"""Mathematical problems with figures: observations with text and images."""

from typing import Any, ClassVar

from gem_core import Observation
from gem_core.content import Image, images_of
from gem_math.env import MathEnv

__all__ = ["MathVisualEnv"]


class MathVisualEnv(MathEnv):
    r"""One problem with its figures per episode, answered in ``\boxed{...}``.

    The observation is ``{"problem": text, "images": [Image, ...]}``; see ``gem_core.content``.

    Args:
        image_key: The column of the images: one image or a list, of any type ``Image.of`` accepts.
        options: The options of ``MathEnv``.

    Raises:
        ContentError: In ``reset``: a value in the column of images is not an image.
    """

    shared: ClassVar[tuple[str, ...]] = ("image_key",)

    def __init__(self, *, image_key: str = "images", **options: Any) -> None:
        self.image_key = image_key
        super().__init__(**options)

    def _columns(self) -> dict[str, Any]:
        return {**super()._columns(), self.image_key: Any}

    def question(self, row: dict[str, Any]) -> Observation:
        images = images_of({"images": row[self.image_key]})
        row[self.image_key] = [Image.of(image) for image in images]  # keeps snapshots small
        return {"problem": super().question(row), "images": row[self.image_key]}
