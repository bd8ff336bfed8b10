"""Runs Python that an agent writes, in a sandbox."""

import functools
from typing import Any, ClassVar

from gem.requirements import needs
from gem.tools.base_tool import BaseTool
from gem.utils.sandbox import sandbox_id
from gem_core.tool import ToolCall

with needs("gem-tools"):
    from gem_tools.python import PythonTool

__all__ = ["PythonCodeTool"]


class PythonCodeTool(BaseTool):
    """Runs the first piece of Python in an action, with the tool ``python`` of gem-tools.

    Args:
        timeout: Wall time of a run in seconds.
        sandbox_type: See ``gem.utils.sandbox.run_python``.
        keep_error_last_line: Show only the last line of errors.

    Raises:
        ConfigError: There is no such sandbox, or the timeout is not positive.
    """

    tool_type = "python_code"
    shared: ClassVar[tuple[str, ...]] = ("_tool",)

    def __init__(
        self,
        timeout: float = 5,
        sandbox_type: str = "none",
        keep_error_last_line: bool = False,
    ) -> None:
        super().__init__()
        self.timeout = timeout
        self.sandbox_type = sandbox_type
        self.keep_error_last_line = keep_error_last_line

    @functools.cached_property
    def _tool(self) -> PythonTool:
        return PythonTool(
            timeout=self.timeout,
            sandbox=sandbox_id(self.sandbox_type),
            keep_error_last_line=self.keep_error_last_line,
        )

    def instruction_string(self) -> str:
        return self._tool.instructions()

    def _parse_action(self, action: str) -> tuple[str | None, str, bool]:
        """Return the code, the action up to its end, and whether there is code."""
        call = self._tool.parse(action)
        return (None, action, False) if call is None else (call.arguments["code"], call.text, True)

    def execute_action(self, action: Any) -> tuple[bool, bool, str, str]:
        code, parsed_action, is_valid = self._parse_action(action)
        if not is_valid:
            return False, True, "", parsed_action
        result = self._tool.run(ToolCall(self._tool.name, {"code": code}, parsed_action))
        return True, not result.ok, result.output, parsed_action

    def close(self) -> None:
        tool = self.__dict__.pop("_tool", None)
        if tool is not None:
            tool.close()
