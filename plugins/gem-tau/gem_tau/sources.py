"""Where the tasks of an environment come from: a generator, or a folder."""

from collections.abc import Sequence
from pathlib import Path

from gem_core.errors import ConfigError, near_names
from gem_core.specs import load_entry_point
from gem_tasks.task_source import DrawnTasks, ListedTasks, TaskSource
from gem_tau.task import DialogueTask, Part

__all__ = ["SOURCES", "Dialogues", "DrawnTasks", "ListedTasks", "check_judge", "find_tasks"]

SOURCES = {
    "retail-sample": "gem_tau.domains.retail.tasks:sample",
    "airline-sample": "gem_tau.domains.airline.tasks:sample",
    "retail": "gem_tau.readers:retail",
    "airline": "gem_tau.readers:airline",
    "telecom": "gem_tau.readers:telecom",
    "mock": "gem_tau.readers:mock",
}
"""The function of each named source; it takes ``data`` and ``split``."""


Dialogues = TaskSource[DialogueTask]
"""A source of tasks of dialogues."""


def check_judge(source: Dialogues, basis: Sequence[Part] | None, *, has_judge: bool) -> None:
    """Check that no listed task needs a judge, or that there is one; drawn tasks need none.

    Args:
        source: The tasks.
        basis: The parts of the reward; None for each task's own.
        has_judge: Whether there is a judge.

    Raises:
        ConfigError: A task needs a judge and there is none.
    """
    if has_judge or not isinstance(source, ListedTasks):
        return
    needing = [
        task
        for task in source.tasks
        if "nl" in (task.reward_basis if basis is None else basis) and task.nl_assertions
    ]
    if needing:
        raise ConfigError(
            f"{len(needing)} of {len(source.tasks)} tasks have statements that a judge must "
            f"decide, for example {needing[0].id!r}. Pass judge=, the id of an agent, or leave "
            f"the part out: reward_basis=[db,communicate]."
        )


def find_tasks(
    tasks: str | Dialogues, *, data: str | Path | None = None, split: str | None = None
) -> Dialogues:
    """Return a source of tasks.

    Args:
        tasks: A name in ``SOURCES``, or a source.
        data: A folder, for the sources that read one.
        split: The split; None for the source's default.

    Raises:
        ConfigError: The name or the split is not known.
        DataError: The data cannot be read.
    """
    if not isinstance(tasks, str):
        return tasks
    if tasks not in SOURCES:
        raise ConfigError(
            f"tasks has no {tasks!r}.{near_names(tasks, SOURCES)} There are: {', '.join(SOURCES)}."
        )
    source: Dialogues = load_entry_point(SOURCES[tasks])(data=data, split=split)
    return source
