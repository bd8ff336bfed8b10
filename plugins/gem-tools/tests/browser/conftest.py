"""The browser, with a window of its own for each test."""

import sys
from pathlib import Path

import pytest
from needs import missing

sys.path.insert(0, str(Path(__file__).parent))
from browser_visit import Visit

from gem_core.errors import NotInstalledError
from gem_tools.browser.chromium import find_chromium


@pytest.fixture(scope="session")
def running():
    """Keep the browser running between tests; skip them if there is none, as ``needs`` says."""
    try:
        find_chromium()
    except NotInstalledError as error:
        missing("chromium", str(error))
    shop = Visit("shop")
    shop.do("snapshot")
    yield shop
    shop.close()


@pytest.fixture
def visit(running):
    """Open a site in a browser."""
    opened = []

    def make(site, seed=1):
        opened.append(Visit(site, seed))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
