"""Mathematical problems with images."""

from collections.abc import Mapping
from typing import Any

from gem.envs.math_env import MathEnv

__all__ = ["MathVisualEnv"]


class MathVisualEnv(MathEnv):
    r"""One problem with its images per episode; see ``MathEnv``.

    The observation is ``{"problem": text, "images": value of the column of images}``.

    Args:
        dataset_name: See ``MathEnv``.
        split: See ``MathEnv``.
        dataset: See ``MathEnv``.
        image_key: Column of the images.
        question_key: See ``MathEnv``.
        answer_key: See ``MathEnv``.
        seed: See ``MathEnv``.
        use_mp: See ``MathEnv``.
        kwargs: See ``MathEnv``; also ``use_format_error_reward``.
    """

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: Any = None,
        image_key: str = "images",
        question_key: str = "problem",
        answer_key: str = "answer",
        seed: int = 0,
        use_mp: bool = True,
        **kwargs: Any,
    ) -> None:
        self.image_key = image_key
        super().__init__(
            dataset_name,
            split,
            dataset,
            question_key=question_key,
            answer_key=answer_key,
            seed=seed,
            use_mp=use_mp,
            **kwargs,
        )

    def columns(self) -> dict[str, Any]:
        return {**super().columns(), self.image_key: Any}

    def take(self, row: Mapping[str, Any]) -> Any:
        return {"problem": super().take(row), "images": row[self.image_key]}
