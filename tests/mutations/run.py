"""Changes important lines, one at a time, and runs the tests that must notice.

  python tests/mutations/run.py                       every mutation
  python tests/mutations/run.py gem-games gem-tau     those of some files here, NAME.toml
  python tests/mutations/run.py --checkout FOLDER     in another checkout

A file has a table for each mutation::

    [[mutation]]
    breaks = "An episode that is over can be stepped again."
    file = "gem_core/env.py"
    before = "if self._ended:"
    after = "if False:"
    tests = "tests/test_env.py"

``before`` is a text that occurs once in the file, and ``tests`` are files or folders, separated by
spaces, which must pass without the mutation. Everything happens in copies of the checkout. The exit
status is 1 if a mutation is not noticed, or if its text is not found.
"""

import argparse
import functools
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TIMEOUT = 600
"""Seconds after which tests are ended; a mutation that hangs them is noticed."""
NAMES = {0: "NOT NOTICED", 1: "noticed"}
"""What an exit status of pytest means."""


@dataclass(frozen=True)
class Mutation:
    """A changed text of a file, and the tests that must fail."""

    breaks: str
    file: str
    before: str
    after: str
    tests: str


def main() -> None:
    """Run the mutations, print a line for each, and exit with 1 if one is not noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="files of this folder")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="what is changed and tested")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    options = parser.parse_args()
    names = options.names or sorted(path.stem for path in HERE.glob("*.toml"))
    mutations = [mutation for name in names for mutation in read(HERE / f"{name}.toml")]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as threads:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(options.jobs):
            copies.put(copy_of(options.checkout, Path(folder) / str(number)))
        results = []
        for mutation, result in zip(
            mutations, threads.map(lambda one: tried(one, copies), mutations), strict=True
        ):
            print(f"{result:12} {mutation.file}: {mutation.breaks}", flush=True)
            results.append(result)
    print(f"{results.count('noticed')} of {len(results)} mutations are noticed")
    sys.exit(set(results) != {"noticed"})


def read(path: Path) -> list[Mutation]:
    """Read a file of mutations."""
    return [Mutation(**table) for table in tomllib.loads(path.read_text("utf-8"))["mutation"]]


def copy_of(checkout: Path, target: Path) -> Path:
    """Copy the files of a checkout that git does not ignore."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=checkout, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (checkout / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, target / name, follow_symlinks=False)
    return target


def tried(mutation: Mutation, copies: "queue.SimpleQueue[Path]") -> str:
    """Return what the tests say of a mutation: noticed, not noticed, or what kept them from it."""
    copy = copies.get()
    try:
        if not passes(copy, mutation.tests):
            return "fails anyway"
        with changed(copy, mutation) as found:
            return NAMES.get(status(copy, mutation.tests), "error") if found else "not found"
    finally:
        copies.put(copy)


@contextmanager
def changed(copy: Path, mutation: Mutation) -> Iterator[bool]:
    """Change the file of a copy meanwhile; yield whether the text occurs there once."""
    path = copy / mutation.file
    text = path.read_text("utf-8") if path.exists() else ""
    try:
        if text.count(mutation.before) == 1:
            path.write_text(text.replace(mutation.before, mutation.after), "utf-8")
            yield True
        else:
            yield False
    finally:
        if path.exists():
            path.write_text(text, "utf-8")


@functools.cache
def passes(copy: Path, tests: str) -> bool:
    """Return whether tests pass as they are."""
    return status(copy, tests) == 0


def status(copy: Path, tests: str) -> int:
    """Run tests of a copy, with the packages of that copy, until the first failure."""
    packages = [copy, *copy.glob("libs/*"), *copy.glob("plugins/*")]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages))}
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
    try:
        return subprocess.run(
            words, cwd=copy, env=environ, capture_output=True, check=False, timeout=TIMEOUT
        ).returncode
    except subprocess.TimeoutExpired:
        return 1


if __name__ == "__main__":
    main()
