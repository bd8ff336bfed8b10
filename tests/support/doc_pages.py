"""Runs what a page of the documentation shows, as it is written.

Blocks run in order, in one folder; the Python blocks are one program, which runs last. A block that
opens with ``# file: NAME`` is written to that file instead. Bash runs the lines of console blocks
that start with ``$``; ``export`` holds for the lines after it. A line that ends with ``&`` runs
until the test ends, and is ready when it has printed a line; its port (8000 to 8099) is replaced by
a free one in the whole page. A page that calls pip gets a virtual environment of its own, in which
everything of the tests is installed too.

Comments above a block are for the test::

    <!-- test: needs torch -->             leave the block out where torch is missing
    <!-- test: steps=500 => steps=2 -->    run the block with another number
"""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from commands import Command
from needs import how_to_get, missing
from ports import free_port

__all__ = ["Block", "blocks_of", "run", "run_page", "with_free_ports"]

BLOCK = re.compile(
    r"((?:^<!-- test: [^\n]* -->\n+)*)^```(python|console|yaml|toml)\n(.*?)^```",
    re.MULTILINE | re.DOTALL,
)
PRINTED = re.compile(
    r"^```python\n(?:(?!```).*\n)*```\n\n```text\n((?:(?!```).*\n)*)```", re.MULTILINE
)
"""What a page shows right below a Python block: what the block prints."""
SETTINGS = {"HYDRA_FULL_ERROR": "1", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    language: str
    text: str
    needs: list[str] = field(default_factory=list)
    """Packages without which the block is left out."""
    smaller: dict[str, str] = field(default_factory=dict)
    """What the test replaces, such as numbers of steps."""

    @property
    def file(self) -> str | None:
        """The file that the block is written to, if it is."""
        named = re.match(r"# file: (\S+)\n", self.text)
        return named[1] if named else None

    def commands(self) -> list[tuple[str, list[str]]]:
        """Return the commands of a console block, each with the lines shown below it."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return [(self._shrunk(command), shown) for command, shown in found]

    def _shrunk(self, command: str) -> str:
        for long, short in self.smaller.items():
            command = command.replace(long, short)
        return command


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page."""
    return [_block(*match) for match in BLOCK.findall(text)]


def _block(comments: str, language: str, text: str) -> Block:
    needed, smaller = [], {}
    for words in re.findall(r"^<!-- test: (.*) -->$", comments, re.MULTILINE):
        long, arrow, short = words.partition(" => ")
        if arrow:
            assert long in text, f"{words}: the block below has no {long!r}"
            smaller[long] = short
        else:
            needed += words.removeprefix("needs ").split()
    return Block(language, text, needed, smaller)


def with_free_ports(text: str) -> str:
    """Replace each port from 8000 to 8099 by a free one."""
    for port in sorted(set(re.findall(r"(?<=[:= ])80\d\d\b", text))):
        text = re.sub(rf"(?<=[:= ]){port}\b", str(free_port()), text)
    return text


def run_page(page: Path, folder: Path, *, outputs: bool = False) -> None:
    """Run a page; skip the test afterwards if something was left out.

    Args:
        page: The page.
        folder: An empty folder to run in.
        outputs: Whether each line that is shown below a command must be in its output, apart
            from spaces, lines of dots, and commands that are run with other numbers.
    """
    text = page.read_text(encoding="utf-8")
    text = with_free_ports(text) if re.search(r"^\$ .* &$", text, re.MULTILINE) else text
    blocks = blocks_of(text)
    absent = [name for block in blocks for name in block.needs if find_spec(name) is None]
    has_pip = re.search(r"^\$ pip ", text, re.MULTILINE)
    runner = _Runner(folder, _own_environment(folder) if has_pip else None, outputs=outputs)
    for block in blocks:
        if not set(block.needs) & set(absent):
            runner.run_block(block)
    printed = runner.run_program()
    if not absent:
        assert [one for one in PRINTED.findall(text) if one not in printed] == [], printed
    for name in dict.fromkeys(absent):
        missing(name, f"what needs {name} was left out: {how_to_get(name)}")


class _Runner:
    """Runs blocks in a folder, perhaps with the programs of another folder."""

    def __init__(self, folder: Path, own: Path | None, *, outputs: bool) -> None:
        self._folder = folder
        self._own = own
        self._outputs = outputs
        self._exports: dict[str, str] = {}
        self._program: list[str] = []

    def run_block(self, block: Block) -> None:
        if block.file:
            path = self._folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
            if block.language == "python":
                compile(block.text, block.file, "exec")
        elif block.language == "python":
            self._program.append(block.text)
        elif block.language == "console":
            for command, shown in block.commands():
                output = self._run_line(command)
                if self._outputs and not block.smaller:
                    _compare(command, shown, output)

    def run_program(self) -> str:
        if not self._program:
            return ""
        (self._folder / "snippets.py").write_text("\n\n".join(self._program))
        return self._run(["python", "-W", "error", "snippets.py"])

    def _run_line(self, line: str) -> str:
        if exported := re.match(r"export (\w+)=(.*)", line):
            self._exports[exported[1]] = exported[2]
            return ""
        if line.endswith(" &"):
            return self._start(line.removesuffix(" &"))
        return self._run(["bash", "-c", f"({line}) 2>&1"])

    def _run(self, words: list[str]) -> str:
        return run(words, self._folder, self._own, **self._exports)

    def _start(self, line: str) -> str:
        """Start a program and return its first line."""
        path = _path(self._own or Path(sys.executable).parent)
        started = Command(
            ["bash", "-c", f"exec {line}"],
            cwd=self._folder,
            env={**_settings(path), **self._exports},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        first = started.stdout.readline()
        assert first, f"{line} ended with {started.wait()} before it printed a line"
        return first


def _compare(command: str, shown: list[str], output: str) -> None:
    printed = " ".join(output.split())
    for line in shown:
        words = " ".join(line.split())
        assert words == "..." or words in printed, f"{command} does not print {line!r}:\n{output}"


def run(words: list[str | Path], folder: Path, own: Path | None = None, **variables: str) -> str:
    """Run a command, which must succeed; return what it prints to the standard output.

    Args:
        words: Its words.
        folder: The working directory.
        own: A folder of programs that takes the place of those of the tests.
        variables: Further environment variables.
    """
    path = _path(own or Path(sys.executable).parent)
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**_settings(path), **variables},
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _path(folder: Path) -> str:
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def _settings(path: str) -> dict[str, str]:
    return {**os.environ, **SETTINGS, "PATH": path}


def _own_environment(folder: Path) -> Path:
    """Make a virtual environment with what the tests have; return the folder of its programs.

    pip builds with what is installed, so it needs no network.
    """
    place = folder / ".venv"
    venv.create(place, symlinks=True)
    (site,) = place.glob("lib/python*/site-packages")
    theirs = sysconfig.get_path("purelib")
    (site / "tests.pth").write_text(f"import site; site.addsitedir({theirs!r})\n")
    (place / "pip.conf").write_text("[global]\nno-build-isolation = false\n")
    for name, module in (("gem-core", "gem_core"), ("pip", "pip"), ("pytest", "pytest")):
        program = place / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{place}/bin/python" -m {module} "$@"\n')
        program.chmod(0o755)
    return place / "bin"
