"""The types that all indexes share: the interface, its options and its results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gem_core.errors import ConfigError, near_names

__all__ = ["Hit", "Index", "IndexOptions", "Ranks", "Track"]

Hit = tuple[Mapping[str, Any], float]
"""A passage and its score."""
Ranks = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Numbers of passages and their scores, best first."""
Track = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""Shows progress: takes the items, a description of the work, and the number of items."""
Kind = Literal["bm25", "dense"]

KINDS = ("bm25", "dense")


class Index(Protocol):
    """Finds the numbers of passages."""

    def search(self, queries: Sequence[str], topk: int) -> list[Ranks]:
        """Return at most ``topk`` passages for each query, best first."""

    def save(self, folder: Path) -> None:
        """Write the index into an existing folder."""

    def __len__(self) -> int:
        """Return the number of passages."""


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """Kind and options of an index.

    Args:
        kind: ``bm25`` compares words; ``dense`` compares vectors from an encoder.
        model: For dense indexes: name or folder of a transformers encoder.
        faiss: For dense indexes: ``flat`` compares with every passage, ``ivf`` with those of the
            nearest clusters, ``hnsw`` follows a graph of neighbours.
        pooling: For dense indexes: ``mean`` of the tokens, or ``cls``, the first token; None for
            the pooling that the model was trained with.

    Raises:
        ConfigError: An option has a value that is not allowed.
    """

    kind: Kind = "bm25"
    model: str = "intfloat/e5-base-v2"
    faiss: Literal["flat", "ivf", "hnsw"] = "flat"
    pooling: Literal["mean", "cls"] | None = None

    def __post_init__(self) -> None:
        choices = {
            "kind": KINDS,
            "faiss": ("flat", "ivf", "hnsw"),
            "pooling": ("mean", "cls", None),
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in allowed:
                near = near_names(str(value), [one for one in allowed if one])
                raise ConfigError(f"{name} is one of {allowed}; got {value!r}.{near}")

    @property
    def identity(self) -> dict[str, Any]:
        """The options that the content of an index depends on."""
        return asdict(self) if self.kind == "dense" else {"kind": self.kind}
