"""A tool: turns a text round."""

import re

from gem_core import Action, BaseTool, ToolCall, ToolResult

__all__ = ["ReverseTool"]


class ReverseTool(BaseTool):
    """Called as ``<reverse>text</reverse>``; answers with the text backwards."""

    name = "reverse"

    def instructions(self) -> str:
        return "Write <reverse>text</reverse> to have a text turned round."

    def parse(self, action: Action) -> ToolCall | None:
        match = re.search(r"<reverse>(.*?)</reverse>", action, re.DOTALL)
        if match is None:
            return None
        return ToolCall(self.name, {"text": match[1]}, action[: match.end()])

    def run(self, call: ToolCall) -> ToolResult:
        return ToolResult(f"<result>{call.arguments['text'][::-1]}</result>")
