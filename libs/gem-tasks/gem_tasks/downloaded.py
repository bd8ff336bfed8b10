"""Datasets of the hub in a folder, as its programs leave them or as people lay them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gem_tasks.file_rows import COMPRESSED
from gem_tasks.hub import parts_of_name
from gem_tasks.hub_facts import UnreachableError
from gem_tasks.resolved_files import ENDINGS

__all__ = ["Downloaded", "find_downloaded"]

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Downloaded:
    """A dataset in a folder.

    Args:
        path: Its folder, or its only file.
        commit: The commit that it was downloaded from; empty if nothing tells it.
    """

    path: Path
    commit: str


def find_downloaded(folder: Path, name: str) -> Downloaded:
    """Return a dataset in a folder.

    These are tried in turn, for ``org/name``:

    - ``datasets--org--name``, in the folder or in its ``hub``: the cache of ``hf download``;
    - ``org/name``, ``org--name``, ``org__name`` and ``name``: a folder of files, such as that of
      ``hf download --local-dir``, or a file with one of these names and an ending of rows.

    Args:
        folder: The folder.
        name: ``org/name`` or ``org/name:config``; ``@revision`` may follow either. A config is a
            folder of its name in that of the dataset.

    Raises:
        DataError: The name is malformed.
        UnreachableError: The folder does not have the dataset, its config or its revision.
    """
    repository, config, revision = parts_of_name(name)
    for path in _places(folder, repository):
        snapshot = _snapshot(path, revision) if path.name.startswith("datasets--") else path
        if snapshot is None:
            continue
        commit = snapshot.name if _COMMIT.fullmatch(snapshot.name) else _commit_beside(snapshot)
        if revision is not None and snapshot is path and not commit.startswith(revision):
            continue
        if config is None:
            return Downloaded(snapshot, commit)
        if (snapshot / config).is_dir():
            return Downloaded(snapshot / config, commit)
    wanted = "".join([f", config {config!r}" if config else "", f"@{revision}" if revision else ""])
    raise UnreachableError(
        f"{repository}{wanted}: not in {folder}. Download it with `hf download {repository} "
        f"--repo-type dataset --local-dir {folder / repository}`.",
        "missing",
    )


def _places(folder: Path, repository: str) -> Iterator[Path]:
    """Yield the files and folders that may be a dataset."""
    flat = repository.replace("/", "--")
    for root in (folder, folder / "hub"):
        if (root / f"datasets--{flat}").is_dir():
            yield root / f"datasets--{flat}"
    endings = [f"{one}{packed}" for one in ENDINGS for packed in ("", *COMPRESSED)]
    for stem in (repository, flat, repository.replace("/", "__"), repository.rpartition("/")[2]):
        if (folder / stem).is_dir():
            yield folder / stem
        files = (folder / f"{stem}{ending}" for ending in endings)
        yield from (file for file in files if file.is_file())


def _snapshot(cached: Path, revision: str | None) -> Path | None:
    """Return the folder of a revision in the cache of a dataset; the newest one for no revision."""
    ref = cached / "refs" / (revision or "main")
    commit = ref.read_text().strip() if ref.is_file() else revision or ""
    found = [path for path in (cached / "snapshots").glob(f"{commit}*") if path.is_dir()]
    return max(found, key=lambda path: path.stat().st_mtime_ns, default=None)


def _commit_beside(path: Path) -> str:
    """Return the commit that ``hf download --local-dir`` has written beside the files."""
    notes = sorted((path / ".cache" / "huggingface" / "download").rglob("*.metadata"))
    first = (note.read_text().partition("\n")[0].strip() for note in notes)
    return next(filter(_COMMIT.fullmatch, first), "")
