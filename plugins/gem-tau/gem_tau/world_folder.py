"""Tool worlds in folders: a database, tools that work on it, an instruction, and how it is graded.

A folder of the public format ``general-agent`` has these files:

``instruction.md``  what the agent is asked to do
``db.json``         the database at the start
``tools.py``        Python code: the tools, the types of the database, and often ``verify``
``gold.json``       the calls of a solution, as pairs of name and arguments
``verify.py``       another place for ``verify(db)``, which returns a reward from 0 to 1

The reward is that of ``verify``, or 1 if the database equals that after the calls of ``gold.json``.
Other files, such as ``task.toml`` with facts about the task, have no effect. ``tools.py`` and
``verify.py`` run in this process with all its rights; to them it is always
``gem_tau.world_clock.NOW``.
"""

import contextlib
import copy
import functools
import hashlib
import json
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gem_core.calls import Catalog
from gem_core.errors import ConfigError, DataError, near_names
from gem_core.faults import boundary
from gem_core.lifetimes import Lock
from gem_core.tool import Function
from gem_tasks.described import Described
from gem_tau.canonical import digest_of
from gem_tau.database import Change, changes_of
from gem_tau.readers.fields import Fields, Tool, checked
from gem_tau.readers.files import read_json, read_text, stamp
from gem_tau.task import Call
from gem_tau.toolkit import CallResult
from gem_tau.versions import START, Shared, Version
from gem_tau.world_clock import world_builtins

__all__ = ["World", "WorldState", "find_worlds", "load_world"]

_BYPASSES = re.compile(r"__dict__|\bvars\(|__setattr__|__delattr__|\bheapq\b|\b(dict|list|set)\.\w")
"""What may change containers without their methods; code that has it gets copies of its own."""
_FILES = ("instruction.md", "db.json", "tools.py", "gold.json", "verify.py")
_ALIAS = "general_agent"
_LOCK = Lock()  # held while sys.modules has the modules of a world
_WORLDS = 128  # that are kept in memory


class _GoldCall(Fields):
    name: Tool
    arguments: dict[str, Any]


def find_worlds(data: Path) -> list[Path]:
    """Return the folders of worlds: a folder itself, or those in it, in the order of their names.

    Raises:
        DataError: There are none.
    """
    if not data.is_dir():
        kind = "is not a folder" if data.exists() else "does not exist"
        raise DataError(f"{data} {kind}; data= is the folder of a world, or a folder of them.")
    found = [data] if _is_world(data) else sorted(filter(_is_world, data.iterdir()))
    if not found:
        raise DataError(f"{data} has no worlds: folders with db.json and tools.py.")
    return found


def _is_world(path: Path) -> bool:
    return (path / "db.json").is_file() and (path / "tools.py").is_file()


def load_world(folder: str) -> "World":
    """Return the world in a folder, which runs its ``tools.py``.

    Raises:
        DataError: A file is missing or cannot be used.
    """
    return _load(folder, tuple(stamp(Path(folder) / name) for name in _FILES))


@functools.lru_cache(maxsize=_WORLDS)
def _load(folder: str, stamps: tuple[tuple[int, int], ...]) -> "World":  # noqa: ARG001 - part of the key
    """Return a world; the stamps make it anew when a file has changed."""
    return World(Path(folder))


class World:
    """The tools and the task of a folder.

    Args:
        folder: The folder.

    Raises:
        DataError: A file is missing or cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instruction = read_text(folder / "instruction.md").strip()
        initial = read_json(folder / "db.json")
        self.digest = digest_of([read_text(folder / name) for name in ("db.json", "tools.py")])
        """A digest of what a snapshot refers to."""
        name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
        self._module = types.ModuleType(f"gem_tau_world_{name}")
        vars(self._module)["__builtins__"] = world_builtins()
        self._run("tools.py")
        if (folder / "verify.py").is_file():
            self._run("verify.py")
        self.tools: type[Any] = self._attribute("TaskTools")
        self.db_type: type[Any] | None = getattr(self._module, "TaskDB", None)
        self.verify: Callable[[Any], Any] | None = getattr(self._module, "verify", None)
        self._described = self._tools()
        files = [folder / name for name in ("tools.py", "verify.py")]
        bypasses = any(_BYPASSES.search(read_text(file)) for file in files if file.is_file())
        self.shared = Shared(self._made(initial), self._is_own_model, notes=not bypasses)
        """The database at the start, and its versions."""
        self.gold = self._gold()
        self.solved = self._solve() if self.gold else ""
        """The digest of the database after the calls of ``gold.json``; empty without them."""

    def __reduce__(self) -> tuple[Any, ...]:
        return load_world, (str(self.folder),)

    def __deepcopy__(self, memo: object) -> "World":
        return self

    def _run(self, name: str) -> None:
        """Run a file of the folder in the module of the world."""
        path = self.folder / name
        self._module.__file__ = str(path)
        try:
            code = compile(read_text(path), str(path), "exec", dont_inherit=True)
            with self.registered():
                exec(code, vars(self._module))  # noqa: S102 - the user has said trust=True
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"{path} cannot be run: {type(error).__name__}: {error}") from error

    @contextlib.contextmanager
    def registered(self) -> Iterator[None]:
        """Let imports and pickles find the module of the world and ``general_agent.tools``."""
        from gem_tau import world_tools  # noqa: PLC0415 - it needs pydantic

        package = types.ModuleType(_ALIAS)
        package.tools = world_tools  # type: ignore[attr-defined]
        added = {
            _ALIAS: package,
            f"{_ALIAS}.tools": world_tools,
            self._module.__name__: self._module,
        }
        with _LOCK:
            before = {name: sys.modules.get(name) for name in added}
            sys.modules.update(added)
            try:
                yield
            finally:
                for name, module in before.items():
                    if module is None:
                        sys.modules.pop(name, None)
                    else:
                        sys.modules[name] = module

    def _made(self, content: Any) -> Any:
        if self.db_type is None:
            return content
        try:
            return self.db_type.model_validate(content)
        except Exception as error:
            raise DataError(f"{self.folder}: the database does not fit TaskDB: {error}") from error

    def _is_own_model(self, kind: type) -> bool:
        """Return whether a class is a model of ``tools.py`` that stores nothing when it is read."""
        is_own = kind.__module__ == self._module.__name__ and hasattr(kind, "model_fields")
        members = (one for base in kind.__mro__ for one in vars(base).values())
        return is_own and not any(isinstance(one, functools.cached_property) for one in members)

    def dumped(self, version: Version) -> Any:
        """Return the database of a version as JSON types."""
        if self.db_type is None:
            return self.shared.run(version, lambda top: copy.deepcopy(top[0]), undo=True).result
        dump = {"mode": "json", "warnings": False}
        return self.shared.run(version, lambda top: top[0].model_dump(**dump), undo=True).result

    @functools.cached_property
    def start(self) -> Any:
        """The database at the start as JSON types."""
        return self.dumped(START)

    def _attribute(self, name: str) -> Any:
        if not hasattr(self._module, name):
            raise DataError(f"{self.folder / 'tools.py'} has no class {name}.")
        return getattr(self._module, name)

    def _tools(self) -> dict[str, Described]:
        """Return the descriptions of the tools, in the order of their definition."""
        found: dict[str, Described] = {}
        for owner in reversed(self.tools.__mro__):
            for name, member in vars(owner).items():
                if getattr(member, "is_tool", False):
                    found[name] = self._describe(name)
        if not found:
            raise DataError(f"{self.folder / 'tools.py'}: TaskTools has no method marked @tool.")
        return found

    def _describe(self, name: str) -> Described:
        try:
            described = Described(getattr(self.tools, name), name, first=1)
            described.function  # noqa: B018 - reads the annotations
        except ConfigError as error:
            raise DataError(f"{self.folder / 'tools.py'}: {error}") from error
        return described

    def _gold(self) -> tuple[Call, ...]:
        path = self.folder / "gold.json"
        if not path.exists():
            if self.verify is None:
                raise DataError(
                    f"{self.folder} has neither gold.json nor verify: it has no reward."
                )
            return ()
        rows = read_json(path)
        if not isinstance(rows, list):
            raise DataError(f"{path} must be a list of calls; got a {type(rows).__name__}.")
        return tuple(self._call(row, f"{path}: call {number}") for number, row in enumerate(rows))

    def _call(self, row: Any, where: str) -> Call:
        if isinstance(row, list) and len(row) == 2:
            row = {"name": row[0], "arguments": row[1]}
        call = checked(_GoldCall, row, where, {"tools": self._described})
        return Call(call.name, call.arguments)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The schemas of the tools."""
        return tuple(one.function for one in self._described.values())

    @functools.cached_property
    def catalog(self) -> Catalog:
        """The same by name, with a check of calls."""
        return Catalog({"world": self.functions})

    def checked(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments converted to the types of a tool.

        Raises:
            ValueError: There is no such tool, or they do not fit; the message is for the agent.
        """
        if name not in self._described:
            raise ValueError(f"There is no function {name!r}.{near_names(name, self._described)}")
        return self._described[name].checked(arguments)

    def _solve(self) -> str:
        """Return the digest of the database after the calls of ``gold.json``."""
        state = WorldState(self)
        for number, call in enumerate(self.gold):
            result = state.call(call.name, call.arguments)
            if not result.ok:
                raise DataError(
                    f"{self.folder / 'gold.json'}: call {number} fails: {result.output}"
                )
        return digest_of(state.content)


class WorldState:
    """The database of a world in an episode: a version of the one that all episodes share.

    Args:
        world: The world.
    """

    def __init__(self, world: World, version: Version = START) -> None:
        self.world = world
        self.version = version

    def __reduce__(self) -> tuple[Any, ...]:
        with self.world.registered():
            return _restored, (
                self.world,
                self.world.digest,
                self.world.shared.dump(self.version),
            )

    def __copy__(self) -> "WorldState":
        return WorldState(self.world, self.version)

    @property
    def content(self) -> Any:
        """The database as JSON types."""
        return self.world.dumped(self.version)

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool by name. A call that fails changes nothing."""
        try:
            checked = self.world.checked(name, arguments)
        except ValueError as error:
            return CallResult(f"Error: {error}", ok=False, kind="neither")

        def work(top: list[Any]) -> str:
            tools = self.world.tools(top[0])
            output = _text(getattr(tools, name)(**checked))
            if tools.db is not top[0]:
                top[0] = tools.db
            return output

        try:
            ran = self.world.shared.run(self.version, work)
            if any(held.foreign for held in ran.version.values()):
                self.world.dumped(ran.version)  # it may hold what is not JSON
        except Exception as error:  # noqa: BLE001 - tools report failures by raising
            return CallResult(f"Error: {_message(error)}", ok=False, kind="neither")
        self.version = ran.version
        return CallResult(ran.result, ok=True, kind="read" if ran.is_equal else "write")

    def grade(self) -> dict[str, float]:
        """Return the reward of ``verify``, and whether the database equals that of ``gold.json``.

        Each is from 0 to 1, and is there if the world has the file; the larger one is the reward.

        Raises:
            DataError: ``verify`` fails or returns something else.
        """
        parts = {}
        if self.world.verify is not None:
            with boundary("grader"):
                parts["verify"] = self._verified(self.world.verify)
        if self.world.solved:
            parts["db"] = float(digest_of(self.content) == self.world.solved)
        return parts

    def _verified(self, verify: Callable[[Any], Any]) -> float:
        def work(top: list[Any]) -> float:
            return float(verify(top[0]))

        try:
            reward = self.world.shared.run(self.version, work, undo=True).result
        except Exception as error:
            raise DataError(
                f"{self.world.folder}: verify fails: {type(error).__name__}: {error}"
            ) from error
        if not 0.0 <= reward <= 1.0:
            raise DataError(f"{self.world.folder}: verify returned {reward}, not 0 to 1.")
        return float(reward)

    def diff(self) -> list[Change]:
        """Return the differences from the database at the start; tables are its topmost fields."""
        return _differences(self.world.start, self.content)


def _restored(world: World, digest: str, version: bytes) -> WorldState:
    if world.digest != digest:
        raise DataError(f"{world.folder} has changed since this snapshot was made.")
    with world.registered():
        return WorldState(world, world.shared.load(version))


def _differences(before: Any, after: Any) -> list[Change]:
    one, other = (value if isinstance(value, dict) else {"": value} for value in (before, after))
    return [
        change
        for name in sorted({*one, *other})
        for change in changes_of(name, "", one.get(name), other.get(name))
    ]


def _text(value: Any) -> str:
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)
    )


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", warnings=False)
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else str(value)


def _message(error: Exception) -> str:
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
