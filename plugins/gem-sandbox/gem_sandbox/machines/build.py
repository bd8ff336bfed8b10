"""Carry out a Dockerfile on a machine, without a container engine.

The subset is that of most terminal tasks: one stage that sets variables, copies files of its own
folder and runs commands. What is not in it is refused with the file and the line.
"""

import fnmatch
import hashlib
import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gem_core.errors import ConfigError, MachineError
from gem_sandbox.machines.context import context_digest, context_names
from gem_workers.dockerfile import (
    Instruction,
    assignments,
    needs_engine,
    read_dockerfile,
    substitute,
    user_of,
    workdir_of,
)
from gem_workers.machine import Machine
from gem_workers.untrusted_files import read_bytes

__all__ = ["Recipe", "base_image", "read_recipe"]

_COPIES = frozenset({"ADD", "COPY"})
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_SHOWN = 500
_BASE = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
"""Variables of every base, to which others may refer."""
_SCRIPT = "/dev/shm/host/script"  # noqa: S108 - of the machine
"""Where a here-document lies that names its own interpreter; no layer holds it."""
_MODE = re.compile(r"[0-7]{3,4}")
_SEEKERS = {"Ip": "OutNoRoutes", "Udp": "NoPorts"}
"""What the kernel counts where programs look for a network and there is none."""


@dataclass(frozen=True)
class Recipe:
    """What a Dockerfile does.

    Args:
        folder: The folder with the Dockerfile and the files that it copies.
        steps: The instructions, in order.
        base: The image that it starts from.
    """

    folder: Path
    steps: tuple[Instruction, ...]
    base: str
    base_env: Mapping[str, str] = field(default_factory=dict)
    base_workdir: str = "/"
    base_user: str = "root"
    """The variables, the directory and the user of that image."""

    @property
    def env(self) -> dict[str, str]:
        """The environment of commands."""
        variables, env = {**_BASE, **self.base_env}, dict(self.base_env)
        for step in self.steps:
            if step.name in {"ARG", "ENV"}:
                found = assignments(step.arguments, variables)
                variables |= found
                env |= found if step.name == "ENV" else {}
        return env

    @property
    def workdir(self) -> str:
        """The directory in which commands start."""
        return workdir_of(self.steps, base=self.base_workdir)

    @property
    def user(self) -> str:
        """The user that runs commands."""
        return user_of(self.steps, base=self.base_user)

    def keys(self, start: str) -> list[str]:
        """Return a hash for each step: of ``start``, of all steps up to it and what they copy."""
        found = []
        key, names, variables = start, context_names(self.folder), {**_BASE, **self.base_env}
        for step in self.steps:
            parts = [key, step.name, step.arguments]
            parts += [one.content for one in step.here_documents]
            if step.name in {"ARG", "ENV"}:
                variables |= assignments(step.arguments, variables)
            elif step.name in _COPIES:
                sources = _words(step, variables)[:-1]
                copied = {name for one in sources for name, _ in _sources(names, one)}
                parts.append(context_digest(self.folder, sorted(copied)))
            key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            found.append(key)
        return found

    def carry_out(
        self,
        machine: Machine,
        *,
        env: Mapping[str, str] | None = None,
        done: int = 0,
        timeout: float = 600.0,
    ) -> Iterator[int]:
        """Do on a machine what the Dockerfile says.

        Args:
            machine: A machine with the files of the steps that are done, over the base image.
            env: Variables of commands, which the image does not get.
            done: The number of steps that are done.
            timeout: Seconds of wall time that a command may take.

        Yields:
            The number of steps that are done, after each command that was run.

        Raises:
            ConfigError: An instruction cannot be carried out; the message has the file and line.
        """
        state = _State(self, machine, env or {}, timeout)
        for number, step in enumerate(self.steps):
            if number < done:
                state.note(step)
                continue
            try:
                has_run = state.take(step)
            except (ConfigError, MachineError) as error:
                raise _refusal(self.folder, step, str(error)) from error
            if has_run:
                yield number + 1


def read_recipe(folder: str | Path) -> Recipe:
    """Read the Dockerfile of a folder.

    Raises:
        ConfigError: It cannot be read, or has an instruction that only an engine can carry out.
    """
    place = Path(folder).expanduser()
    steps = read_dockerfile(place)
    for step in steps:
        if problem := needs_engine(step):
            raise _refusal(place, step, problem)
    return Recipe(place, tuple(steps), base_image(place, steps))


def base_image(folder: Path, steps: Sequence[Instruction]) -> str:
    """Return the name of the image that the only ``FROM`` of a Dockerfile names.

    Args:
        folder: The folder of the Dockerfile, for messages.
        steps: Its instructions.

    Raises:
        ConfigError: It does not have one ``FROM``, or a variable in it has no value.
    """
    bases = [step for step in steps if step.name == "FROM"]
    if len(bases) != 1:
        raise ConfigError(f"{folder / 'Dockerfile'}: it must have one FROM; it has {len(bases)}.")
    variables = dict[str, str]()
    for step in steps:
        if step.name == "ARG":
            variables |= assignments(step.arguments, variables)
    words = substitute(bases[0].arguments, variables).split()
    base = [word for word in words if not word.startswith("--")]
    if not base:
        raise _refusal(folder, bases[0], "the image of FROM is a variable that has no value")
    return base[0]


def _refusal(folder: Path, step: Instruction, problem: str) -> ConfigError:
    return ConfigError(f"{folder / 'Dockerfile'}, line {step.line}: {problem.rstrip('.')}.")


class _State:
    """A machine on which instructions are carried out, with their variables."""

    def __init__(
        self, recipe: Recipe, machine: Machine, env: Mapping[str, str], timeout: float
    ) -> None:
        self._recipe = recipe
        self._machine = machine
        self._env = env
        self._timeout = timeout
        self._names = context_names(recipe.folder)
        self._variables = {**_BASE, **recipe.base_env}
        self._folder, self._user = recipe.base_workdir or "/", recipe.base_user or "root"
        self._shell = ["/bin/sh", "-c"]

    def note(self, step: Instruction) -> None:
        """Take over what an instruction says about those that follow."""
        text = step.arguments
        if step.name in {"ARG", "ENV"}:
            self._variables |= assignments(text, self._variables)
        elif step.name == "WORKDIR":
            self._folder = self._absolute(substitute(text.strip("\"'"), self._variables))
        elif step.name == "SHELL":
            self._shell = _exec_form(text) or self._shell
        elif step.name == "USER":
            self._user = substitute(text.strip("\"'"), self._variables).partition(":")[0]

    def take(self, step: Instruction) -> bool:
        """Carry out an instruction; return whether a command was run."""
        self.note(step)
        if step.name == "WORKDIR":
            self._do(["mkdir", "-p", self._folder], user="root", cwd="/")
        elif step.name in _COPIES:
            self._copy(step)
        elif step.name == "RUN":
            self._run(step)
            return True
        return False

    def _absolute(self, path: str) -> str:
        return "/" + posixpath.normpath(posixpath.join(self._folder, path)).lstrip("/")

    def _do(self, words: Sequence[str], *, user: str, cwd: str) -> None:
        found = self._machine.run(shlex.join(words), user=user, cwd=cwd)
        if not found.ok:
            raise ConfigError(found.stderr.strip() or f"{words[0]} failed")

    def _run(self, step: Instruction) -> None:
        words = None if step.here_documents else _exec_form(step.command)
        if step.here_documents and step.command.startswith("#!"):
            self._machine.write(_SCRIPT, step.command, mode=0o755)
            words = [_SCRIPT]
        found = self._machine.run(
            shlex.join(words or [*self._shell, step.command]),
            timeout=self._timeout,
            user=self._user,
            cwd=self._folder,
            env={**self._env, **self._variables},
        )
        said = f"It wrote at last: {(found.stderr or found.stdout).strip()[-_SHOWN:]}"
        if self._machine.spec.network == "none":
            network = "without a network; build_network='host' gives builds one"
        else:
            network = "with the network of this host"
        if not found.ok:
            why = f"the limit {found.limit}" if found.limit else f"exit status {found.exit_status}"
            why += " (what is left of build_timeout)" if found.limit == "wall_time" else ""
            raise ConfigError(f"RUN ended with {why}, {network}. {said}")
        if self._has_missed_network():
            raise ConfigError(f"RUN needs a network, but went on {network}. {said}")

    def _has_missed_network(self) -> bool:
        """Return whether programs have looked for a network on a machine that has none.

        Many a script goes on then, and what it makes is half of what its author meant.
        """
        if self._machine.spec.network != "none":
            return False
        lines = self._machine.read("/proc/net/snmp").decode().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            name = names.partition(":")[0]
            counts = dict(zip(names.split(), values.split(), strict=True))
            if counts.get(_SEEKERS.get(name, ""), "0") != "0":
                return True
        return False

    def _copy(self, step: Instruction) -> None:
        words = _words(step, self._variables)
        options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
        paths = [word for word in words if not word.startswith("--")]
        if not _MODE.fullmatch(options.get("chmod", "644")):
            raise ConfigError(f"--chmod={options['chmod']} is not a mode such as 755")
        if len(paths) + len(step.here_documents) < 2:
            raise ConfigError(f"{step.name} needs a source and a destination")
        *sources, target = paths
        place = self._absolute(target)
        is_folder = (
            target.endswith(("/", "/."))
            or len(sources) + len(step.here_documents) > 1
            or self._machine.run(f"test -d {shlex.quote(place)}", user="root", cwd="/").ok
        )
        for source in sources:
            found = list(_sources(self._names, source))
            if not found:
                raise ConfigError(f"{step.name}: there is no {source!r} in {self._recipe.folder}")
            for name, inner in found:
                self._put(step.name, name, place, inner, is_folder=is_folder, options=options)
        for document in step.here_documents:
            content = document.content
            if document.expands:
                content = substitute(content, self._variables)
            path = posixpath.join(place, document.name) if is_folder else place
            self._write(path, content.encode(), int(options.get("chmod", "644"), 8), options)

    def _put(
        self,
        how: str,
        name: str,
        place: str,
        inner: str,
        *,
        is_folder: bool,
        options: Mapping[str, str],
    ) -> None:
        file = self._recipe.folder / name
        if file.is_symlink() and file.is_dir() and not inner:
            raise ConfigError(f"{how}: {name!r} is a link to a folder")
        if file.is_dir() and not file.is_symlink():
            self._make_folder(posixpath.normpath(posixpath.join(place, inner)), options)
            return
        if inner:
            path = posixpath.join(place, inner)
        else:
            path = posixpath.join(place, posixpath.basename(name)) if is_folder else place
        if file.is_symlink() and inner:
            self._do(["mkdir", "-p", posixpath.dirname(path)], user="root", cwd="/")
            self._do(["ln", "-sfn", "--", str(file.readlink()), path], user="root", cwd="/")
            self._own(path, options)
            return
        content = read_bytes(self._recipe.folder, name)
        if how == "ADD" and not inner and name.endswith(_ARCHIVES):
            self._machine.write("/tmp/.added", content)  # noqa: S108 - of the machine
            self._do(["mkdir", "-p", place], user="root", cwd="/")
            self._do(["tar", "-xf", "/tmp/.added", "-C", place], user="root", cwd="/")  # noqa: S108
            self._do(["rm", "/tmp/.added"], user="root", cwd="/")  # noqa: S108
            return
        default = "755" if file.stat().st_mode & 0o111 else "644"
        self._write(path, content, int(options.get("chmod", default), 8), options)

    def _write(self, path: str, content: bytes, mode: int, options: Mapping[str, str]) -> None:
        self._machine.write(path, content, mode=mode)
        self._own(path, options)

    def _make_folder(self, path: str, options: Mapping[str, str]) -> None:
        """Create a folder; one that is there keeps its owner and mode."""
        if not self._machine.run(f"test -d {shlex.quote(path)}", user="root", cwd="/").ok:
            self._do(["mkdir", "-p", path], user="root", cwd="/")
            if "chmod" in options:
                self._do(["chmod", options["chmod"], path], user="root", cwd="/")
            self._own(path, options)

    def _own(self, path: str, options: Mapping[str, str]) -> None:
        if "chown" in options:
            self._do(["chown", "-h", options["chown"], path], user="root", cwd="/")


def _words(step: Instruction, variables: Mapping[str, str]) -> list[str]:
    """Return the options, the sources and the destination of ``COPY`` or ``ADD``.

    Here-documents are left out.
    """
    text = step.arguments
    for document in step.here_documents:
        text = text.replace(document.mark, "", 1)
    words = _exec_form(text) or shlex.split(text)
    return [substitute(word, variables) for word in words]


def _sources(names: Sequence[str], source: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a source stands for, and their paths below the destination.

    The path is empty for a name that is the source itself.
    """
    pattern = posixpath.normpath(source.lstrip("/"))
    if pattern == ".":
        yield ".", ""
    for name in names:
        if pattern == ".":
            yield name, name
            continue
        for above in (name, *(str(one) for one in Path(name).parents)):
            if above != "." and _matches(above, pattern):
                yield name, name[len(above) + 1 :]
                break


def _matches(name: str, pattern: str) -> bool:
    """Return whether a path matches a pattern, in which ``*`` is within a folder."""
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def _exec_form(text: str) -> list[str] | None:
    """Return the words of the form ``["program", "argument"]``; None for the shell form."""
    if not text.lstrip().startswith("["):
        return None
    try:
        words = json.loads(text)
    except ValueError:
        return None
    return words if isinstance(words, list) and all(isinstance(w, str) for w in words) else None
