"""Tasks in a browser, at a small web site of this package."""

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import Any, ClassVar, Self

from gem_core.errors import ClosedError, DataError, NotInstalledError
from gem_core.lifetimes import Lifetime
from gem_core.records import json_value
from gem_tasks.grader import GraderError
from gem_tools import background
from gem_tools.browser import Window
from gem_tools.browser.chromium import find_chromium
from gem_tools.browser.sites import HOME, SiteServer, new_site
from gem_tools.mcpmark.services.service import Service

__all__ = ["PlaywrightService"]

_CLOSE_SECONDS = 5.0


class PlaywrightService(Service):
    """A site, which is ``{home}``, and a browser that reaches it alone.

    The initial state of a task is ``site.json`` in the folder of its category: ``{"site": "shop",
    "seed": 3}``. Programs find the state of the site in two JSON files: ``SITE_START`` has the
    initial one, ``SITE_STATE`` what the agent has made of it. The browser starts with the first
    call of a tool. Snapshots and forks include the site, and of the browser what ``Window`` says.

    A server of others takes the site's address ``{home}`` and the proxy ``{proxy}``, such as
    ``npx @playwright/mcp --isolated --proxy-server {proxy}``; its browser is in no snapshot.
    """

    name = "playwright"
    servers: ClassVar[Mapping[str, Any]] = {
        "browser": {
            "server": "gem_tools.browser.server:browser_server",
            "arguments": {"proxy": "{proxy}"},
        }
    }
    watched = ("SITE_STATE",)

    def __init__(self, environments: Path | None) -> None:
        super().__init__(environments)
        self._site = SiteServer()
        self._window = Window(HOME, self._site.proxy)
        self._start: dict[str, Any] = {}
        self._files: Path | None = None
        self._lifetime = Lifetime(
            self, _release, self._site, self._window, what="site", at_exit=False
        )

    @classmethod
    def missing(cls) -> str:
        try:
            find_chromium()
        except NotInstalledError as error:
            return str(error)
        return ""

    def refusal(self, row: Mapping[str, Any]) -> str:
        if (self._folder_of(row) / "site.json").is_file():
            return ""
        return (
            "it takes place at web sites that are not here; environments/CATEGORY/site.json names "
            "one of this service's own"
        )

    def state_of(self, row: Mapping[str, Any]) -> Path | None:
        state = self._folder_of(row) / "site.json"
        if not state.is_file():
            raise DataError(
                f"The task {row['name']!r} starts from {str(state)!r}, which is missing."
            )
        return state

    def _folder_of(self, row: Mapping[str, Any]) -> Path:
        return (self.environments or Path(row["folder"])) / str(row["category"])

    def set_up(self, row: Mapping[str, Any]) -> None:
        self._lifetime.check()
        path = self.state_of(row)
        assert path is not None  # noqa: S101 - a site is never empty
        try:
            wanted = json_value(path.read_text(encoding="utf-8"))
            start = new_site(wanted["site"], wanted["seed"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{str(path)!r} must be like {{'site': 'shop', 'seed': 3}}: {error}"
            ) from error
        self._load(start, start, {})

    def _load(self, start: dict[str, Any], now: dict[str, Any], tabs: dict[str, Any]) -> None:
        background.run(self._window.load(tabs))
        self._start, self._site.state = start, now

    @property
    def places(self) -> Mapping[str, str]:
        self._lifetime.check()
        return {"home": HOME, "proxy": self._site.proxy}

    @property
    def variables(self) -> Mapping[str, str]:
        if self._files is None:
            return {}
        names = {"SITE_START": "start.json", "SITE_STATE": "state.json"}
        return {variable: str(self._files / name) for variable, name in names.items()}

    @contextlib.contextmanager
    def copy_for_verification(self) -> Iterator[Self]:
        if self._window.crashes:
            raise GraderError("The browser crashed during the episode.")
        now = self._site.state
        with tempfile.TemporaryDirectory(prefix="gem-site-") as folder:
            self._files = Path(folder).resolve()
            try:
                for name, state in (("start.json", self._start), ("state.json", now)):
                    (self._files / name).write_text(json.dumps(state), encoding="utf-8")
                yield self
            finally:
                self._files = None

    def pack(self) -> bytes:
        self._lifetime.check()
        tabs = background.run(self._window.state())
        packed = {"start": self._start, "now": self._site.state, "tabs": tabs}
        return json.dumps(packed, sort_keys=True).encode()

    def unpack(self, packed: bytes) -> None:
        self._lifetime.check()
        self._load(**json.loads(packed))

    def close(self) -> None:
        self._lifetime.end()


def _release(site: SiteServer, window: Window) -> None:
    site.close()
    with contextlib.suppress(ClosedError):  # the process ends, and closes the browser
        closing = background.LOOP.start(window.close())
        if not background.LOOP.is_current:
            wait([closing], _CLOSE_SECONDS)
