"""What a verifier with an image of its own gets of the agent's machine: declared files."""

import shlex
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from gem_workers.carried_files import is_reserved
from gem_workers.machine import Machine

__all__ = ["ARTIFACTS", "copy_artifacts"]

ARTIFACTS = "/logs/artifacts"
"""What is in this folder goes to the verifier, whether it is declared or not."""


def copy_artifacts(source: Machine, target: Machine, paths: Iterable[str]) -> tuple[str, ...]:
    """Copy files and folders to the same paths of another machine; what does not exist is left out.

    Only folders and regular files are copied, with their permissions, but without set-user-ID bits.

    Args:
        source: The agent's machine.
        target: The machine that grades.
        paths: The paths that the task declares; ``ARTIFACTS`` need not be among them.

    Returns:
        The paths of what was left behind, such as links.

    Raises:
        MachineError: What is there is too large or cannot be copied.
    """
    left = []
    for path in dict.fromkeys([*paths, ARTIFACTS]):
        is_ours = is_reserved(path) and not f"{path}/".startswith(f"{ARTIFACTS}/")
        if is_ours or not source.run(f"[ -e {shlex.quote(path)} ]", user="root", cwd="/").ok:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source.pull(path, folder)
            for file in _entries(Path(folder)):
                place = str(Path(path).parent / file.relative_to(folder))
                information = file.lstat()
                if stat.S_ISREG(information.st_mode):
                    target.write(place, file.read_bytes(), mode=information.st_mode & 0o777)
                elif stat.S_ISDIR(information.st_mode):
                    target.run(f"mkdir -p -- {shlex.quote(place)}", user="root", cwd="/")
                else:
                    left.append(place)
    return tuple(left)


def _entries(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _entries(entry)
