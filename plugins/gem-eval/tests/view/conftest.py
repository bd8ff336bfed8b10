"""Finds the modules that several test modules use, and has their fixtures."""

import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from view_browser import WIDE


@pytest.fixture
def open_page(browser):
    """Return a function that opens a page; errors in its console fail the test."""
    with opening(browser) as open_url:
        yield open_url


@pytest.fixture(scope="class")
def open_page_for_class(browser):
    """Return the same, for a page that the tests of a class look at one after the other."""
    with opening(browser) as open_url:
        yield open_url


@contextlib.contextmanager
def opening(browser):
    """Yield a function that opens a page; errors in its console are an error at the end.

    ``browser`` is a fixture of the test module: what it plays must be played before, as episodes
    and the browser use an event loop each.
    """
    contexts, problems = [], []

    def open_url(url, *, size=WIDE, **options):
        context = browser.new_context(viewport=size, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: problems.append(message.text) if message.type == "error" else None,
        )
        page.goto(url)
        page.wait_for_selector("main h1, main .empty")
        return page

    yield open_url
    for context in contexts:
        context.close()
    assert problems == []
