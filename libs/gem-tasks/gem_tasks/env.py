"""``TaskEnv``: an environment whose episodes are the rows of a dataset, one answer each."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gem_core.agent import BaseAgent
from gem_core.env import BaseEnv, Env, Step
from gem_core.errors import InvalidActionError
from gem_core.faults import boundary
from gem_core.observation import Action, Info, Observation
from gem_tasks.order import Order, Place, Shard
from gem_tasks.rows import Rows
from gem_tasks.source import Source, load_rows
from gem_tasks.stream import Stream, StreamRows

__all__ = ["Answer", "GoldOracle", "Grade", "TaskEnv", "gold_answers"]

Answer = str | int | float | bool | list[str | int | float | bool]
"""Type of a column of answers: one, or a list of which each is right."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What an answer is worth.

    Attributes:
        reward: The step's reward.
        correct: Whether it counts as right.
        info: What else ``step`` reports in its info.
    """

    reward: float
    correct: bool
    info: Mapping[str, Any] = field(default_factory=dict)


def gold_answers(value: Answer) -> tuple[str, ...]:
    """Return the right answers as texts: each element of a list, else the value itself."""
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


class TaskEnv(BaseEnv):
    """Base of environments of one question and one answer; write the three abstract methods.

    Rows come in a new random order each epoch, which ``reset(seed=)`` makes repeatable;
    ``reset(idx=)`` takes one row, and the next ``reset()`` goes on after it.

    Args:
        columns: Name of each column that is read, and the type of its values.
        dataset_name: ``org/name`` of a dataset on the hub, unless ``data`` is given;
            ``org/name:config`` if it has several, and ``@revision`` behind either.
        split: Split of the dataset; None if it has only one. Rows without splits need none.
        data: Rows from elsewhere: a directory, a parquet, jsonl, json or csv file, a glob or a list
            of them; a ``datasets.Dataset`` or ``DatasetDict``; a list of mappings; or
            ``"package://package/path.jsonl"``.
        shuffle: A new order each epoch. Otherwise the rows' own order, from the first row on, or
            from a random one on after a seed.
        shard: ``"i/n"`` takes the rows whose number leaves ``i`` when divided by ``n``.
        streaming: Read rows as they are needed, for datasets too large to store.

    Raises:
        DataError: The data cannot be used: no rows, no such split or column, a wrong value.
        HubError: The hub does not give the dataset.
        ConfigError: A parameter that cannot work.
    """

    shared: ClassVar[tuple[str, ...]] = ("rows", "_shuffle", "_shard")
    longest_answer = 100_000
    """Characters of an action that are graded, counted from its end, where the answer stands."""

    rows: Rows | StreamRows
    """All rows, shared by the environments of the process; those of a stream have no length."""
    row: dict[str, Any]
    """The current row."""
    idx: int | None = None
    """Number of the current row in the dataset; None when streaming."""
    epoch: int = 0
    """How often all rows have been seen before the current one."""
    _place: Place | None = None
    """Where the next row is; None if the order is to begin anew."""

    def __init__(
        self,
        *,
        columns: Mapping[str, Any],
        dataset_name: str = "",
        split: str | None = None,
        data: Any = None,
        shuffle: bool = True,
        shard: str | None = None,
        streaming: bool = False,
    ) -> None:
        self._shuffle, self._shard = shuffle, Shard.parse(shard)
        source = Source(dataset_name=dataset_name, split=split, data=data, streaming=streaming)
        self.rows = load_rows(source, columns)
        self._order = self._new_order()

    def _new_order(self) -> Order | Stream:
        if isinstance(self.rows, StreamRows):
            return Stream(self.rows, shuffle=self._shuffle, shard=self._shard)
        return Order(self.rows, shuffle=self._shuffle, shard=self._shard)

    @abstractmethod
    def question(self, row: dict[str, Any]) -> Observation:
        """Return what the agent is asked."""

    @abstractmethod
    def grade(self, action: str) -> Grade:
        """Grade an answer to ``self.row``; whatever the text is, it must not raise."""

    @abstractmethod
    def solution(self) -> str:
        """Return an action that is graded correct for ``self.row``."""

    def feedback(self, grade: Grade) -> str:
        """Return the last observation, after the answer was graded."""
        return "Correct." if grade.correct else f"Wrong. The answer is {self.solution()}."

    def seed(self, seed: int) -> None:
        super().seed(seed)
        self._place = None

    def reset_options(self, number: int) -> dict[str, Any]:
        """Return the row of an episode of a run, if the rows come in their own order."""
        if self._shuffle or not isinstance(self._order, Order):
            return {}
        return {"idx": self._order.row_number(number)}

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Take the next row, or row ``idx``.

        Raises:
            ConfigError: There is no row ``idx``.
        """
        if self._place is None:
            self._place = self._order.begin(self.rng, seeded=self._seed is not None)
        place = self._place if idx is None else self._order.find(idx, self._place)
        place, self.idx, self.row = self._order.read(place)
        self.epoch = place.epoch
        self._place = self._order.after(place)
        return self.question(self.row), {}

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        del state["_order"]  # it reads a stream; places are enough to go on from
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._order = self._new_order()

    def step(self, action: Action) -> Step:
        if not isinstance(action, str):
            name, got = type(self).__name__, type(action).__name__
            raise InvalidActionError(f"An action of {name} is text; got {got}.")
        with boundary("grader"):
            grade = self.grade(action[-self.longest_answer :])
        info = {"correct": grade.correct, **grade.info}
        return Step(self.feedback(grade), grade.reward, True, False, info)


class GoldOracle(BaseAgent):
    """Answers from the gold: the ceiling of every ``TaskEnv``."""

    def reset(self, env: Env) -> None:
        self._env: Any = env.unwrapped

    def act(self, observation: Observation, info: Info) -> Action:
        return self._env.solution()
