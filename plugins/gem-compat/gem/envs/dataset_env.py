"""The base class of environments over datasets: the order of rows, and the reset."""

import abc
import copy
import random
import warnings
from collections.abc import Mapping
from typing import Any, Self

from gem.core import Env
from gem.utils.seeds import any_seed
from gem_core.errors import ConfigError
from gem_tasks.row_source import RowSource, load_rows

__all__ = ["DatasetEnv", "shuffled"]


class DatasetEnv(Env):
    """Base class of environments with one question and one answer per episode.

    Subclasses may set the attributes themselves instead of calling ``load``, and may replace
    ``reset`` and ``step``. The answer to a question may be graded again.
    """

    dataset: Any
    """The rows in their order: a ``datasets.Dataset``, or a list of dicts."""
    idx: int
    """Number of the next row."""
    epoch: int
    """Number of completed passes over the rows."""
    seed: int | None
    """Seed of the order of rows."""
    first_obs: Any
    """The current question."""
    question_key: str

    def load(
        self,
        columns: Mapping[str, Any],
        *,
        dataset_name: str | None,
        split: str | None,
        dataset: Any,
        ignored: Mapping[str, Any],
        seed: int | None,
        shuffle: bool = True,
    ) -> None:
        """Set ``dataset``, ``idx``, ``epoch`` and ``seed``.

        Args:
            columns: Name and type of the columns that are read.
            dataset_name: ``org/name`` on the hub, if there is no ``dataset``.
            split: The split; None if there is only one.
            dataset: A ``datasets.Dataset`` or ``DatasetDict``, or any ``data`` that
                ``gem_core.make`` takes.
            ignored: Arguments of the environment that it has no parameter for.
            seed: Seed of the order of rows: any number, or None for a random order.
            shuffle: False to keep the order of the rows.

        Raises:
            ConfigError: The rows are given as ``data``.
            DataError: The rows, a column or the split is missing.
            HubError: The dataset cannot be fetched from the hub.
        """
        if "data" in ignored:
            raise ConfigError(
                f"{type(self).__name__} takes rows as dataset=..., not as data=..., which gem-llm "
                "ignores; rename the argument."
            )
        source = RowSource(dataset_name=dataset_name or "", split=split, data=dataset)
        rows: Any = load_rows(source, columns)
        self.dataset = shuffled(rows.data, seed) if shuffle else rows.data
        self.seed, self.idx, self.epoch = seed, 0, 0

    def reset(self, seed: int | None = None, idx: int | None = None) -> Any:
        """Ask the next question, a random one, or that of row ``idx``.

        Args:
            seed: Selects a random row; the rows after it follow.
            idx: Number of the row, in the current order.

        Raises:
            ConfigError: There is no such row, or the seed is not a number.
        """
        count = len(self.dataset)
        if idx is not None:
            if not 0 <= idx < count:
                raise ConfigError(f"idx must be from 0 to {count - 1}; got {idx!r}.")
            self.idx = idx
        elif seed is not None:
            self.idx = random.Random(any_seed(seed)).randrange(count)
        elif self.idx >= count:
            self.epoch += 1
            self.dataset = shuffled(self.dataset, (any_seed(self.seed) or 0) + self.epoch)
            self.idx = 0
        row = self.dataset[self.idx]
        self.idx += 1
        self.first_obs = self.take(row)
        return self.first_obs, {}

    @abc.abstractmethod
    def take(self, row: Mapping[str, Any]) -> Any:
        """Keep the data of a row that grading needs, and return the question."""

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new environment over the same rows.

        Args:
            same_state: Ask the same question, and continue in the same order.
            kwargs: ``seed`` of the order, without ``same_state``; default 0.
        """
        twin = copy.copy(self)
        if not same_state:
            seed = kwargs.get("seed", 0)
            if seed == self.seed:
                warnings.warn(f"spawn has the parent's seed, {seed}.", stacklevel=2)
            twin.dataset = shuffled(self.dataset, seed)
            twin.seed, twin.idx, twin.epoch = seed, 0, 0
        return twin

    def fork(self) -> Self:
        """Return an independent copy in the same state."""
        return self.spawn(same_state=True)

    def get_state(self) -> dict[str, Any]:
        """Return the question, the data that grades it, and the position in the order."""
        names = ("first_obs", "answer", "tests", "idx", "epoch")
        return {name: self.__dict__[name] for name in names if name in self.__dict__}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        self.__dict__.update(state)


def shuffled(rows: Any, seed: int | None) -> Any:
    """Return rows in a random order; for a ``datasets.Dataset``, that of gem-llm."""
    number = any_seed(seed)
    if hasattr(rows, "shuffle"):
        return rows.shuffle(seed=number)
    return random.Random(number).sample(rows, len(rows))
