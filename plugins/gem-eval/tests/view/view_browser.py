"""A real headless Chromium, and servers of the page for it to look at.

On a user's machine tests that need Chromium are skipped where there is none; in CI (``CI=true``)
that is a failure.
"""

import contextlib
import os
import shutil
import threading

import pytest

from gem_eval.view.server import ViewServer
from gem_eval.view.store import Store

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}


def require_chromium():
    """Return the path of Chromium; skip the test, or fail in CI, if there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is not None:
        return found
    if os.environ.get("CI") == "true":
        pytest.fail("CI must have Chromium: apt-get install chromium")
    pytest.skip("there is no Chromium here: apt-get install chromium")


@contextlib.contextmanager
def chromium():
    """Start Chromium."""
    path = require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def serving(*paths):
    """Serve the page of runs, and yield the server."""
    with Store([*paths]) as store:
        store.refresh()
        with ViewServer(store, 0) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()
