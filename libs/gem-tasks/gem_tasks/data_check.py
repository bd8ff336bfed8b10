"""Whether the rows of a dataset are what an environment needs, and graded as they should be.

The environment is made as a user makes it, and everything is asked of it: the columns that it
reads, each row with ``reset``, the gold answer with ``solution``, and the grade with ``step``.
"""

import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from gem_core.errors import ConfigError, DataError, GemError, HubError
from gem_core.specs import EnvSpec
from gem_tasks.arrival import arrived
from gem_tasks.downloaded import find_downloaded
from gem_tasks.env import TaskEnv
from gem_tasks.hub import endpoint, may_be_cached, parts_of_name
from gem_tasks.hub_facts import HubFacts, UnreachableError, ask_hub
from gem_tasks.inspection import Inspection, name_of_type
from gem_tasks.json_values import exact_repr
from gem_tasks.stream import StreamRows

__all__ = ["DataChecker", "DataReport", "Tally", "reads_the_hub", "size_text"]

State = Literal["ok", "failed", "unreachable"]
_Made = tuple[TaskEnv, list[Any]]
_SHOWN = 3
"""The number of first rows in a report."""
_LONGEST = 100
"""The number of characters of a value in a report."""


@dataclass
class Tally:
    """How many answers were graded as they should be.

    Args:
        tried: The number of answers.
        right: How many of them were graded as they should be.
        first: What the first of the others was, and how it was graded.
    """

    tried: int = 0
    right: int = 0
    first: str = ""

    def add(self, problem: str) -> None:
        """Count an answer; the problem is empty if it was graded as it should be."""
        self.tried += 1
        self.right += not problem
        self.first = self.first or problem


@dataclass
class DataReport:
    """What is known of the rows of an environment.

    Args:
        id: The id of the environment.
        dataset: ``org/name`` or ``org/name:config``, or the path of the rows.
        split: The split; None if there is only one.
        state: ``ok``; ``failed``, the rows are not what the environment needs; or ``unreachable``,
            the rows cannot be had.
        cause: Why not ``ok``: ``schema``, ``rows``, ``grading``, or a
            ``gem_tasks.hub_facts.Cause``.
        problem: What was expected, what was found and what to do; empty if ``ok``.
        revision: The commit of the rows, or their hash; empty if it is unknown.
        files: The number of files of rows in the dataset; None if they are not on the hub.
        size: The size of these files in bytes; None if it is unknown.
        rows: The number of rows; None of a stream.
        needs: The type of each column that the environment reads, as it declares it.
        found: The types of the values in each of these columns.
        first_rows: The first rows, each value shortened to a text.
        refused: The number of rows that the environment refuses.
        first_refused: Why it refuses the first of them.
        gold: The gold answers that were graded 1.
        wrong: The wrong answers that were not graded correct.
        notes: Warnings of the environment, and what could not be checked.
    """

    id: str
    dataset: str
    split: str | None = None
    state: State = "ok"
    cause: str = ""
    problem: str = ""
    revision: str = ""
    files: int | None = None
    size: int | None = None
    rows: int | None = None
    needs: dict[str, str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)
    first_rows: list[dict[str, str]] = field(default_factory=list)
    refused: int = 0
    first_refused: str = ""
    gold: Tally = field(default_factory=Tally)
    wrong: Tally = field(default_factory=Tally)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)

    def fails(self, state: State, cause: str, problem: str) -> None:
        """Note a problem, unless there is one already."""
        if not self.problem:
            self.state, self.cause, self.problem = state, cause, problem


def reads_the_hub(spec: EnvSpec) -> bool:
    """Return whether the rows of an environment are a dataset on the hub."""
    return bool(spec.kwargs.get("dataset_name")) and not spec.kwargs.get("data")


class DataChecker:
    """Checks the rows of environments.

    Args:
        folder: A folder of downloaded datasets; None for the hub that ``HF_ENDPOINT`` names.
        rows: The number of rows whose grading is checked.
        seed: Decides which rows these are.
        stream: Read the first rows only, instead of downloading the dataset.
        timeout: The longest time without progress of a download, in seconds.
        say: Called with lines on what is being done.
    """

    def __init__(
        self,
        *,
        folder: Path | None = None,
        rows: int = 20,
        seed: int = 0,
        stream: bool = False,
        timeout: float = 30.0,
        say: Callable[[str], object],
    ) -> None:
        self.folder, self.rows, self.seed = folder, rows, seed
        self.stream, self.timeout, self.say = stream, timeout, say
        self._asked: dict[str, HubFacts | UnreachableError] = {}
        self._is_silent = False
        """Whether the hub has left a request without an answer."""

    def check(self, spec: EnvSpec) -> DataReport:
        """Check the rows of an environment; a problem is in the report."""
        name, data = _name_of(spec), spec.kwargs.get("data")
        report = DataReport(spec.id, str(data or name), spec.kwargs.get("split"))
        inspection = Inspection()
        with warnings.catch_warnings(record=True) as caught, inspection.open():
            warnings.simplefilter("always")
            env = None
            try:
                env = self._made(spec, name if data is None else "", report, inspection)
                self._look(env, report, inspection)
                self._grade(env, report, (spec.return_range or (0.0, 1.0))[1])
            except UnreachableError as error:
                report.fails("unreachable", error.cause, f"{error}")
            except HubError as error:
                report.fails("unreachable", "download", f"{error}")
            except DataError as error:
                report.fails("failed", "schema", _moved(error, spec))
            except Exception as error:  # noqa: BLE001 - of any author's environment
                report.fails("failed", "environment", _said(error))
            finally:
                if env is not None:
                    env.close()
        report.needs = {name: name_of_type(kind) for name, kind in inspection.columns.items()}
        report.found = inspection.types
        report.notes += dict.fromkeys(str(one.message).partition("\n")[0] for one in caught)
        return report

    def _made(
        self, spec: EnvSpec, name: str, report: DataReport, inspection: Inspection
    ) -> TaskEnv:
        """Return the environment over the rows of the dataset."""
        given: dict[str, Any] = {"streaming": True} if self.stream else {}
        if name and self.folder is not None:
            found = find_downloaded(self.folder, name)
            given["data"], report.revision, name = str(found.path), found.commit, ""
        if name and (facts := self._facts(name)):
            report.revision, report.files, report.size = facts.commit, facts.files, facts.size
        self.say(f"{'streaming' if self.stream else 'reading'} {_described(report)}")

        def load() -> tuple[TaskEnv, list[Any]]:
            env = _task_env(spec, given)
            return env, [*islice(env.rows, self.rows)] if isinstance(env.rows, StreamRows) else []

        env, first = self._arrived(load, name, inspection) if name else load()
        report.revision = report.revision or env.rows.version
        if not self.stream:
            report.rows = len(env.rows)  # type: ignore[arg-type]
            return env
        env.close()
        inspection.clear()
        report.notes.append(f"only the first {len(first)} rows were looked at (--stream)")
        return _task_env(spec, {"data": first, "split": None, "streaming": False})

    def _facts(self, name: str) -> HubFacts | None:
        """Return what the hub says of a dataset; None if only the cache can be asked."""
        if name not in self._asked:
            self._asked[name] = self._answer(name)
        found = self._asked[name]
        if isinstance(found, HubFacts):
            return found
        if found.cause == "no network" and may_be_cached(parts_of_name(name)[0]):
            return None
        raise found

    def _answer(self, name: str) -> HubFacts | UnreachableError:
        if self._is_silent:
            problem = f"{endpoint()} left an earlier request without an answer."
            return UnreachableError(problem, "no answer")
        try:
            return ask_hub(name, timeout=self.timeout)
        except UnreachableError as error:
            self._is_silent = error.cause == "no answer"
            return error

    def _arrived(self, load: Callable[[], _Made], name: str, inspection: Inspection) -> _Made:
        """Return what ``load`` returns; a dataset that does not arrive is not waited for again."""
        try:
            progress = partial(getattr, inspection, "seen")
            return arrived(load, name, timeout=self.timeout, progress=progress)
        except UnreachableError as error:
            self._asked[name] = error
            raise
        except HubError as error:
            asked = self._asked[name]  # without a network, there was only the cache to look into
            raise error if isinstance(asked, HubFacts) else asked from error

    def _look(self, env: TaskEnv, report: DataReport, inspection: Inspection) -> None:
        """Let the environment ask the question of each row, and note those that it refuses."""
        count = len(env.rows)  # type: ignore[arg-type]
        for number in range(min(_SHOWN, count)):
            row = env.rows[number]  # type: ignore[index]
            report.first_rows.append({name: _short(value) for name, value in row.items()})
        refused = dict(inspection.refused)
        for number in range(count):
            if number not in refused:
                try:
                    env.reset(idx=number)
                except Exception as error:  # noqa: BLE001 - of any author's environment
                    said = _said(error)
                    refused[number] = said if said.startswith("Row ") else f"Row {number}: {said}"
        report.refused = len(refused)
        if refused:
            report.first_refused = refused[min(refused)]
            report.fails(
                "failed",
                "rows",
                f"{report.dataset}: {len(refused):,} of {count:,} rows are refused; the first: "
                f"{report.first_refused.rstrip('.')}. Mend or leave out these rows, or pin another "
                f"commit with revision=.",
            )
        self._sample = self._drawn(count, refused)

    def _drawn(self, count: int, refused: dict[int, str]) -> list[int]:
        """Return the numbers of the rows to grade, in order."""
        numbers = [number for number in range(count) if number not in refused]
        return sorted(random.Random(self.seed).sample(numbers, min(self.rows, len(numbers))))

    def _grade(self, env: TaskEnv, report: DataReport, highest: float) -> None:
        self.say(f"grading {len(self._sample)} of {len(env.rows):,} rows")  # type: ignore[arg-type]
        answers = _Answers(env, self._sample)
        if self._sample and not answers.golds:
            report.notes.append("these rows have no solutions, so no gold answer was graded")
        for number in self._sample:
            if number in answers.golds:
                report.gold.add(answers.faults_of_gold(number, highest))
            report.wrong.add(answers.faults_of_wrong(number))
        for tally, what in (
            (report.gold, "gold answers are not graded 1"),
            (report.wrong, "rows grade a wrong answer correct"),
        ):
            if tally.right < tally.tried:
                report.fails(
                    "failed",
                    "grading",
                    f"{report.dataset}: {tally.tried - tally.right} of {tally.tried} {what}; the "
                    f"first: {tally.first}",
                )


class _Answers:
    """The gold answers of some rows, and wrong ones.

    Args:
        env: The environment.
        numbers: The numbers of the rows.
    """

    def __init__(self, env: TaskEnv, numbers: list[int]) -> None:
        self._env = env
        self.golds: dict[int, str] = {}
        self._texts: dict[int, set[str]] = {}
        for number in numbers:
            env.reset(idx=number)
            self._texts[number] = {gold.casefold() for gold in env.golds}
            try:
                self.golds[number] = env.solution()
            except ConfigError:  # the rows have no solutions
                break

    def faults_of_gold(self, number: int, highest: float) -> str:
        """Return how the gold answer of a row is graded, empty if it is 1."""
        correct, reward, reason = self._graded(number, self.golds[number])
        if correct and reward >= highest:
            return ""
        return f"row {number}: {_short(self.golds[number])} is graded {reward:g} ({reason})"

    def faults_of_wrong(self, number: int) -> str:
        """Return which wrong answer to a row is graded correct; empty if none is."""
        for answer in self._wrong(number):
            correct, reward, reason = self._graded(number, answer)
            if correct:
                return f"row {number}: {_short(answer)} is graded {reward:g} ({reason})"
        return ""

    def _wrong(self, number: int) -> Iterator[str]:
        """Yield nothing, and the gold answer of another row, if one is not right for this too."""
        yield ""
        own = self.golds.get(number)
        if own is None:
            self._env.reset(idx=number)
            yield str(self._env.sample_random_action())
            return
        others = sorted(self.golds, key=lambda other: (other <= number, other))
        for other in others:
            gold = self.golds[other]
            if gold == own or self._texts[number] & self._texts[other]:
                continue
            if not self._graded(other, own)[0] or not self._graded(number, gold)[0]:
                yield gold
                return

    def _graded(self, number: int, answer: str) -> tuple[bool, float, str]:
        """Return whether an answer is correct, its reward and the reason."""
        self._env.reset(idx=number)
        try:
            step = self._env.step(answer)
        except Exception as error:  # noqa: BLE001 - of any author's grader
            return False, 0.0, _said(error)
        return bool(step.info["correct"]), step.reward, str(step.info["grading"].get("reason", ""))


def _task_env(spec: EnvSpec, given: dict[str, Any]) -> TaskEnv:
    """Return an environment over its own rows or others, which ids otherwise refuse."""
    env = spec.make(**given)
    if not isinstance(env, TaskEnv):
        env.close()
        raise ConfigError(
            f"{spec.id}: {type(env).__name__} is not a gem_tasks.TaskEnv, so its rows are unknown."
        )
    return env


def _name_of(spec: EnvSpec) -> str:
    """Return the name of the dataset of an environment, with its revision; empty for none."""
    name, revision = str(spec.kwargs.get("dataset_name") or ""), spec.kwargs.get("revision")
    return f"{name}@{revision}" if name and revision else name


def _moved(error: DataError, spec: EnvSpec) -> str:
    return (
        f"{error} If the schema has moved, pin an earlier commit with revision=, and tell "
        f"{spec.source.partition(' ')[0] or 'the author'}."
    )


def _said(error: Exception) -> str:
    """Return an error as a text, with its class if it is not one of ours."""
    return str(error) if isinstance(error, GemError) else f"{type(error).__name__}: {error}"


def _described(report: DataReport) -> str:
    at = f"@{report.revision[:7]}" if len(report.revision) == 40 else ""
    size = "" if report.size is None else f", {size_text(report.size)}"
    files = "" if report.files is None else f" ({report.files} files{size})"
    return f"{report.dataset}{at}{files}"


def size_text(count: int) -> str:
    """Return a number of bytes for people."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.1f} {unit}"
    return f"{count} bytes"


def _short(value: Any) -> str:
    """Return a value as a text of one line."""
    text = " ".join((value if isinstance(value, str) else exact_repr(value)).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
