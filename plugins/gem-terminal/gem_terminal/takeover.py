"""Which of an agent's files go to the machine that grades.

A fresh machine starts with the files that the agent has left, but not with changes of what the
tests run *with*: the programs and libraries of the image, commands that hide them, what shells,
Python and the loader read when they start, bytecode of libraries, the configuration of pytest, and
modules that hide those of Python. What the instruction names goes there all the same.
"""

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from gem_core.machine import FileChange

__all__ = ["Takeover", "is_reserved"]

_PROGRAMS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/sbin", "/usr")
"""Where the image has programs and libraries; its own files there stay as they are."""
_RESERVED = ("/logs", "/proc", "/solution", "/sys", "/dev", "/tests")
"""Where grading puts its own files."""
_LOADED_AT_START = re.compile(
    r"/etc/(ld\.so\..*|profile(\.d/.*)?|bash\.bashrc|bash_completion(\.d/.*)?|environment|inputrc"
    r"|pip\.conf|security/pam_env\.conf|python3[^/]*/.*)"
    r"|(/root|/home/[^/]+)/\.(bashrc|bash_profile|bash_login|bash_aliases|bash_logout|profile|inputrc"
    r"|pam_environment|pythonrc\.py|pythonstartup\.py|config/pip/.*|config/python.*)"
    r"|.*/(sitecustomize|usercustomize)(\.py|\.pyc|\.so|/.*)?"
    r"|.*/__pycache__/(sitecustomize|usercustomize)\..*"
    r"|.*/(site|dist)-packages/[^/]+\.(pth|egg-link|start)"
    r"|.*/pyvenv\.cfg|.*\._pth|.*/python\d+\.zip"
    r"|.*/glibc-hwcaps/.*"
)
_BYTECODE = re.compile(r".*/__pycache__(/.*)?|.*\.py[co]")
"""What Python may load in place of a source of the image, if it says that it belongs to it."""
_PYTEST = re.compile(
    r".*/(pytest|_pytest|pluggy)(\.py|\.pyc|\.so|/.*)"
    r"|.*/(conftest\.(py|pyc|so)|conftest/.*|__pycache__/conftest\..*)"
    r"|.*/(pytest\.toml|\.pytest\.toml|pytest\.ini|\.pytest\.ini|tox\.ini|setup\.cfg)"
    r"|.*/(site|dist)-packages/(_?pytest|pluggy|iniconfig|pytest_[^/]*)([./-].*)?"
    r"|.*\.(dist|egg)-info/entry_points\.txt"
)


@dataclass
class Takeover:
    """Decides over each change of files.

    Args:
        instruction: What the agent was told.
        commands: Names of the commands of the image: nothing else may have such a name in a folder
            of commands.
        left: The changes that were left behind, in order.
    """

    instruction: str = ""
    commands: Collection[str] = ()
    left: list[str] = field(default_factory=list)

    def keeps(self, change: FileChange) -> bool:
        """Return whether a change goes to the fresh machine."""
        if is_reserved(change.path):
            return False
        kept = self._is_harmless(change)
        if not kept and not (change.kind == "folder" and change.in_image):
            self.left.append(change.path)
        return kept

    def _is_harmless(self, change: FileChange) -> bool:
        path = change.path
        if _LOADED_AT_START.fullmatch(path):
            return False
        if _PYTEST.fullmatch(path) or _hides_a_module(path):
            return PurePosixPath(path).name in self.instruction
        if _is_below(path, _PROGRAMS):
            is_new = not change.in_image and not _BYTECODE.fullmatch(path)
            return is_new and not self._hides_a_command(path)
        return not self._hides_a_command(path)

    def _hides_a_command(self, path: str) -> bool:
        pure = PurePosixPath(path)
        return pure.parent.name in {"bin", "sbin"} and pure.name in self.commands


def is_reserved(path: str) -> bool:
    """Return whether a path is where grading, or the system, puts its own files."""
    return _is_below(path, _RESERVED)


def _hides_a_module(path: str) -> bool:
    """Return whether Python might take a file for a module of its own library."""
    pure = PurePosixPath(path)
    is_package = pure.stem == "__init__"
    name = pure.parent.name if is_package else pure.name.partition(".")[0]
    is_code = pure.suffix in {".py", ".pyc", ".so"}
    return is_code and name in sys.stdlib_module_names


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
