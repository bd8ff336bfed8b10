"""The Chromium of this process, in which every environment has a window of its own.

It is the program that the system installed; nothing is downloaded. It starts with the first window
and ends with the last, or with the process, also if that is killed. All coroutines run in the event
loop of ``gem_tools.background``.

What is trusted: the pages that it shows are those of the task's own site. An agent clicks, types
and opens addresses of that site, and runs no code. Every connection goes through the proxy of a
window, no name is resolved, and what belongs to no window reaches nothing. Chromium's own sandbox
is on where it can be: root cannot use it, nor can some containers.
"""

import asyncio
import os
import shutil
from typing import Any

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from gem_core.errors import NotInstalledError
from gem_core.lifetimes import Lock
from gem_tools.background import LOOP

__all__ = ["Chromium", "chromium", "find_chromium"]

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first that is installed is used; the shell is the smallest."""
_FLAGS = (
    "--disable-quic",
    "--dns-prefetch-disable",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
_NOWHERE = "http://127.0.0.1:9"
"""The proxy of what belongs to no window: the port of the discard service, which nothing serves."""


def find_chromium() -> str:
    """Return the path of the installed Chromium.

    Raises:
        NotInstalledError: There is none.
    """
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise NotInstalledError(
            f"There is no Chromium here ({', '.join(PROGRAMS)} are not on the PATH). "
            f"Run: apt-get install chromium-headless-shell"
        )
    return found


class Chromium:
    """The browser program and those who use it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._users: set[object] = set()

    async def context(self, user: object, **options: Any) -> BrowserContext:
        """Open a context; the browser runs at least until its user calls ``leave``.

        Args:
            user: Who uses it.
            options: Options of the context.
        """
        async with self._lock:
            self._users.add(user)
            if self._browser is not None and self._browser.is_connected():
                try:
                    return await self._browser.new_context(**options)
                except Exception:  # noqa: BLE001, S110 - it has ended, or its driver has
                    pass
            await self._end()
            return await (await self._start()).new_context(**options)

    async def leave(self, user: object) -> None:
        """End the browser if nobody else uses it."""
        async with self._lock:
            self._users.discard(user)
            if not self._users:
                await self._end()

    async def close(self) -> None:
        """End the browser."""
        async with self._lock:
            await self._end()

    async def _start(self) -> Browser:
        path = find_chromium()
        self._playwright = await async_playwright().start()
        options: dict[str, Any] = {
            "executable_path": path,
            "args": list(_FLAGS),
            "proxy": {"server": _NOWHERE},
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
        }
        launch = self._playwright.chromium.launch
        try:
            self._browser = await launch(chromium_sandbox=os.geteuid() != 0, **options)
        except PlaywrightError as error:
            if "sandbox" not in str(error):
                raise
            self._browser = await launch(chromium_sandbox=False, **options)
        return self._browser

    async def _end(self) -> None:
        browser, self._browser = self._browser, None
        playwright, self._playwright = self._playwright, None
        for end in (browser and browser.close, playwright and playwright.stop):
            try:
                if end:
                    await end()
            except Exception:  # noqa: BLE001, S110 - it has crashed, or its driver has
                pass


_lock = Lock()
_current: Chromium | None = None
_of_parents: list[Chromium] = []
"""Those of parent processes, kept so that a fork does not end what they use."""


def chromium() -> Chromium:
    """Return the Chromium of this process."""
    global _current  # noqa: PLW0603 - one for each process
    with _lock:
        if _current is None:
            _current = Chromium()
            LOOP.before_end(_current.close)
        return _current


def _forget() -> None:
    global _current  # noqa: PLW0603 - one for each process
    if _current is not None:
        _of_parents.append(_current)
    _current = None


os.register_at_fork(after_in_child=_forget)
