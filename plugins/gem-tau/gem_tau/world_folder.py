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
import pickle
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
from gem_tau.world_clock import world_builtins

__all__ = ["World", "WorldState", "find_worlds", "load_world"]

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
        first = self._made(initial)
        self._first = first, self.dumped(first)
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

    def _made(self, content: Any) -> Any:
        if self.db_type is None:
            return content
        try:
            return self.db_type.model_validate(content)
        except Exception as error:
            raise DataError(f"{self.folder}: the database does not fit TaskDB: {error}") from error

    def dumped(self, db: Any) -> Any:
        """Return the content of a database as JSON types."""
        if self.db_type is None:
            return copy.deepcopy(db)
        content = db.model_dump(mode="json", warnings=False)
        if not self._has_sets:
            return content
        try:
            return _with_sorted_sets(content, db.model_dump(warnings=False))
        except TypeError:  # sets of models
            return content

    @functools.cached_property
    def _has_sets(self) -> bool:
        """Whether the database may have sets, according to its types."""
        try:
            return self.db_type is not None and "uniqueItems" in str(
                self.db_type.model_json_schema()
            )
        except Exception:  # noqa: BLE001 - types without a schema
            return True

    def start(self) -> "WorldState":
        """Return the database at the start."""
        return WorldState(self, *self._first)

    def _solve(self) -> str:
        """Return the digest of the database after the calls of ``gold.json``."""
        state = self.start()
        for number, call in enumerate(self.gold):
            result = state.call(call.name, call.arguments)
            if not result.ok:
                raise DataError(
                    f"{self.folder / 'gold.json'}: call {number} fails: {result.output}"
                )
        return digest_of(state.content)


class WorldState:
    """The database of a world in an episode.

    Tools get a copy, and what a call has changed is copied again: so a call that fails changes
    nothing, nothing that a call has stored elsewhere, such as in its module, changes the database
    later, and copies of an episode share it.

    Args:
        world: The world.
        db: The database, which no code changes.
        content: The database as JSON types.
    """

    def __init__(self, world: World, db: Any, content: Any) -> None:
        self.world = world
        self._db = db
        self._copy: Any = None
        """The copy for tools, while their calls change nothing; None before the next call."""
        self.content = content
        """The database as JSON types. Do not change it."""
        self._start = content

    def _settle(self) -> None:
        if self._copy is not None:  # with what calls have changed that the content does not show
            self._db, self._copy = self._copy, None

    def __reduce__(self) -> tuple[Any, ...]:
        self._settle()
        with self.world.registered():
            return _restored, (self.world, pickle.dumps((self._db, self.content, self._start)))

    def __deepcopy__(self, memo: object) -> "WorldState":
        self._settle()
        twin = WorldState(self.world, self._db, self._start)
        twin.content = self.content
        return twin

    def call(self, name: str, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool by name. A call that fails changes nothing."""
        try:
            checked = self.world.checked(name, arguments)
        except ValueError as error:
            return CallResult(f"Error: {error}", ok=False, kind="neither")
        db, self._copy = self._copy, None
        try:
            tools = self.world.tools(copy.deepcopy(self._db) if db is None else db)
            output = _text(getattr(tools, name)(**checked))
            content = self.world.dumped(tools.db)
            is_read = bool(content == self.content)
            after = tools.db if is_read else copy.deepcopy(tools.db)
        except Exception as error:  # noqa: BLE001 - tools report failures by raising
            return CallResult(f"Error: {_message(error)}", ok=False, kind="neither")
        if is_read:
            self._copy = after
            return CallResult(output, ok=True, kind="read")
        self._db, self.content = after, content
        return CallResult(output, ok=True, kind="write")

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
        try:
            reward = float(verify(copy.deepcopy(self._db)))
        except Exception as error:
            raise DataError(
                f"{self.world.folder}: verify fails: {type(error).__name__}: {error}"
            ) from error
        if not 0.0 <= reward <= 1.0:
            raise DataError(f"{self.world.folder}: verify returned {reward}, not 0 to 1.")
        return reward

    def diff(self) -> list[Change]:
        """Return the differences from the database at the start; tables are its topmost fields."""
        return _differences(self._start, self.content)


def _restored(world: World, packed: bytes) -> WorldState:
    with world.registered():
        db, content, start = pickle.loads(packed)  # noqa: S301 - as all snapshots
    made = WorldState(world, db, start)
    made.content = content
    return made


def _with_sorted_sets(content: Any, value: Any) -> Any:
    """Return JSON types in which sets, which have no order, are sorted lists.

    Args:
        content: The JSON types.
        value: What they were made from.
    """
    if isinstance(value, set | frozenset):
        return sorted(content, key=repr)
    if isinstance(value, dict):
        pairs = zip(content.items(), value.values(), strict=True)
        return {key: _with_sorted_sets(one, other) for (key, one), other in pairs}
    if isinstance(value, list | tuple):
        return [_with_sorted_sets(*pair) for pair in zip(content, value, strict=True)]
    return content


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
