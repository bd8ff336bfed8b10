"""Searches for the text between ``<search>`` and ``</search>``."""

import functools
import os
from typing import Any, ClassVar

from gem.requirements import needs
from gem.tools.base_tool import BaseTool
from gem_core.errors import ConfigError

with needs("gem-tools"):
    from gem_tools.search import tool as search

__all__ = ["TIMEOUT", "SearchTool"]

TIMEOUT = 5
"""Default timeout of a search in seconds."""


class SearchTool(BaseTool):
    """Asks a retrieval server, with the tool ``search`` of gem-tools.

    Args:
        num_workers: Ignored.
        search_url: URL of the server; None for ``$SEARCH_URL``, read at the first search.
        topk: Number of documents.
        timeout: Timeout of a search in seconds.
        wrapped: Put the documents between ``<information>`` tags, as the instructions promise.
    """

    tool_type = "search"
    shared: ClassVar[tuple[str, ...]] = ("_tool",)

    def __init__(
        self,
        num_workers: int = 1,
        search_url: str | None = None,
        topk: int = 3,
        timeout: float = TIMEOUT,
        *,
        wrapped: bool = True,
    ) -> None:
        super().__init__(num_workers)
        self.search_url, self.topk, self.timeout = search_url, topk, timeout
        self.wrapped = wrapped

    @functools.cached_property
    def _tool(self) -> search.SearchTool:
        url = self.search_url or os.environ.get(search.URL_VARIABLE)
        if not url:
            raise ConfigError(
                f"The search tool needs the URL of a retrieval server: search_url=, or "
                f"${search.URL_VARIABLE}. 'gem-core serve-search' runs one."
            )
        return search.SearchTool(
            search_url=url,
            topk=self.topk,
            timeout=self.timeout,
            backend="http",
            wrapped=self.wrapped,
        )

    def instruction_string(self) -> str:
        return search.INSTRUCTIONS

    def execute_action(self, action: Any) -> tuple[bool, bool, str, str]:
        """Search; see ``BaseTool.execute_action``.

        Raises:
            ConfigError: There is no URL for a search; it is a ValueError.
        """
        if search.OPEN not in action:
            return False, True, "", ""
        call = self._tool.parse(action)
        if call is None:
            return False, True, "", ""
        result = self._tool.run(call)
        return True, not result.ok, result.output, call.text
