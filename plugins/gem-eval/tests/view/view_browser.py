"""A real headless Chromium, and servers of the page for it to look at."""

import contextlib
import shutil
import threading

from needs import missing

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
    """Return the path of Chromium; skip the test if there is none, as ``needs`` says."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        missing("chromium", "there is no Chromium here: apt-get install chromium")
    return found


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
