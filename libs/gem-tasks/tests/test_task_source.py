"""Sources of tasks: listed tasks come once in each round, drawn ones follow their seeds."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.errors import ConfigError
from gem_tasks.task_source import DrawnTasks, ListedTasks

EXAMPLES = 100 if thorough() else 20


@settings(max_examples=EXAMPLES)
@given(st.integers(1, 40), st.integers(0, 2**64))
def test_each_listed_task_comes_once_in_each_round(count: int, seed: int) -> None:
    source = ListedTasks(list("x" * count))
    rounds = [
        [source.reset_options(number, seed)["idx"] for number in range(first, first + count)]
        for first in (0, count)
    ]
    assert [sorted(one) for one in rounds] == [list(range(count))] * 2


def test_without_a_seed_of_the_run_the_environment_draws_tasks() -> None:
    source = ListedTasks(["a", "b", "c"])
    assert source.reset_options(0, None) == {}
    drawn = [source.draw(Random(seed), None) for seed in range(20)]
    assert {task for _, task in drawn} == {"a", "b", "c"}
    assert all(source.tasks[number or 0] == task for number, task in drawn)


@pytest.mark.parametrize("idx", [-1, 3, True, "1", 1.0])
def test_a_number_that_does_not_exist_says_which_do(idx: object) -> None:
    with pytest.raises(ConfigError, match="from 0 to 2"):
        ListedTasks(["a", "b", "c"]).draw(Random(0), idx)  # type: ignore[arg-type]


def test_drawn_tasks_follow_the_seed_and_have_no_numbers() -> None:
    source = DrawnTasks(lambda seed: seed)
    assert source.draw(Random(1), None) == source.draw(Random(1), None)
    assert source.draw(Random(1), None) != source.draw(Random(2), None)
    assert source.reset_options(5, 1) == {}
    with pytest.raises(ConfigError, match="seed="):
        source.draw(Random(0), 1)
