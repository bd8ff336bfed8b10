"""The contract of tools, one check for each part of it."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from gem_core.calls import Catalog, Request
from gem_core.maybe_async import is_awaitable
from gem_core.plugins import default_registry
from gem_core.specs import TOOLS
from gem_core.testing.report import Report, require, run_checks
from gem_core.tool import Tool, ToolCall, ToolResult

__all__ = ["TOOL_CHECKS", "ToolBench", "check_tool"]

NOT_FOR_ANY_TOOL = ("", "The answer is \\boxed{4}.", "<", "\x00\ud800\U0001f9e9", "x" * 20000)


class ToolBench:
    """The input of a check: a tool and calls of it.

    Args:
        make: Makes the tool.
        calls: Actions that call it.
    """

    def __init__(self, make: Callable[[], Tool], calls: Sequence[str]) -> None:
        self.make = make
        self.calls = calls

    def run(self, tool: Tool, call: ToolCall) -> ToolResult:
        """Run a call, and wait if it is asynchronous."""
        result: Any = tool.run(call)
        if not is_awaitable(result):
            return result  # type: ignore[no-any-return]

        async def wait(awaitable: Awaitable[ToolResult]) -> ToolResult:
            return await awaitable

        return asyncio.run(wait(result))


def check_tool(
    tool: str | Callable[[], Tool], *, calls: Sequence[str], checks: Iterable[str] | None = None
) -> Report:
    """Check a tool against the contract.

    Args:
        tool: Its id, or a function that makes it.
        calls: Actions that call it and succeed.
        checks: Names from ``TOOL_CHECKS``; None for all.

    Raises:
        UnknownIdError: Nobody registered the id.
    """
    make = default_registry().find(TOOLS, tool).make if isinstance(tool, str) else tool
    subject = tool if isinstance(tool, str) else getattr(tool, "__name__", repr(tool))
    return run_checks(Report(subject), TOOL_CHECKS, lambda: ToolBench(make, calls), checks)


def _construction(bench: ToolBench) -> None:
    """It can be made, is a ``Tool`` with a name, says how it is called, and can be closed twice."""
    tool = bench.make()
    require(isinstance(tool, Tool), f"{type(tool).__name__} lacks methods of the Tool protocol")
    require(tool.name and isinstance(tool.name, str), "name must be a text that is not empty")
    told = tool.instructions().strip() or tool.functions()
    require(told, "instructions() or functions() must say how to call the tool")
    tool.reset()
    tool.close()
    tool.close()


def _foreign_actions(bench: ToolBench) -> None:
    """Actions that do not call the tool are not parsed as calls; ``parse`` never raises."""
    tool = bench.make()
    for action in NOT_FOR_ANY_TOOL:
        require(tool.parse(action) is None, f"{action[:30]!r} was parsed as a call")


def _calls(bench: ToolBench) -> None:
    """Each example is parsed, keeps the action up to the end of the call, and succeeds."""
    for action in bench.calls:
        tool = bench.make()
        call = tool.parse(action + "\nand more text")
        require(call is not None, f"{action!r} was not parsed as a call")
        if call is None:
            return
        require(call.tool == tool.name, f"the call names the tool {call.tool!r}")
        require("and more text" not in call.text, "call.text must end where the call ends")
        result = bench.run(tool, call)
        require(isinstance(result, ToolResult), f"run returned a {type(result).__name__}")
        require(isinstance(result.output, str), "output must be text")
        require(result.ok, f"{action!r} failed: {result.output}")
        tool.close()


def _functions(bench: ToolBench) -> None:
    """Functions have a name, a description and a JSON schema of an object; calls fit theirs."""
    tool = bench.make()
    functions = tool.functions()
    if not functions:
        return
    catalog = Catalog({tool.name: functions})
    for function in functions:
        what = f"the function {function.name!r}"
        require(function.description.strip(), f"{what} must say what it does")
        parameters = json.loads(json.dumps(function.parameters))
        require(parameters.get("type") == "object", f"{what} must take a JSON object")
        _check_schema(parameters)
    for action in bench.calls:
        call = tool.parse(action)
        if call is not None:
            problem = catalog.problem(Request(call.function, call.arguments))
            require(not problem, f"{action!r} does not fit what functions() says: {problem}")
    tool.close()


def _check_schema(parameters: dict[str, Any]) -> None:
    """Check a JSON schema, if jsonschema is installed."""
    with contextlib.suppress(ModuleNotFoundError):
        from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415

        validator_for(parameters, default=Draft202012Validator).check_schema(parameters)


def _snapshots(bench: ToolBench) -> None:
    """A tool restored from a snapshot answers as the original did."""
    for action in bench.calls:
        tool, twin = bench.make(), bench.make()
        call = tool.parse(action)
        if call is None:
            continue
        bench.run(tool, call)
        twin.restore(tool.snapshot())
        outputs = bench.run(tool, call).output, bench.run(twin, call).output
        require(outputs[0] == outputs[1], f"after restore: {outputs[1]!r}, not {outputs[0]!r}")
        tool.close()
        twin.close()


TOOL_CHECKS: dict[str, Callable[[ToolBench], None]] = {
    "construction": _construction,
    "foreign_actions": _foreign_actions,
    "calls": _calls,
    "functions": _functions,
    "snapshots": _snapshots,
}
"""The checks by name; the docstring of each says what it requires."""
