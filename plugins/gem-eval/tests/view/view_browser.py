"""A real headless Chromium, and servers of the page for it to look at."""

import contextlib
import shutil
import threading

from needs import missing

from gem_eval.view.home import Home
from gem_eval.view.page import one_file
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
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")
"""The first that is installed is used; the shell opens a page in half the time."""
WIDE = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}


def require_chromium():
    """Return the path of Chromium; skip the test if there is none, as ``needs`` says."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        missing("chromium", "there is no Chromium here: apt-get install chromium-headless-shell")
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
        with _serving(store) as server:
            yield server


def serving_home(folder):
    """Serve the list of the runs below a folder, and yield the server."""
    return _serving(Home(folder))


@contextlib.contextmanager
def _serving(shown):
    with ViewServer(shown, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def write_page(path, *runs, most=500):
    """Write the page of runs as one file, and return its URL."""
    with Store([*runs]) as store, path.open("wb") as file:
        store.refresh()
        one_file(store, most, file.write)
    return path.as_uri()


def go_to(page, fragment):
    """Go to another place of the page, and wait until it is shown."""
    page.evaluate("() => document.querySelector('main').replaceChildren()")
    page.evaluate("fragment => { location.hash = fragment }", fragment)
    page.wait_for_selector("main h1, main .empty")
