"""An agent that mends a repository on a machine of its own."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from gem_core.calls import CallFormat
from gem_core.errors import ConfigError
from gem_core.signatures import passes_options_to
from gem_core.tool import Function
from gem_swe.acting import edit, view
from gem_swe.concealed import conceal
from gem_swe.functions import FUNCTIONS
from gem_swe.generated import LEVELS, generate_task
from gem_swe.made_folder import MadeFolder, is_made_folder, with_folders
from gem_swe.rows import rows_of
from gem_swe.sample import sample_tasks
from gem_swe.task import SweTask
from gem_swe.verify import SweVerifier
from gem_tasks.row_source import RowSource
from gem_tasks.task_source import DrawnTasks, ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask
from gem_terminal.tasks import Tasks
from gem_terminal.verify import Carry, Verifier
from gem_workers.machine import Machine, MachineProvider

__all__ = ["SweEnv"]


class SweEnv(TerminalEnv):
    """Repositories with bugs: a statement, a machine, and hidden tests that grade the source.

    The repository is in ``/testbed``, with git, and has one commit. The agent views and edits
    files, runs commands, and submits. Then the source files that it has changed, and nothing else,
    go to a fresh machine, where the tests run.

    ``info`` at the end has the ``patch`` of the source, how many ``tests`` pass of those that were
    to be mended (``FAIL_TO_PASS``) and of the others (``PASS_TO_PASS``), and the ``results`` of
    what failed before or fails now: the ``test``, the ``expression``, what was ``expected``, and
    what came ``before`` and ``after``.

    Args:
        tasks: ``sample`` for the 100 tasks that are shipped, ``easy`` or ``hard`` for generated
            ones, ``rows`` for those of ``data`` or ``dataset_name``, or an object.
        data: A folder that ``gem-core swe make`` has written, or rows with an image each: files,
            or mappings, see ``gem_swe.rows``.
        dataset_name: The name of a dataset of such rows on the hub.
        split: The split of the rows.
        revision: The commit, branch or tag of the dataset.
        image: The name of the image of a row, see ``gem_swe.rows``; empty for the column with it.
        test_command: How pytest is called in these images; empty for the default.
        machine: The id of a provider of machines, a mapping with an ``id`` and parameters, or a
            provider. Machines of ``local`` get the folders of the Python that the tests of a made
            folder need.
        call_format: The id of a call format, a mapping or an object; None for ``bash`` blocks,
            with which an agent has the shell only.
        max_turns: The number of turns.
        partial: Pay the part of the tests that were to be mended and pass, if all others pass; if
            not, the reward is 1 if all pass and 0 if not.
        kwargs: The other arguments of ``TerminalEnv``, but ``mode`` and ``carry``.

    Raises:
        ConfigError: A value is not known.
    """

    finish_name: ClassVar[str] = "submit"
    functions: ClassVar[tuple[Function, ...]] = FUNCTIONS

    @passes_options_to(TerminalEnv, without={"mode", "carry"})
    def __init__(
        self,
        *,
        tasks: str | Tasks = "sample",
        data: Any = None,
        dataset_name: str = "",
        split: str | None = None,
        revision: str | None = None,
        image: str = "",
        test_command: str = "",
        machine: str | Mapping[str, Any] | MachineProvider = "local",
        call_format: str | Mapping[str, Any] | CallFormat | None = "hermes",
        partial: bool = False,
        **kwargs: Any,
    ) -> None:
        self._is_partial = partial
        if tasks == "rows":
            made = MadeFolder.read(data) if is_made_folder(data) else None
            if made is not None:
                made.environment.check_unseen(made.path)
                if not isinstance(machine, MachineProvider):
                    machine = with_folders(machine, made.environment.folders)
                tasks = ListedTasks(made.tasks())
            else:
                name = f"{dataset_name}@{revision}" if revision else dataset_name
                source = RowSource(dataset_name=name, split=split, data=data)
                tasks = ListedTasks(rows_of(source, image=image, command=test_command))
        elif data is not None or dataset_name:
            raise ConfigError("Only tasks='rows', as in swe:Custom, takes data or dataset_name.")
        super().__init__(tasks=tasks, machine=machine, call_format=call_format, **kwargs)

    def find_tasks(self, tasks: str | Tasks, data: str | Path | None) -> Tasks:
        """Return the source of the tasks."""
        if not isinstance(tasks, str):
            return tasks
        if tasks == "sample":
            return ListedTasks(sample_tasks())
        if tasks not in LEVELS:
            known = ", ".join(("sample", "rows", *LEVELS))
            raise ConfigError(f"tasks must be one of {known}, or an object; got {tasks!r}.")
        return DrawnTasks(functools.partial(generate_task, level=tasks))

    def prepare_machine(self, machine: Machine, task: TerminalTask) -> None:
        """Remove from an agent's machine what is to be written."""
        super().prepare_machine(machine, task)
        conceal(machine, task.concealed if isinstance(task, SweTask) else ())

    def make_verifier(self, provider: MachineProvider, carry: Carry) -> Verifier:
        """Return what grades machines of a provider."""
        return SweVerifier(provider, is_partial=self._is_partial)

    def call(self, function: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Carry out a call of the agent; see ``TerminalEnv``."""
        if function == "view":
            lines = arguments.get("lines") or ""
            return view(self.machine, arguments["path"], lines, output_limit=self.output_limit)
        if function == "edit":
            return edit(self.machine, **arguments)
        return super().call(function, arguments)
