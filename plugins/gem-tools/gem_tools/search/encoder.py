"""Makes vectors of texts with any encoder that transformers can load."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModel, AutoTokenizer

from gem_core.errors import ConfigError
from gem_core.lifetimes import Lock

__all__ = ["Encoder"]

_QUERY_TOKENS, _PASSAGE_TOKENS = 256, 512
_BATCH = {"cuda": 512, "cpu": 32}


class _Usage(NamedTuple):
    """Prefixes and pooling with which the models of a family were trained."""

    before_query: str = ""
    before_passage: str = ""
    pooling: Literal["mean", "cls"] = "mean"
    normalised: bool = True


_FAMILIES = {
    "e5": _Usage("query: ", "passage: "),
    "bge": _Usage("Represent this sentence for searching relevant passages: ", pooling="cls"),
    "dpr": _Usage(pooling="cls", normalised=False),
}


class Encoder:
    """Makes one vector of each text, normalised to length 1 unless the family is not.

    The family follows from the model's name: ``e5`` models get ``query: `` or ``passage: `` before
    the text, ``bge`` models their instruction before queries. Several threads may use an encoder.

    Args:
        model: Name or folder of the model.
        pooling: The mean of the tokens' vectors, or the first of them; None for the pooling of the
            family.
        device: ``cuda`` or ``cpu``; None for a GPU if there is one. On a GPU it computes in half
            precision.

    Raises:
        ConfigError: The model cannot be loaded, or is not an encoder.
    """

    def __init__(
        self,
        model: str,
        *,
        pooling: Literal["mean", "cls"] | None = None,
        device: str | None = None,
    ) -> None:
        parts = re.split(r"[^a-z0-9]+", PurePath(model).name.lower())
        self.usage = next((_FAMILIES[part] for part in parts if part in _FAMILIES), _Usage())
        self.pooling = pooling or self.usage.pooling
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer, self._model = _load(model)
        if self.device != "cpu":
            self._model = self._model.half()
        self._model = self._model.to(self.device).eval()
        self._longest = int(getattr(self._model.config, "max_position_embeddings", _PASSAGE_TOKENS))
        self._lock = Lock()

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return int(self._model.config.hidden_size)

    def encode(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """Return the vectors of texts, of shape ``(len(texts), dimension)``."""
        usage = self.usage
        prefix = usage.before_query if is_query else usage.before_passage
        tokens = min(_QUERY_TOKENS if is_query else _PASSAGE_TOKENS, self._longest)
        size = _BATCH.get(self.device, _BATCH["cpu"])
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(order), size):  # texts of similar length, to reduce padding
            numbers = order[start : start + size]
            vectors[numbers] = self._encode([prefix + texts[number] for number in numbers], tokens)
        return vectors

    def _encode(self, texts: list[str], tokens: int) -> NDArray[np.float32]:
        with self._lock:  # tokenizers keep their padding as state
            batch = self._tokenizer(
                texts, padding=True, truncation=True, max_length=tokens, return_tensors="pt"
            )
        with torch.inference_mode():
            vectors = self._pooled(batch.to(self.device))
            if self.usage.normalised:
                vectors = torch.nn.functional.normalize(vectors, dim=-1)
            array: NDArray[np.float32] = vectors.cpu().numpy()
        return array

    def _pooled(self, batch: Any) -> Any:
        states = self._model(**batch).last_hidden_state.float()
        if self.pooling == "cls":
            return states[:, 0]
        mask = batch["attention_mask"].unsqueeze(-1).float()
        return (states * mask).sum(1) / mask.sum(1).clamp(min=1)


def _load(model: str) -> tuple[Any, Any]:
    try:
        if AutoConfig.from_pretrained(model).is_encoder_decoder:
            raise ConfigError(f"{model!r} is an encoder-decoder model; use an encoder-only model.")
        return AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model)
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"The model {model!r} cannot be loaded: {error}") from error
