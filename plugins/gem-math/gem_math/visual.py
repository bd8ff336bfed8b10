"""Mathematical problems with figures: observations of text and images."""

from typing import Any, ClassVar

from gem_core import Observation
from gem_core.content import Image, images_of
from gem_math.env import MathEnv

__all__ = ["MathVisualEnv"]


class MathVisualEnv(MathEnv):
    r"""One problem with its figures an episode, answered in ``\boxed{...}``.

    The observation is ``{"problem": text, "images": [Image, ...]}``; ``gem_core.content`` says
    more about it.

    Args:
        image_key: Column of the images: one, or a list; whatever ``Image.of`` reads.
        dataset_name: ``org/name`` of a dataset on the hub, unless ``data`` is given.
        split: Split of the dataset; None if it has only one.
        data: Rows from elsewhere: files, a dataset, a list of mappings; see ``TaskEnv``.
        question_key: Column of the problems, of text.
        answer_key: Column of the gold answers: text or a number, or a list of which each is right.
        use_format_error_reward: Give -0.1 for an answer without a box instead of 0.
        prompt: Text around the problem, which stands where ``{problem}`` is; None for none.
        deadline: Seconds that comparing an answer may take in a worker; what takes longer is wrong.
        shuffle: A new order each epoch; False for the rows' own.
        shard: ``"i/n"``, the part of the rows to take.
        streaming: Read rows as they are needed.

    Raises:
        ConfigError: See ``MathEnv``.
        DataError: The data cannot be used.
        HubError: The hub does not give the dataset.
        ContentError: In ``reset``: something in the column of images is no image.
    """

    shared: ClassVar[tuple[str, ...]] = ("image_key",)

    def __init__(
        self,
        *,
        image_key: str = "images",
        dataset_name: str = "",
        split: str | None = None,
        data: Any = None,
        question_key: str = "problem",
        answer_key: str = "answer",
        use_format_error_reward: bool = False,
        prompt: str | None = None,
        deadline: float = 1.0,
        shuffle: bool = True,
        shard: str | None = None,
        streaming: bool = False,
    ) -> None:
        self.image_key = image_key
        super().__init__(
            dataset_name=dataset_name,
            split=split,
            data=data,
            question_key=question_key,
            answer_key=answer_key,
            use_format_error_reward=use_format_error_reward,
            prompt=prompt,
            deadline=deadline,
            shuffle=shuffle,
            shard=shard,
            streaming=streaming,
        )

    def _columns(self) -> dict[str, Any]:
        return {**super()._columns(), self.image_key: Any}

    def question(self, row: dict[str, Any]) -> Observation:
        images = images_of({"images": row[self.image_key]})
        row[self.image_key] = [Image.of(image) for image in images]  # small, for snapshots
        return {"problem": super().question(row), "images": row[self.image_key]}
