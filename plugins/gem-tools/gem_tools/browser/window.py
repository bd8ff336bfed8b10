"""The browser of one environment: its tabs, cookies and storage, apart from all others.

A window opens with its first use. Its state is the addresses of the tabs, the cookies and the local
storage; a window that takes over a state opens the same addresses again. What a page has only in
memory is lost then: what was typed and not sent, the position, the history of a tab.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit
from weakref import WeakValueDictionary

from playwright.async_api import BrowserContext, Locator, Page, Request
from playwright.async_api import Error as PlaywrightError

from gem_core.errors import ConfigError
from gem_tools.browser.chromium import chromium

__all__ = ["ActionError", "Window", "find_window"]

_ACTION_SECONDS = 10.0
"""Seconds for an element to become ready for an action: visible, enabled, not covered."""
_LOAD_SECONDS = 60.0
"""Seconds for what depends on the machine alone; many browsers may share few cores."""
_QUIET_SECONDS = 0.02
_REF = re.compile(r"e[0-9]+")
_REF_IN_TREE = re.compile(r"\[ref=(\w+)\]")
_MOST_TABS = 10
_CLOSED = "has been closed"
"""What Playwright says of a browser that is not there any more."""
_windows: "WeakValueDictionary[str, Window]" = WeakValueDictionary()


class ActionError(Exception):
    """Something that the page or the browser cannot do; the message is for the agent."""


def find_window(proxy: str) -> "Window":
    """Return the window of this process that uses a proxy.

    Raises:
        ConfigError: There is none.
    """
    found = _windows.get(proxy)
    if found is None:
        raise ConfigError(f"No window of this process uses the proxy {proxy!r}.")
    return found


class Window:
    """The browser of one environment.

    Args:
        home: The first address, such as ``http://site.test/``; only its host is opened.
        proxy: URL of the HTTP proxy that all requests go through. It decides what is reached.

    Attributes:
        crashes: Number of times that the browser ended by itself, or could not be opened.
    """

    def __init__(self, home: str, proxy: str) -> None:
        self.home = home
        self.crashes = 0
        self._proxy = proxy
        self._lock = asyncio.Lock()
        self._context: BrowserContext | None = None
        self._pages: list[Page] = []
        self._current = 0
        self._requests: set[Request] = set()
        self._refs: dict[Page, dict[str, str]] = {}
        """Playwright's names of the elements in the last tree of each tab, by ref."""
        self._state: dict[str, Any] = {}
        _windows[proxy] = self

    async def load(self, state: dict[str, Any]) -> None:
        """Begin anew, with the state of another window, or an empty one for the first address."""
        async with self._lock:
            await self._shut()
            self._state, self.crashes = state, 0

    async def state(self) -> dict[str, Any]:
        """Return the state as JSON-able data; empty before the first use."""
        async with self._lock:
            if self._context is None:
                return self._state
            urls = [page.url for page in self._pages]
            storage = await self._context.storage_state()
            return {"tabs": urls, "current": self._current, "storage": storage}

    async def close(self) -> None:
        """Close it, and the browser if no other window uses it."""
        async with self._lock:
            await self._shut()
        await chromium().leave(self)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[None]:
        """Open the window if necessary, and hold it for an action.

        Raises:
            ActionError: The action failed, took too long, or the browser crashed.
        """
        async with self._lock:
            try:
                context = await self._opened()
            except PlaywrightError as error:
                self.crashes += 1
                raise ActionError(f"The browser did not open: {_first_line(error)}") from None
            try:
                yield
            except TimeoutError:
                raise ActionError("The page did not finish loading.") from None
            except ActionError:
                raise
            except Exception as error:  # noqa: BLE001 - Playwright raises plain ones too
                if not isinstance(error, PlaywrightError) or _CLOSED in str(error):
                    self._gone(context)  # no event tells that its driver has ended
                if self._context is not context:
                    raise ActionError(
                        "The browser crashed. It starts anew with the next call."
                    ) from None
                raise ActionError(_first_line(error)) from None

    async def settle(self) -> None:
        """Wait until no request is under way and the current tab is loaded.

        Raises:
            TimeoutError: It takes too long.
        """
        quiet = 0
        async with asyncio.timeout(_LOAD_SECONDS):
            while quiet < 2:
                await asyncio.sleep(_QUIET_SECONDS)
                quiet = 0 if self._requests else quiet + 1
        with contextlib.suppress(PlaywrightError):
            await self.page.wait_for_load_state("load")

    def address(self, url: str) -> str:
        """Return an address of the site, made absolute.

        Raises:
            ActionError: It is outside the site.
        """
        try:
            whole = urljoin(self.home, url.strip())
            parts, home = urlsplit(whole), urlsplit(self.home)
        except ValueError:
            raise ActionError(f"{url[:200]!r} is not an address.") from None
        if (parts.scheme, parts.netloc) != (home.scheme, home.netloc):
            raise ActionError(f"Only pages of {self.home} can be opened; got {url[:200]!r}.")
        return whole

    async def element(self, page: Page, target: str) -> Locator:
        """Return the element of a ref, or the only one of a selector.

        Raises:
            ActionError: There is none, or several.
        """
        selector = target
        if _REF.fullmatch(target):
            selector = f"aria-ref={self._refs.get(page, {}).get(target, target)}"
        found = page.locator(selector)
        try:
            count = await found.count()
        except PlaywrightError as error:
            raise ActionError(f"{target!r} is not a target: {_first_line(error)}") from None
        if count == 0:
            raise ActionError(
                f"There is no element {target!r} on this page. Refs are those of the last snapshot."
            )
        if count > 1:
            raise ActionError(f"{target!r} fits {count} elements. Use the ref of one.")
        return found

    async def tree(self, page: Page, target: str | None = None, depth: int | None = None) -> str:
        """Return the tree of a page or of one element, with refs.

        Refs count the elements of the whole page, so a page that is loaded again has the same ones;
        those of Playwright depend on the history of the tab.

        Raises:
            ActionError: There is no such element.
        """
        part = await self.element(page, target) if target else page  # a ref of the last tree
        limit = _LOAD_SECONDS * 1000
        tree = whole = await page.aria_snapshot(mode="ai", timeout=limit)
        names = {name: f"e{place}" for place, name in enumerate(_unique(whole), 1)}
        self._refs[page] = {ref: name for name, ref in names.items()}
        if target or depth:
            tree = await part.aria_snapshot(mode="ai", depth=depth, timeout=limit)
        return _REF_IN_TREE.sub(lambda found: f"[ref={names.get(found[1], '?')}]", tree)

    @property
    def page(self) -> Page:
        """The current tab, inside ``use``."""
        return self._pages[self._current]

    @property
    def current(self) -> int:
        """The index of the current tab."""
        return self._current

    def tabs(self) -> list[str]:
        """Return a line for each tab."""
        return [
            f"{index}{' (current)' if index == self._current else ''}: {page.url}"
            for index, page in enumerate(self._pages)
        ]

    async def open_tab(self) -> None:
        """Open a tab at the first address, and make it the current one."""
        if len(self._pages) >= _MOST_TABS:
            raise ActionError(f"There are {_MOST_TABS} tabs. Close one first.")
        context = self._context
        assert context is not None  # noqa: S101 - called inside use()
        page = await context.new_page()
        await self._go(page, self.home)
        self._current = self._pages.index(page)

    async def select_tab(self, index: int) -> None:
        """Make a tab the current one."""
        self._check_tab(index)
        self._current = index
        await self._pages[index].bring_to_front()

    async def close_tab(self, index: int) -> None:
        """Close a tab; the last one is replaced by one at the first address."""
        self._check_tab(index)
        if len(self._pages) == 1:
            await self.open_tab()
        await self._pages[index].close()

    def _check_tab(self, index: int) -> None:
        if not 0 <= index < len(self._pages):
            raise ActionError(f"There is no tab {index}; there are 0 to {len(self._pages) - 1}.")

    async def _opened(self) -> BrowserContext:
        if self._context is not None:
            return self._context
        state = self._state
        context = await chromium().context(
            self,
            proxy={"server": self._proxy},
            storage_state=state.get("storage"),
            service_workers="block",
            accept_downloads=False,
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(_ACTION_SECONDS * 1000)
        context.set_default_navigation_timeout(_LOAD_SECONDS * 1000)
        context.on("page", self._add)
        context.on("request", self._began)
        context.on("requestfinished", self._ended)
        context.on("requestfailed", self._ended)
        context.on("close", lambda _: self._gone(context))
        self._context = context
        try:
            for url in state.get("tabs") or [self.home]:
                page = await context.new_page()
                await self._go(page, url)
                await self.tree(page)  # so that refs mean what they did
        except BaseException:
            await self._shut()
            raise
        self._current = state.get("current", 0)
        return context

    async def _go(self, page: Page, url: str) -> None:
        if url != "about:blank":
            with contextlib.suppress(PlaywrightError):  # the agent sees what there is
                await page.goto(url)

    def _began(self, request: Request) -> None:
        self._requests.add(request)

    def _ended(self, request: Request) -> None:
        self._requests.discard(request)

    def _add(self, page: Page) -> None:
        if page not in self._pages:
            self._pages.append(page)
            page.on("close", self._remove)
            page.on("crash", self._crashed)

    def _remove(self, page: Page) -> None:
        if page in self._pages:
            index = self._pages.index(page)
            del self._pages[index]
            self._refs.pop(page, None)
            self._current = max(0, self._current - (index <= self._current))

    async def _crashed(self, page: Page) -> None:
        context = self._context
        if context is not None and page in self._pages:
            self._gone(context)
            with contextlib.suppress(PlaywrightError):
                await context.close()

    def _gone(self, context: BrowserContext) -> None:
        """Note that the browser has ended by itself; the next use opens another."""
        if self._context is context:
            self.crashes += 1
            self._forget()

    def _forget(self) -> None:
        self._context, self._current = None, 0
        self._pages.clear()
        self._refs.clear()
        self._requests.clear()

    async def _shut(self) -> None:
        context = self._context
        self._forget()
        if context is not None:
            with contextlib.suppress(Exception):  # it has crashed, or its driver has
                await context.close()


def _unique(tree: str) -> list[str]:
    """Return the names of the elements in a tree, in order."""
    return list(dict.fromkeys(_REF_IN_TREE.findall(tree)))


def _first_line(error: Exception) -> str:
    """Return what is useful of an error of Playwright, without its log."""
    text = str(error).partition("\n")[0]
    return re.sub(r"^(Error: )?\w+\.\w+: (Error: )?", "", text)[:300]
