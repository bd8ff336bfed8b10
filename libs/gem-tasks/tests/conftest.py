"""An environment that asks for sums, and its rows."""

import sys
from types import ModuleType
from typing import Any, Unpack

import cloudpickle
import pytest

from gem_core.specs import EnvSpec
from gem_tasks import Answer, Grade, RowOptions, TaskEnv, gold_answers

# Worker processes receive the class by value, as they cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


COLUMNS = {"problem": str, "answer": Answer}


class Sums(TaskEnv):
    """Asks for the value of a sum; the answer is a number."""

    def __init__(self, *, columns: Any = COLUMNS, **rows: Unpack[RowOptions]) -> None:
        super().__init__(columns=columns, **rows)

    def question(self, row: dict[str, Any]) -> str:
        return row["problem"]

    def grade(self, action: str) -> Grade:
        correct = action.strip() in gold_answers(self.row["answer"])
        return Grade(float(correct), correct, {"length": len(action)})

    def solution(self) -> str:
        return gold_answers(self.row["answer"])[0]

    def sample_random_action(self) -> str:
        return str(self.action_rng.randrange(100))


def sums(count: int) -> list[dict[str, str]]:
    return [
        {"problem": f"{n} + {n}?", "answer": str(2 * n), "note": "unused"} for n in range(count)
    ]


@pytest.fixture(scope="session")
def datasets() -> ModuleType:
    """The library, whose import takes seconds."""
    return pytest.importorskip("datasets", reason="pip install 'gem-tasks[datasets]'")


@pytest.fixture
def make_sums() -> type[TaskEnv]:
    return Sums


@pytest.fixture(name="sums")
def sums_rows() -> Any:
    """Return a function that makes rows."""
    return sums


@pytest.fixture
def spec_of() -> Any:
    """Return a function that makes the spec of ``Sums``."""

    def make(**kwargs: Any) -> EnvSpec:
        return EnvSpec(
            id="acme:Sums",
            entry_point=Sums,
            kwargs=kwargs,
            oracle="gem_tasks:GoldOracle",
            return_range=(0.0, 1.0),
        )

    return make
