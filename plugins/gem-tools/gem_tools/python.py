"""The Python tool: runs the first piece of Python in an action and shows what it printed.

A piece of Python is the text between ``<python>`` and ``</python>``, or a block fenced by three
backticks and marked ``python``; of several, the one that ends first is run. Programs run in a
sandbox, isolated from the host.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from gem_core.errors import ConfigError
from gem_core.observation import Action
from gem_core.tool import BaseTool, Function, ToolCall, ToolResult
from gem_tasks.parsing import unindented
from gem_workers.sandbox import Execution, Program, SandboxSession, make_sandbox, open_session

__all__ = ["PythonSessionTool", "PythonTool"]

RESULT = "Code execution result: "
"""Text before the output of a program."""

NO_CODE = ToolResult("The argument 'code' is missing; it is the text of a program.", ok=False)
"""Result of a call by name without the argument."""

_FENCE = re.compile(r"```\n?python3?\b")

INSTRUCTIONS = """\
You may run Python while you work on the task. Write the code between <python> and </python>, or \
in a block that opens with ```python and closes with ```, and stop there: the first such piece is \
run, what follows it is dropped, and you go on once you have seen the result. It comes back as \
"Code execution result:" and then what the code printed, with its errors, so print what you want \
to know. {state} There is no network, and a run may take {timeout:g} seconds. When you are done, \
give the final answer in \\boxed{{}}, in a message without code."""

FRESH = (
    "Each run is a separate program: import what you need, and define again what earlier code "
    "defined."
)
KEPT = "Variables, imports and files stay from one run to the next, as in a notebook."


class _Piece(NamedTuple):
    """A piece of Python in a text."""

    end: int
    code: str


class PythonTool(BaseTool):
    """Runs each piece of Python as a separate program.

    The call succeeds if the program ends by itself and without an error. The output is
    ``Code execution result:``, the program's standard output, then its standard error.

    Args:
        timeout: Wall time of a run in seconds.
        sandbox: Id of the sandbox, or a mapping with an ``id`` and arguments.
        keep_error_last_line: Show only the last line of the standard error.
        memory: Memory of a run in bytes.
        supply_names: Supply common names that a program uses without importing them, such as
            ``math``, ``deque`` and ``np``, if the sandbox can.
        longest_output: Maximum number of characters that are shown; the middle is left out.

    Raises:
        ConfigError: A limit is not positive.
        UnknownIdError: There is no such sandbox.
    """

    name = "python"
    blocking = True
    state = FRESH
    """Sentence of the instructions about variables."""
    shared: ClassVar[tuple[str, ...]] = (
        "_sandbox",
        "keep_error_last_line",
        "longest_output",
        "memory",
        "sandbox",
        "supply_names",
        "timeout",
    )

    def __init__(
        self,
        *,
        timeout: float = 5.0,
        sandbox: str | Mapping[str, Any] = "warm",
        keep_error_last_line: bool = False,
        memory: int = 1 << 30,
        supply_names: bool = True,
        longest_output: int = 20_000,
    ) -> None:
        limits = {"timeout": timeout, "memory": memory, "longest_output": longest_output}
        for limit, value in limits.items():
            if not value > 0:
                raise ConfigError(f"{limit} must be more than 0; got {value!r}.")
        self.timeout = timeout
        self.sandbox = sandbox
        self.keep_error_last_line = keep_error_last_line
        self.memory = memory
        self.supply_names = supply_names
        self.longest_output = longest_output
        self._sandbox = make_sandbox(sandbox)

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._sandbox = make_sandbox(self.sandbox)  # each closes its own
        return twin

    def instructions(self) -> str:
        return INSTRUCTIONS.format(state=self.state, timeout=self.timeout)

    def parse(self, action: Action) -> ToolCall | None:
        if not isinstance(action, str):
            return None
        pieces = [piece for piece in (_tagged(action), _fenced(action)) if piece is not None]
        if not pieces:
            return None
        end, code = min(pieces)
        return ToolCall(self.name, {"code": code}, action[:end])

    def functions(self) -> Sequence[Function]:
        """Return the function that runs ``code``."""
        about = f"Runs Python and returns what it prints, with its errors. {self.state}"
        code = {"type": "string", "description": "Python source text"}
        schema = {"type": "object", "properties": {"code": code}, "required": ["code"]}
        return [Function(self.name, about, schema)]

    def run(self, call: ToolCall) -> ToolResult:
        code = call.arguments.get("code")
        return self._result(self._run(code)) if isinstance(code, str) else NO_CODE

    async def arun(self, call: ToolCall) -> ToolResult:
        """``run`` for asynchronous environments."""
        code = call.arguments.get("code")
        return self._result(await self._arun(code)) if isinstance(code, str) else NO_CODE

    def _run(self, code: str) -> Execution:
        return self._sandbox.run(self._program(code))

    async def _arun(self, code: str) -> Execution:
        return await self._sandbox.arun(self._program(code))

    def _program(self, code: str) -> Program:
        return Program(
            code, timeout=self.timeout, memory=self.memory, supply_names=self.supply_names
        )

    def _result(self, execution: Execution) -> ToolResult:
        errors = execution.stderr.strip()
        if self.keep_error_last_line:
            errors = errors.rpartition("\n")[2]
        said = "\n".join(filter(None, [errors, self._limit_met(execution)]))
        output = execution.stdout + (f"\n{said}" if said else "")
        output = _cut(output.lstrip("\r\n"), self.longest_output)
        info = {"exit_status": execution.exit_status, "limit": execution.limit}
        return ToolResult(f"{RESULT}{output}\n", ok=execution.ok, info=info)

    def _limit_met(self, execution: Execution) -> str:
        if execution.limit is None:
            return ""
        if execution.limit == "wall_time":
            return f"Execution timed out after {self.timeout:g} seconds."
        return f"Execution was ended: it reached the limit of {execution.limit.replace('_', ' ')}."

    def close(self) -> None:
        self._sandbox.close()


class PythonSessionTool(PythonTool):
    """Runs pieces of Python that share variables and files; see ``PythonTool``.

    A fork of an episode gets its variables and files by running the pieces again. Names that a
    program does not import are not supplied.
    """

    name = "python_session"
    in_order = True
    state = KEPT
    _session: SandboxSession | None = None

    def __copy__(self) -> Self:
        twin = super().__copy__()
        twin._session = None  # noqa: SLF001 - the session stays with the original
        return twin

    def _run(self, code: str) -> Execution:
        return self._open().run(code)

    async def _arun(self, code: str) -> Execution:
        return await self._open().arun(code)

    def _open(self) -> SandboxSession:
        if self._session is None:
            self._session = open_session(self._sandbox, timeout=self.timeout, memory=self.memory)
        return self._session

    def get_state(self) -> dict[str, Any]:
        ran = None if self._session is None else self._session.snapshot()
        return {**super().get_state(), "_session": ran}

    def set_state(self, state: dict[str, Any]) -> None:
        if state["_session"] is None:
            self.reset()
        else:
            self._open().restore(state["_session"])

    def reset(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def close(self) -> None:
        self.reset()
        super().close()


def _tagged(text: str) -> _Piece | None:
    start = text.find("<python>")
    end = text.find("</python>", start)
    if start < 0 or end < 0:
        return None
    return _Piece(end + len("</python>"), _code(text[start + len("<python>") : end]))


def _fenced(text: str) -> _Piece | None:
    fence = _FENCE.search(text)
    end = -1 if fence is None else text.find("```", fence.end())
    if fence is None or end < 0:
        return None
    return _Piece(end + 3, _code(text[fence.end() : end]))


def _code(body: str) -> str:
    """Return a piece without surrounding space; it may begin on the line of its opening mark."""
    body = body.replace("\r\n", "\n")
    begins_below = body.lstrip(" \t").startswith("\n")
    return unindented(body.lstrip(" \t") if begins_below else body.strip())


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    head, tail = text[: length - length // 2], text[len(text) - length // 2 :]
    return f"{head}\n[... {len(text) - length} characters are left out here ...]\n{tail}"
