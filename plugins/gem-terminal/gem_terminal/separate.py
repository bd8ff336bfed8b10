"""What a verifier with an image of its own gets of the agent's machine: declared files."""

import shlex
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from gem_workers.carried_files import CarriedFiles, is_reserved
from gem_workers.machine import FileChange, Machine

__all__ = ["ARTIFACTS", "copy_artifacts"]

ARTIFACTS = "/logs/artifacts"
"""What is in this folder goes to the verifier, whether it is declared or not."""
_Kind = Literal["file", "folder", "other"]
_KINDS: dict[int, _Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder"}


def copy_artifacts(
    source: Machine, target: Machine, paths: Iterable[str], carried: CarriedFiles
) -> tuple[str, ...]:
    """Copy files and folders to the same paths of another machine; what does not exist is left out.

    Only folders and regular files are copied, with their permissions, but without set-user-ID bits;
    of those in declared folders, no files that tools would take for their own code.

    Args:
        source: The agent's machine.
        target: The machine that grades.
        paths: The paths that the task declares; ``ARTIFACTS`` need not be among them.
        carried: Decides about the files.

    Returns:
        The paths of what was left behind, such as links.

    Raises:
        MachineError: What is there is too large or cannot be copied.
    """
    left = []
    for path in dict.fromkeys([*paths, ARTIFACTS]):
        is_artifact = f"{path}/".startswith(f"{ARTIFACTS}/")
        is_ours = is_reserved(path) and not is_artifact
        if is_ours or not source.run(f"[ -e {shlex.quote(path)} ]", user="root", cwd="/").ok:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source.pull(path, folder)
            for file in _entries(Path(folder)):
                place = str(Path(path).parent / file.relative_to(folder))
                mode = file.lstat().st_mode
                kind: _Kind = _KINDS.get(stat.S_IFMT(mode), "other")
                change = FileChange(place, kind, False, mode=mode & 0o777)
                if kind == "other" or not (is_artifact or carried.keeps(change)):
                    left.append(place)
                elif kind == "folder":
                    target.run(f"mkdir -p -- {shlex.quote(place)}", user="root", cwd="/")
                else:
                    target.write(place, file.read_bytes(), mode=mode & 0o777)
    return tuple(left)


def _entries(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _entries(entry)
