"""``gem-core swe``: make tasks of a repository of your own."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import click

from gem_core.errors import ConfigError
from gem_swe.harbor import write_harbor
from gem_swe.made_folder import MadeFolder, is_made_folder, with_folders
from gem_swe.make import Made, Maker
from gem_swe.python_environment import find_python
from gem_swe.user_repository import read_user_repository
from gem_terminal.machine_option import read_machine
from gem_workers.machine import make_machine_provider

__all__ = ["command"]

_PLAIN = re.compile(r"[\w./-]+")
"""What needs no quotes in an option of ``gem-core eval``."""


@click.group()
def command() -> None:
    """Make tasks of software engineering."""


@command.command(
    epilog="\b\nExamples:\n"
    "  gem-core swe make ~/src/humanize\n"
    "  gem-core swe make . --tasks 200 --output tasks --jobs 8\n"
    "  gem-core swe make . --python .venv/bin/python --source src/mine --bugs 2\n"
    "  gem-core eval swe:Custom env.data=humanize-tasks agent=oracle",
)
@click.argument("repository", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write, by default NAME-tasks. If it is there, the work goes on.",
)
@click.option(
    "--tasks",
    "count",
    default=50,
    show_default=True,
    type=click.IntRange(1),
    help="The number of tasks to make.",
)
@click.option(
    "--bugs",
    default=1,
    show_default=True,
    type=click.IntRange(1, 5),
    help="The number of places that are changed for a task.",
)
@click.option(
    "--python",
    default="",
    help="The Python with what the tests need; by default that of .venv or venv, the active "
    "one, or this one.",
)
@click.option(
    "--source", multiple=True, help="A folder of source in the repository; by default its packages."
)
@click.option(
    "--seed", default=0, show_default=True, help="Decides which bugs are tried, in which order."
)
@click.option(
    "--jobs",
    default=os.cpu_count() or 1,
    show_default=True,
    type=click.IntRange(1),
    help="The number of machines at the same time.",
)
@click.option(
    "--harbor",
    is_flag=True,
    help="Write the tasks as task folders of Harbor too, in OUTPUT/harbor.",
)
@click.option(
    "--machine",
    default="local",
    show_default=True,
    help="A provider of machines: its id, or a mapping with its parameters.",
)
def make(
    repository: Path,
    output: Path | None,
    count: int,
    bugs: int,
    python: str,
    source: tuple[str, ...],
    seed: int,
    jobs: int,
    machine: str,
    *,
    harbor: bool,
) -> None:
    """Plant bugs in a REPOSITORY, and make tasks of those that its tests notice.

    The tests need pytest. They run in machines without a network, with the packages of --python.
    A bug is kept if the same tests fail in three runs, others pass, and no other bug fails alike.
    """
    folder = output or Path(f"{repository.resolve().name}-tasks")
    found = read_user_repository(repository, source=source, without=folder)
    environment = find_python(repository, python, modules=found.modules)
    for path in (repository, folder):
        environment.check_unseen(path)
    options = {"bugs": bugs, "seed": seed}
    provider = make_machine_provider(with_folders(read_machine(machine), environment.folders))
    maker = Maker(found, environment, provider, bugs=bugs, seed=seed, jobs=jobs, say=_say)
    made = MadeFolder(folder, environment, found.folders, found.tests, maker.concealed, options)
    rows: list[dict[str, Any]] = []
    if is_made_folder(folder):
        before = MadeFolder.read(folder)
        if before.options != options or before.files() != found.files:
            raise ConfigError(
                f"{folder} was made of other files, or with other options ({before.options}); name "
                f"another folder with --output."
            )
        rows = before.rows()
    elif folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"{folder} has other things; name a new folder with --output.")
    start = max((int(row["instance_id"].rpartition("-")[2]) for row in rows), default=0)
    last = Made()
    try:
        work = maker.make(count - len(rows), start=start, rows=rows)
        for last, row in work if len(rows) < count else ():
            if row is not None:
                if last.kept == 1:
                    made.write(found.files)  # with the Python that has just run the tests
                made.append(row)
                _say(f"{len(rows) + last.kept} of {count} tasks, {last.tried} bugs tried")
    finally:
        provider.close()
        _report(folder, last, len(rows), start)
    if harbor and (rows or last.kept):
        number = write_harbor(MadeFolder.read(folder), folder / "harbor")
        click.echo(f"{number} task folders in {folder / 'harbor'}.")
    if not rows and not last.kept:
        raise ConfigError(f"No bug of {found.name} is usable.")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _report(folder: Path, made: Made, before: int, start: int) -> None:
    tried = made.tried - start
    click.echo(f"{before + made.kept} tasks in {folder}.")
    if tried > 0:
        click.echo(f"{made.kept} of {tried} bugs are usable ({made.kept / tried:.0%}).")
    for reason, count in made.refused.most_common():
        click.echo(f"  {count}: {reason}")
    if before + made.kept:
        data = str(folder) if _PLAIN.fullmatch(str(folder)) else json.dumps(str(folder))
        option = shlex.quote(f"env.data={data}")
        click.echo(f"Play them: gem-core eval swe:Custom {option} agent=oracle")
