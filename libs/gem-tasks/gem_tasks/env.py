"""``TaskEnv``: an environment over a dataset. An episode is one row, one question, one answer."""

from abc import abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from gem_core.agent import BaseAgent
from gem_core.env import BaseEnv, Env, Step
from gem_core.errors import DataError, InvalidActionError
from gem_core.faults import boundary
from gem_core.info import Grading, graded, shortened
from gem_core.maybe_async import drive
from gem_core.observation import Action, Info, Observation, text_of
from gem_core.seeding import child_seed
from gem_core.signatures import passes_options_to
from gem_core.thoughts import Thoughts, spoken
from gem_tasks.golds import Answer, gold_answers, warn_of_reasoning
from gem_tasks.grader import (
    Attempt,
    Grade,
    GraderPart,
    close_grader,
    grading,
    is_blocking,
    make_grader,
    named,
)
from gem_tasks.order import Cursor, Order, Shard
from gem_tasks.rewards import RewardParts, Rewards
from gem_tasks.row_source import RowSource, load_rows
from gem_tasks.rows import MissingColumnError, Rows, checksum
from gem_tasks.stream import Stream, StreamRows

__all__ = ["Answer", "GoldOracle", "Grade", "TaskEnv", "gold_answers"]


class TaskEnv(BaseEnv):
    """The base class of environments over datasets; subclasses write the three abstract methods.

    Each epoch shows all rows in a new random order, which ``reset(seed=)`` makes reproducible.
    ``reset(idx=)`` selects a row, and the next ``reset()`` continues from there.

    A subclass declares its own options and passes the others on as ``**rows``; see
    ``gem_tasks.row_options``.

    Args:
        columns: The name of each column to read, and the type of its values.
        dataset_name: A dataset on the hub, used if there is no ``data``: ``org/name``, or
            ``org/name:config`` if it has several configs.
        split: The split of the dataset; None if there is only one, or if ``data`` has no splits.
        revision: A branch, tag or commit of the dataset on the hub; None for its main branch.
        data: Other rows: a directory; a parquet, jsonl, json, csv or arrow file, a glob, or a list
            of these; a ``datasets.Dataset`` or ``DatasetDict``; a list of mappings; or
            ``"package://package/path.jsonl"``. Values arrive as written; cells of csv are texts.
        shuffle: Draw a new order each epoch. If False, rows keep the order of the dataset, and
            start with the first row, or with a random one after ``reset(seed=)``.
        shard: ``"i/n"`` selects the rows whose number is ``i`` modulo ``n``.
        streaming: Read rows as they are needed, for datasets that are too large to store.
        grader: What decides whether an answer is correct, instead of ``grade``; see
            ``gem_tasks.grader.make_grader``. A response without an answer is left to ``grade``.
        rewards: The parts of the reward, with their weights; see ``gem_tasks.rewards``. None for
            the grade alone. In both cases the grade decides about ``info["correct"]``.

    Raises:
        DataError: The data cannot be used: it has no rows, it lacks the split or a column, or a
            value has the wrong type.
        HubError: The hub does not provide the dataset.
        ConfigError: An option has an invalid value.
        UnknownIdError: There is no such grader.
    """

    shared: ClassVar[tuple[str, ...]] = (
        "answer_instruction",
        "data_name",
        "rows",
        "_grader",
        "_grader_name",
        "_rewards",
        "_shard",
        "_shuffle",
    )
    row_arguments: ClassVar[tuple[str, ...]] = ("data",)
    """Arguments that may be any sequence: worker processes get a long list as one file."""
    answer_instruction: str = ""
    """How to answer, if the question does not say so: the commands show it after the question."""
    thoughts: Thoughts = "ignore"
    """Whether answers in thoughts (``gem_core.thoughts``) count. Graders of parts of a reward, such
    as its form or length, are given the whole response in both cases."""
    longest_answer = 100_000
    """The number of characters of an action that are graded, counted from its end."""

    answer_after: str | None = None
    """What precedes the gold answer in its column, for subclasses with an option of that name."""

    rows: Rows | StreamRows
    """All rows, shared by the environments of the process; streamed rows have no length."""
    data_name: str
    """The name of the data that the rows come from, as in ``info["data"]``."""
    row: dict[str, Any]
    """The current row."""
    idx: int | None = None
    """The number of the current row in the dataset; None when streaming."""
    epoch: int = 0
    """How many times all rows were seen before the current one."""
    _asked: str = ""
    """The current question, if there is a column of questions without the prompt around it."""
    _cursor: Cursor | None = None
    """The position of the next row; None if a new order is to be drawn."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            base = super(cls, cls).__init__
            passes_options_to(base, without={"columns"})(vars(cls)["__init__"])

    def __init__(
        self,
        *,
        columns: Mapping[str, Any],
        dataset_name: str = "",
        split: str | None = None,
        revision: str | None = None,
        data: Any = None,
        shuffle: bool = True,
        shard: str | None = None,
        streaming: bool = False,
        grader: GraderPart | None = None,
        rewards: RewardParts | None = None,
    ) -> None:
        self._shuffle, self._shard = shuffle, Shard.parse(shard)
        self._grader_name = "" if grader is None else named(grader)
        self._grader = None if grader is None else make_grader(grader)
        self._rewards = None if rewards is None else Rewards(rewards)
        if is_blocking(self._grader) or is_blocking(self._rewards):
            self.blocking = True
        if dataset_name and revision is not None:
            dataset_name = f"{dataset_name}@{revision}"
        source = RowSource(dataset_name=dataset_name, split=split, data=data, streaming=streaming)
        self.data_name = source.name
        try:
            self.rows = load_rows(source, columns)
        except MissingColumnError as error:
            raise DataError(f"{error}{self._advice(error.column)}") from error
        if self._grader is None:
            self._warn_of_golds()
        self._order = self._new_order()

    def _warn_of_golds(self) -> None:
        """Warn once of gold answers that cannot be matched, judged by the first rows."""
        rows = self.rows
        for column in self._answer_columns():
            look = (column, self.answer_after)
            if look not in rows.looked_at:
                rows.looked_at.add(look)
                first = rows.first_values(column)
                where = f"of {rows.origin}, column {column!r}"
                warn_of_reasoning(first, where, after=self.answer_after, hint=self._hint(column))

    def _hint(self, column: str) -> str:
        """Return the advice for a column of reasoning; ``{mark}`` is the text before an answer."""
        hint = self._advice(column).strip() or "Choose another column."
        if "answer_after" not in vars(self):
            return hint
        return f"If a mark precedes the answer, pass it as answer_after={{mark}}. {hint}"

    def _answer_columns(self) -> list[str]:
        return [name for name, kind in self.rows.columns.items() if kind is Answer]

    def _advice(self, column: str) -> str:
        """Return the advice to pass another column, if an attribute that ends in _key names it."""
        options = [name for name, value in vars(self).items() if value == column]
        keys = [name for name in options if name.endswith("_key")]
        return f" Name the column to read instead with {keys[0]}=." if keys else ""

    def _new_order(self) -> Order | Stream:
        if isinstance(self.rows, StreamRows):
            return Stream(self.rows, shuffle=self._shuffle, shard=self._shard)
        return Order(self.rows, shuffle=self._shuffle, shard=self._shard)

    @abstractmethod
    def question(self, row: dict[str, Any]) -> Observation:
        """Return the question that a row asks: the first observation of its episode."""

    @abstractmethod
    def grade(self, action: str) -> Grade:
        """Grade an answer to ``self.row``; it must not raise on any text."""

    @abstractmethod
    def solution(self) -> str:
        """Return an action that is graded correct for ``self.row``."""

    @property
    def golds(self) -> tuple[str, ...]:
        """The correct answers to the current question, for graders; empty by default."""
        return ()

    def answer_in(self, response: str) -> str | None:
        """Return the part of a response that counts; by default all of it.

        Returns:
            The answer; None if the response has none, which ``grade`` then decides about.
        """
        return response

    def task_id(self, row: dict[str, Any]) -> str:
        """Return the id of a row's task, a checksum of its columns without those of answers.

        Rows with the same id are the same task to an evaluation, even if they are repeated in the
        dataset or belong to another environment. Override it if the rows have an id.
        """
        columns = self.rows.columns.items()
        asked = [row[name] for name, kind in columns if kind is not Answer]
        return checksum(asked or list(row.values()))

    def feedback(self, grade: Grade) -> str:
        """Return the last observation, which reports how the answer was graded."""
        return "Correct." if grade.correct else f"Wrong. The answer is {self.solution()}."

    def seed(self, seed: int) -> None:
        super().seed(seed)
        self._cursor = None

    @property
    def task_count(self) -> int | None:
        """The number of rows, those of other shards excluded; None when streaming."""
        return len(self._order) if isinstance(self._order, Order) else None

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the row of episode ``number`` of a run: each row once, then each once more.

        The seed of the run decides the order, unless the rows keep that of the dataset. Streamed
        rows cannot be selected.
        """
        if not isinstance(self._order, Order) or (seed is None and self._shuffle):
            return {}
        return {"idx": self._order.row_number(number, child_seed(seed or 0, "rows"))}

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Take the next row, or row ``idx``.

        Raises:
            ConfigError: There is no row ``idx``.
        """
        if self._cursor is None:
            self._cursor = self._order.begin(self.rng, seeded=self._seed is not None)
        cursor = self._cursor if idx is None else self._order.seek(idx, self._cursor)
        cursor, self.idx, self.row = self._order.read(cursor)
        self._check_golds()
        self.epoch = cursor.epoch
        self._cursor = self._order.after(cursor)
        info: Info = {"task_id": self.task_id(self.row), "data": self.data_name}
        if self.rows.version:
            info["data_version"] = self.rows.version
        if self.idx is not None:
            info["idx"] = self.idx
        question = self.question(self.row)
        asked = self.row.get(vars(self).get("question_key", ""))
        self._asked = shortened(asked if isinstance(asked, str) else text_of(question))
        return question, info

    def _check_golds(self) -> None:
        for column in self._answer_columns() if self.answer_after is not None else ():
            if not any(gold_answers(self.row[column], self.answer_after)):
                row = "A row" if self.idx is None else f"Row {self.idx}"
                raise DataError(
                    f"{row} of {self.rows.origin}, column {column!r}: nothing follows "
                    f"{self.answer_after!r}, so no answer is correct."
                )

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        del state["_order"]  # it may hold an open stream; the cursor is enough to continue
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        super().set_state(state)
        self._order = self._new_order()

    def step(self, action: Action) -> Step:
        if not isinstance(action, str):
            name, got = type(self).__name__, type(action).__name__
            raise InvalidActionError(f"An action of {name} is text; got {got}.")
        counts = action if self.thoughts == "count" else spoken(action)
        response, said = (text[-self.longest_answer :] for text in (action, counts))
        if self._grader is None and self._rewards is None:
            with boundary("grader"):
                answer = self.answer_in(said)
                grade = self.grade(said)
            return self._last_step(grade, answer, grade.reward, grade.info)
        return drive(self._graded(response, said))  # type: ignore[return-value]

    def _graded(self, response: str, said: str) -> Generator[Any, Any, Step]:
        """Grade a response, and what it says, with the graders that were chosen."""
        with boundary("grader"):
            answer = self.answer_in(said)
            question = self.question(self.row)
            attempt = Attempt(question, response, answer, self.golds, self.row)
            if self._grader is None or answer is None:
                own = self.grade(said)
            else:
                own = yield from grading(self._grader, attempt, "grader")
            if self._rewards is None:
                return self._last_step(own, answer, own.reward, own.info)
            paid = yield from self._rewards.grading(replace(attempt, grade=own))
        return self._last_step(own, answer, paid.reward, {**own.info, **paid.info})

    def _last_step(
        self, grade: Grade, answer: str | None, reward: float, info: Mapping[str, Any]
    ) -> Step:
        given = {"correct": grade.correct, "grading": self._grading(grade, answer)}
        return Step(self.feedback(grade), reward, True, False, {**given, **info})

    def _grading(self, grade: Grade, answer: str | None) -> Grading:
        """Return ``info["grading"]``; a grade need not say more than its reward."""
        return graded(
            question=self._asked,
            expected=self._expected() if grade.expected is None else grade.expected,
            extracted=answer if grade.extracted is None else grade.extracted,
            score=1.0 if grade.correct else min(grade.reward, 0.999),
            reason=grade.reason or self._reason(answer),
        )

    def _expected(self) -> str | None:
        golds, columns = self.golds, self._answer_columns()
        if not golds and columns:
            golds = gold_answers(self.row[columns[0]], self.answer_after)
        return " | ".join(golds) or None

    def _reason(self, answer: str | None) -> str:
        if answer is None:
            return "no answer in the reply"
        return f"graded by {self._grader_name or type(self).__name__}"

    def close(self) -> None:
        """Release the resources of the graders; may be called twice."""
        close_grader(self._grader)
        close_grader(self._rewards)


class GoldOracle(BaseAgent):
    """An agent that answers with the ``solution`` of the environment: the upper bound."""

    def reset(self, env: Env) -> None:
        self._env: Any = env.unwrapped

    def act(self, observation: Observation, info: Info) -> Action:
        return self._env.solution()
