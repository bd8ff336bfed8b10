"""Modules of entry points, by name or by file: ``my_module:MyEnv`` and ``./my_env.py:MyEnv``.

A file is imported as its neighbours would import it: as ``my_env``, or ``my_package.my_env`` if it
belongs to a package. The folder that this needs is added to the end of ``sys.path``, so the modules
beside the file are found, and workers find all of them.
"""

import hashlib
import importlib
import os
import re
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from types import ModuleType

from gem_core.errors import EntryPointError
from gem_core.notices import notice_after

__all__ = [
    "absolute",
    "import_module",
    "is_entry_point",
    "is_file",
    "is_imported",
    "missing",
    "place_of",
    "source_of",
]

NOTICE_SECONDS = 10.0
"""A module that is still being imported after this time is named on the standard error."""

_NAMES = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_ENTRY_POINT = re.compile(rf"(?:.+\.py|{_NAMES}):{_NAMES}", re.ASCII | re.DOTALL)


def is_entry_point(text: str) -> bool:
    """Return whether a text has the form ``module:attribute`` or ``file.py:attribute``.

    A module that was imported already may have any name.
    """
    return _ENTRY_POINT.fullmatch(text) is not None or text.rpartition(":")[0] in sys.modules


def is_file(module: str) -> bool:
    """Return whether the module of an entry point is written as the path of a file."""
    return module.endswith(".py")


def absolute(entry_point: str) -> str:
    """Return an entry point with the absolute path of its file; any other one unchanged."""
    module, _, attribute = entry_point.rpartition(":")
    return f"{_path(module)}:{attribute}" if is_file(module) else entry_point


def missing(entry_point: str) -> str:
    """Return a sentence about the module or file of an entry point if there is none, else "".

    A module is also looked for in the working directory, which is then added to ``sys.path``.
    """
    module = entry_point.rpartition(":")[0]
    if is_file(module):
        path = _path(module)
        return "" if os.path.isfile(path) else f"There is no file {path!r}."
    top, here = module.partition(".")[0], os.getcwd()
    importlib.invalidate_caches()
    if top in sys.modules or find_spec(top) is not None:
        return ""
    if PathFinder.find_spec(top, [here]) is None:
        return f"There is no module {top!r}, neither in {here!r} nor installed."
    sys.path.append(here)
    return ""


def is_imported(module: str) -> bool:
    """Return whether the module of an entry point, a name or a file, has been imported."""
    return (_home(_path(module))[1] if is_file(module) else module) in sys.modules


def import_module(module: str) -> ModuleType:
    """Import the module of an entry point, a name or a file; say so if it takes long.

    Raises:
        EntryPointError: The file does not exist, or another module has its name.
    """
    if not is_file(module):
        return _imported(module)
    path = _path(module)
    if not os.path.isfile(path):
        raise EntryPointError(f"There is no file {path!r}.")
    folder, name = _home(path)
    if name not in sys.modules and folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
    found = _imported(name)
    origin = getattr(found, "__file__", None)
    if origin is None or os.path.realpath(origin) != os.path.realpath(path):
        raise EntryPointError(
            f"The file {path!r} cannot be imported: the name {name!r} belongs to another module "
            f"({origin or 'built in'}). Rename the file."
        )
    return found


def place_of(error: BaseException) -> str:
    """Return ``" (FILE, line N)"``, where an error was raised; "" if its message says that."""
    trace = None if isinstance(error, SyntaxError) else error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno})"


def source_of(entry_point: str) -> dict[str, str]:
    """Return the ``file`` of an entry point's module, and its ``sha256``; empty if it has none."""
    module = entry_point.rpartition(":")[0]
    path = _path(module) if is_file(module) else getattr(sys.modules.get(module), "__file__", None)
    if path is None or not os.path.isfile(path):
        return {}
    with open(path, "rb") as file:
        return {"file": path, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _path(module: str) -> str:
    return os.path.abspath(os.path.expanduser(module))


def _home(path: str) -> tuple[str, str]:
    """Return the folder from which a file is imported, and the name of its module."""
    folder, name = os.path.split(path.removesuffix(".py"))
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = f"{package}.{name}"
    return folder, name


def _imported(name: str) -> ModuleType:
    if name in sys.modules:
        return importlib.import_module(name)
    text = f"The module {name!r} is still being imported after {NOTICE_SECONDS:.0f} s."
    with notice_after(NOTICE_SECONDS, text):
        return importlib.import_module(name)
