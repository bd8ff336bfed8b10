"""The site as a reader's browser shows it: widths, copy buttons, pictures, names, contrast."""

import functools
import json
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from needs import needs

from gem_core import find_envs

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "plugins/gem-eval/tests/view")]
needs("mkdocs")
from doc_pages import blocks_of  # noqa: E402
from view_browser import chromium  # noqa: E402

WIDTHS = (1280, 768, 390)
CHECKED = (
    "",
    "catalogue/",
    "evaluation/",
    "games/",
    "reference/api/",
    "reference/gem_core/agents/",
)
"""The pages that axe checks, light and dark."""
LONGEST = 20_000
"""Pixels of the longest page of the API, at a width of 1280."""
TOO_WIDE = """() => [...document.querySelectorAll("article .highlight code")].filter(code => {
    const lines = code.innerText.split("\\n");
    const isPrinted = code.closest(".language-text") || code.querySelector(".go");
    const isTable = isPrinted && Math.max(...lines.map(line => line.length)) > 100;
    return code.scrollWidth > code.clientWidth && !isTable;
}).map(code => code.innerText)"""
"""The blocks that are cut at the right; what is printed may be a wide table."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, serve it, and return its folder and its URL."""
    folder = tmp_path_factory.mktemp("site")
    words = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=folder)
    ) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture
def open_page(browser, site):
    """Return a function that opens a page of the site; an error in its console fails the test."""
    contexts, problems = [], []

    def opened(place, *, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{site[1]}/{place}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def pages_of(folder):
    return sorted(f"{one.parent.relative_to(folder)}/" for one in folder.rglob("index.html"))


def test_no_page_scrolls_sideways_no_code_is_cut_and_pages_of_the_api_are_short(site, open_page):
    page, folder = open_page(""), site[0]
    # Without pages to search, since making their index takes a second on each page.
    index = json.loads((folder / "search/search_index.json").read_text()) | {"docs": []}
    page.route("**/search_index.json", lambda route: route.fulfill(json=index))
    wide, cut, long = [], {}, {}
    for place in pages_of(folder):
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        page.goto(f"{site[1]}/{place}", wait_until="domcontentloaded")
        if blocks := page.evaluate(TOO_WIDE):
            cut[place] = blocks
        height = page.evaluate("document.documentElement.scrollHeight")
        if place.startswith("reference/gem_") and height > LONGEST:
            long[place] = height
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append((place, width))
    assert (wide, cut, long) == ([], {}, {})


def test_the_button_of_a_console_block_copies_its_commands(open_page):
    page = open_page("evaluation/", permissions=["clipboard-read", "clipboard-write"])
    text = (ROOT / "docs/evaluation.md").read_text()
    expected = [
        [command for command, _ in block.commands()]
        for block in blocks_of(text)
        if block.language == "console"
    ]
    shown = page.locator(".language-console")
    assert shown.count() == len(expected)
    for place, commands in enumerate(expected):
        shown.nth(place).hover()
        shown.nth(place).locator(".md-code__button[data-clipboard-target]").click()
        assert page.evaluate("navigator.clipboard.readText()").splitlines() == commands


def test_the_home_page_has_a_picture_and_the_number_of_ids_of_each_family(open_page):
    page = open_page("")
    page.wait_for_selector(".board table")
    counts = {}
    for spec in find_envs("*"):
        counts[spec.namespace] = counts.get(spec.namespace, 0) + 1
    shown = page.locator(".family").all_inner_texts()
    for name, count in counts.items():
        assert [one for one in shown if one.startswith(f"{name}: {count} environment")], name
    assert page.locator(".family :is(.board, pre.turns)").count() == len(counts)


def test_every_game_has_a_board_in_the_catalogue(open_page):
    page = open_page("catalogue/")
    page.wait_for_selector(".board table")
    games = {spec.entry_point for spec in find_envs("game:*")}
    assert page.locator("figure", has_text="game:").count() == len(games)
    assert page.locator("figure .board table").count() >= 10


def test_every_page_of_the_api_is_found_by_search_and_navigation(site, open_page):
    page = open_page("reference/api/")
    folder = site[0]
    places = sorted(path for path in pages_of(folder) if path.startswith("reference/gem_"))
    found = {
        entry["location"]
        for entry in json.loads((folder / "search/search_index.json").read_text())["docs"]
    }
    assert [place for place in places if place not in found] == []
    linked = page.eval_on_selector_all("nav a, article a", "links => links.map(one => one.href)")
    assert [place for place in places if f"{site[1]}/{place}" not in linked] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", CHECKED)
def test_axe_finds_nothing(open_page, place, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(place, color_scheme=scheme)
    page.wait_for_timeout(300)
    report = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]})
    assert report.violations_count == 0, report.generate_report()
