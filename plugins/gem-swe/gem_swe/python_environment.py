"""The Python with which the tests of a user's repository run, and where machines find it."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError

__all__ = ["PythonEnvironment", "find_python"]

_SYSTEM = "/usr"
"""What machines have of the host anyway."""
_ASK = """
import importlib.metadata, importlib.util, json, sys, sysconfig
print(json.dumps({
    "prefix": sys.prefix,
    "base": sys.base_prefix,
    "version": "%d.%d" % sys.version_info[:2],
    "has_pytest": importlib.util.find_spec("pytest") is not None,
    "libraries": sorted({
        sysconfig.get_path(kind, vars={"base": top, "platbase": top})
        for kind in ("purelib", "platlib") for top in (sys.prefix, sys.base_prefix)
    } | {path for path in sys.path if path.endswith("-packages")}),
    "distributions": sorted({
        (
            "%s==%s" % (one.metadata["Name"], one.version),
            (one.read_text("direct_url.json") or "").find('"file:') >= 0,
            tuple(sorted({path.parts[0].partition(".")[0] for path in one.files or ()})),
        )
        for one in importlib.metadata.distributions() if one.metadata["Name"]
    }),
}))
"""
_COPIES = ("{}", "{}.py", "{}.*.so", "{}.pyc", "{}-*.egg", "__pycache__/{}.*.pyc")
"""Where a module may be, below a folder of packages."""


@dataclass(frozen=True)
class PythonEnvironment:
    """A Python with packages.

    Args:
        python: The path of the interpreter.
        version: Its version, such as ``3.12``.
        folders: The folders of the host that machines need of it, each at its own path.
        requirements: The packages that it has, but not that of the repository, as in a file of
            requirements.
        libraries: The folders of its packages, and of those of the Python that it was made of.
    """

    python: str
    version: str
    folders: tuple[str, ...]
    requirements: tuple[str, ...]
    libraries: tuple[str, ...]

    def copies_of(
        self, names: Collection[str], contents: Collection[bytes] = ()
    ) -> tuple[str, ...]:
        """Return where what the repository has is or might be installed, as patterns of paths.

        Args:
            names: The names of top-level modules.
            contents: What is in source files, which may be found elsewhere under any name.
        """
        places = [
            f"{library}/{place.format(name)}"
            for library in self.libraries
            for name in names
            for place in _COPIES
        ]
        return tuple(dict.fromkeys([*places, *self._equal({*contents} - {b""}, {*places})]))

    def _equal(self, contents: Collection[bytes], known: Collection[str]) -> Iterator[str]:
        """Yield the files with one of these contents, outside of known places, and their caches."""
        sizes = {len(one) for one in contents}
        for folder in self.folders if sizes else ():
            for path in Path(folder).rglob("*.py"):
                if any(str(one) in known for one in path.parents):
                    continue
                with contextlib.suppress(OSError):
                    if path.stat().st_size in sizes and path.read_bytes() in contents:
                        yield str(path)
                        yield f"{path.parent}/__pycache__/{path.stem}.*.pyc"

    def check_unseen(self, path: Path) -> None:
        """Raise unless a path lies outside of the folders that machines get.

        Args:
            path: A folder in which solutions can be read.

        Raises:
            ConfigError: Machines would see it.
        """
        for folder in (*self.folders, _SYSTEM):
            if path.expanduser().resolve().is_relative_to(folder):
                raise ConfigError(
                    f"{path} is in {folder}, which machines see, and an agent could read the "
                    f"solutions there. Keep it elsewhere."
                )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "python": self.python,
            "version": self.version,
            "folders": list(self.folders),
            "requirements": list(self.requirements),
            "libraries": list(self.libraries),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "PythonEnvironment":
        """Return what ``to_dict`` has written."""
        parts = {
            name: tuple(map(str, values[name])) for name in ("folders", "requirements", "libraries")
        }
        return cls(str(values["python"]), str(values["version"]), **parts)


def find_python(
    repository: Path, given: str = "", *, modules: Collection[str] = ()
) -> PythonEnvironment:
    """Return the Python of a repository.

    Args:
        repository: The folder of the repository.
        given: The path or the name of an interpreter; empty for that of ``.venv`` or ``venv`` in
            the repository, of the virtual environment that is active, or this one.
        modules: The names of the top-level modules of the repository.

    Raises:
        ConfigError: It cannot be run, or has no pytest.
    """
    active = os.environ.get("VIRTUAL_ENV")
    places = [repository / ".venv", repository / "venv", *([Path(active)] if active else [])]
    found = [str(one / "bin" / "python") for one in places if (one / "bin" / "python").exists()]
    named = given or next(iter(found), sys.executable)
    python = os.path.abspath(shutil.which(named) or named)  # noqa: PTH100 - links are kept
    try:
        done = subprocess.run(  # noqa: S603 - the user names it
            [python, "-I", "-c", _ASK], capture_output=True, text=True, timeout=60, check=True
        )
        answer = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        status = getattr(error, "returncode", None)
        why = type(error).__name__ if status is None else f"exit status {status}"
        raise ConfigError(f"{python} is not a Python that can be run: {why}.") from error
    if not answer["has_pytest"]:
        raise ConfigError(
            f"{python} has no pytest. Name another with --python, or install it there: "
            f"{python} -m pip install pytest"
        )
    real = Path(python).resolve().parent.parent
    folders = dict.fromkeys([answer["prefix"], answer["base"], str(real)])
    return PythonEnvironment(
        python,
        answer["version"],
        tuple(one for one in folders if one != _SYSTEM and not one.startswith(f"{_SYSTEM}/")),
        tuple(
            name
            for name, is_folder, tops in answer["distributions"]
            if not is_folder and not {*tops} & {*modules}
        ),
        tuple(answer["libraries"]),
    )
