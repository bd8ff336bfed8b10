"""The MCP server of a browser's tools.

The tools and their arguments have the names of the server that most agents know. After an action,
an agent gets the address and title of the page and its content: a tree of roles, names and texts,
in which ``[ref=e12]`` names an element for the next action.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from playwright.async_api import Page
from pydantic import Field

from gem_tools.browser.window import ActionError, Window, find_window

__all__ = ["BrowserTools", "browser_server"]

LONGEST = 12_000
"""Maximum number of characters of a page that are shown."""
_LONGEST_WAIT = 10.0
_OPTIONS = "list => [...(list.options ?? [])].flatMap(one => [one.label, one.value])"

ElementName = Annotated[str, Field(description="What the element is, in words")]
Target = Annotated[
    str, Field(description="The ref of the element in the snapshot, such as e12, or a CSS selector")
]


class BrowserTools:
    """The tools, each a method.

    Args:
        window: The browser.
    """

    def __init__(self, window: Window) -> None:
        self._window = window

    async def browser_navigate(
        self, url: Annotated[str, Field(description="Address of a page of the site")]
    ) -> str:
        """Open a page of the site in the current tab."""

        async def act(page: Page) -> None:
            await page.goto(self._window.address(url))

        return await self._act(act)

    async def browser_navigate_back(self) -> str:
        """Go back to the page before this one."""

        async def act(page: Page) -> None:
            if await page.go_back() is None and page.url == "about:blank":
                await page.go_forward()

        return await self._act(act)

    async def browser_snapshot(
        self,
        target: Annotated[str | None, Field(description="Show this element alone")] = None,
        depth: Annotated[int | None, Field(description="Show so many levels", ge=1)] = None,
    ) -> str:
        """Show the content of the page, or of one element, with the refs of the elements."""
        return await self._act(None, target=target, depth=depth)

    async def browser_click(
        self,
        target: Target,
        element: ElementName = "",
        doubleClick: bool = False,  # noqa: N803, FBT001, FBT002 - the field's name
    ) -> str:
        """Click on a link, a button or another element."""

        async def act(page: Page) -> None:
            found = await self._window.element(page, target)
            await (found.dblclick() if doubleClick else found.click())

        return await self._act(act)

    async def browser_type(
        self,
        target: Target,
        text: Annotated[str, Field(description="The text, which replaces what is in the field")],
        element: ElementName = "",
        submit: Annotated[bool, Field(description="Press Enter after it")] = False,  # noqa: FBT002
        slowly: Annotated[bool, Field(description="Type key by key")] = False,  # noqa: FBT002
    ) -> str:
        """Type a text into a field."""

        async def act(page: Page) -> None:
            found = await self._window.element(page, target)
            if slowly:
                await found.press_sequentially(text)
            else:
                await found.fill(text)
            if submit:
                await found.press("Enter")

        return await self._act(act)

    async def browser_select_option(
        self,
        target: Target,
        values: Annotated[list[str], Field(description="The options, by value or text")],
        element: ElementName = "",
    ) -> str:
        """Select options of a list."""

        async def act(page: Page) -> None:
            found = await self._window.element(page, target)
            options: list[str] = await found.evaluate(_OPTIONS)
            for value in values:
                if value not in options:
                    texts = ", ".join(map(repr, options[::2]))
                    raise ActionError(
                        f"There is no option {value!r}. There are: {texts or 'none'}."
                    )
            await found.select_option(values)

        return await self._act(act)

    async def browser_press_key(
        self, key: Annotated[str, Field(description="Such as Enter, ArrowDown, or a letter")]
    ) -> str:
        """Press a key."""

        async def act(page: Page) -> None:
            await page.keyboard.press(key)

        return await self._act(act)

    async def browser_wait_for(
        self,
        time: Annotated[float | None, Field(description="Seconds, at most 10", ge=0)] = None,
        text: Annotated[str | None, Field(description="Until this text is there")] = None,
        textGone: Annotated[str | None, Field(description="Until it is gone")] = None,  # noqa: N803
    ) -> str:
        """Wait for some seconds, or until a text appears or disappears."""

        async def act(page: Page) -> None:
            if time is not None:
                await asyncio.sleep(min(time, _LONGEST_WAIT))
            if text is not None:
                await page.get_by_text(text).first.wait_for(state="visible")
            if textGone is not None:
                await page.get_by_text(textGone).first.wait_for(state="hidden")

        return await self._act(act)

    async def browser_tabs(
        self,
        action: Literal["list", "new", "select", "close"],
        index: Annotated[int | None, Field(description="The tab to select or close")] = None,
    ) -> str:
        """List the tabs, open one, select one or close one (the current one without an index)."""

        async def act(_: Page) -> None:
            if action == "new":
                await self._window.open_tab()
            elif action == "select" and index is None:
                raise ActionError("Say which tab to select: its index.")
            elif action == "select":
                await self._window.select_tab(index or 0)
            elif action == "close":
                await self._window.close_tab(self._window.current if index is None else index)

        return await self._act(act, of_tabs=True)

    async def _act(
        self,
        act: Callable[[Page], Any] | None,
        *,
        target: str | None = None,
        depth: int | None = None,
        of_tabs: bool = False,
    ) -> str:
        """Do something with the current tab and return what it shows afterwards."""
        try:
            async with self._window.use():
                if act is not None:
                    await act(self._window.page)
                    await self._window.settle()
                return await self._shown(self._window.page, target, depth, of_tabs=of_tabs)
        except ActionError as error:
            raise ToolError(str(error)) from None

    async def _shown(
        self, page: Page, target: str | None, depth: int | None, *, of_tabs: bool
    ) -> str:
        tree = await self._window.tree(page, target, depth)
        tabs = self._window.tabs()
        lines = [f"Page: {page.url}", f"Title: {await page.title()}"]
        if of_tabs or len(tabs) > 1:
            lines += ["Tabs:", *tabs]
        return "\n".join([*lines, "", _cut(re.sub(r" \[cursor=\w+\]", "", tree))])


def _cut(tree: str) -> str:
    """Return the beginning of a tree, in whole lines, and what is left out."""
    if len(tree) <= LONGEST:
        return tree
    shown, _, _ = tree[:LONGEST].rpartition("\n")
    left = tree[len(shown) :].strip("\n").count("\n") + 1
    return (
        f"{shown}\n[... {left:,} more lines. To see them, call browser_snapshot with the ref of a "
        f"part as target.]"
    )


_READING = "browser_snapshot", "browser_wait_for"
_ACTING = (
    "browser_navigate",
    "browser_navigate_back",
    "browser_click",
    "browser_type",
    "browser_select_option",
    "browser_press_key",
    "browser_tabs",
)


def browser_server(proxy: str) -> MCPServer[Any]:
    """Return a server for a window of this process.

    Args:
        proxy: The proxy of the window.

    Raises:
        ConfigError: No window uses it.
    """
    server: MCPServer[Any] = MCPServer("browser")
    tools = BrowserTools(find_window(proxy))
    for name in (*_READING, *_ACTING):
        is_reading = name in _READING
        notes = ToolAnnotations(read_only_hint=is_reading, idempotent_hint=is_reading)
        server.add_tool(getattr(tools, name), annotations=notes, structured_output=False)
    return server
