"""The options of every ``TaskEnv``: where its rows come from, in which order, and what they pay.

``TaskEnv`` owns these options. A subclass passes them on and does not repeat them::

    class Sums(TaskEnv):
        def __init__(self, *, tolerance: float = 0.0, **rows: Unpack[RowOptions]) -> None:
            self.tolerance = tolerance
            super().__init__(columns={"problem": str, "answer": str}, **rows)

The signature of such a class lists them; see ``gem_core.signatures``.
"""

from typing import Any, TypedDict

__all__ = ["RowOptions"]


class RowOptions(TypedDict, total=False):
    """The options of every ``TaskEnv``, which documents each and gives its default."""

    dataset_name: str
    split: str | None
    revision: str | None
    data: Any
    shuffle: bool
    shard: str | None
    streaming: bool
    grader: Any
    rewards: Any
