"""Runs the calls of one action: at the same time if they wait, in order if a tool asks for it."""

import re
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from gem_core.calls.reading import Request
from gem_core.faults import error_record
from gem_core.maybe_async import drive, is_awaitable
from gem_core.observation import Info
from gem_core.optional import runs_in_order
from gem_core.tool import Tool, ToolCall, ToolResult

__all__ = ["Outcome", "broken_tags", "fault", "run_all"]

_NAMES = r"(?i:tool_\w+|tools?|arguments|function\w*|search|python)"
_TAG = re.compile(rf"<(?=\s*+(?:/\s*+)?{_NAMES}\b[^<>]*+>)")  # possessive: in linear time


def broken_tags(output: str) -> str:
    r"""Return an output whose tags cannot pass for another call or result: ``<\tools>``."""
    return _TAG.sub(r"<\\", output)


@dataclass
class Outcome:
    """A request and its result.

    Args:
        request: The call as it was read.
        tool: The tool that has the function; None if there is none.
        call: What the tool is asked to run.
        result: The result; None until the call has run.
        seconds: How long the call took.
        counts: Whether the call counts towards the budget.
    """

    request: Request
    tool: Tool | None = None
    call: ToolCall | None = None
    result: ToolResult | None = None
    seconds: float = 0.0
    counts: bool = True

    @property
    def tool_name(self) -> str:
        """Name of the tool, as its call has it; empty if there is none."""
        return "" if self.call is None else self.call.tool

    def record(self) -> Info:
        """Return the outcome for ``info["tool_calls"]``."""
        result = self.result or ToolResult("", ok=False)
        return {
            "tool": self.tool_name,
            "function": self.request.function,
            "arguments": dict(self.request.arguments),
            "id": self.request.id,
            "ok": result.ok,
            "output": result.output,
            "seconds": self.seconds,
            "info": dict(result.info),
        }


def fault(tool: Tool, error: Exception) -> ToolResult:
    """Return the result of a call in which the tool raised."""
    return ToolResult(
        f"The tool {tool.name!r} failed: {type(error).__name__}: {error}",
        ok=False,
        info={"error": error_record(error, "tool")},
    )


def run_all(
    outcomes: Sequence[Outcome], run: Callable[[Tool, ToolCall], Any]
) -> Awaitable[None] | None:
    """Run every call that has no result yet, and set results and times.

    Args:
        outcomes: The calls of one action, in order.
        run: Runs one call; its result may be awaitable.

    Returns:
        None, or an awaitable if any call waits; those that wait do so at the same time.
    """
    queues: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.result is None and outcome.tool is not None:
            key = outcome.tool if runs_in_order(outcome.tool) else outcome
            queues.setdefault(id(key), []).append(outcome)
    running = [drive(_run_queue(queue, run)) for queue in queues.values()]
    waiting = [one for one in running if is_awaitable(one)]
    if len(waiting) == 1:
        return waiting[0]
    return _all_of(waiting) if waiting else None


def _run_queue(
    outcomes: Sequence[Outcome], run: Callable[[Tool, ToolCall], Any]
) -> Generator[Any, Any, None]:
    for outcome in outcomes:
        tool, call = cast("tuple[Tool, ToolCall]", (outcome.tool, outcome.call))
        start = time.perf_counter()
        try:
            outcome.result = yield run(tool, call)
        except Exception as error:  # noqa: BLE001 - a tool's fault must not end the episode
            outcome.result = fault(tool, error)
        outcome.seconds = time.perf_counter() - start


async def _all_of(waiting: Sequence[Awaitable[None]]) -> None:
    import asyncio  # noqa: PLC0415 - only where something waits

    await asyncio.gather(*waiting)
