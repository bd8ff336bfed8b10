"""Takes the pictures of docs/viewer.md: ``python plugins/gem-eval/tests/view/pictures.py``.

Usage: pictures.py [FOLDER] [--all]. With ``--all`` every page, wide and narrow, light and dark.

``pictures.py --training RUN...`` takes those of the curves, from runs of ``gem-core train``; the
docs have three seeds of 60 steps, as ``make demo-train`` takes them, with ``eval.every=10``.

``pictures.py --model RUN`` takes that of the longest episode of smollm2 in a run of ``gem-core
eval``, such as that of ``make demo-llm``, for the README.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "support"))

from shop_samples import shop_trajectory
from view_browser import PHONE, WIDE, chromium, serving
from view_samples import make_run

from gem_rollout import TrajectoryFile

DOCS = Path(__file__).parents[4] / "docs" / "images"
PAGES = {
    "overview": "#/",
    "episodes": "#/episodes?sort=return&desc=1",
    "episode": "#/episode/1-{best}?tokens=logprob",
    "compare": "#/compare",
}


def main():
    """Take the pictures."""
    if "--training" in sys.argv:
        take_training([Path(run) for run in sys.argv[sys.argv.index("--training") + 1 :]])
        return
    if "--model" in sys.argv:
        take_model(Path(sys.argv[sys.argv.index("--model") + 1]))
        return
    given = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    target = Path(given[0]) if given else DOCS
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        runs = [Path(name) / "before", Path(name) / "after"]
        make_run(runs[0], "small-model", 0.45, episodes=100, gain=0.1)
        make_run(runs[1], "small-model", 0.6, episodes=100, gain=0.35)
        visit = Path(name) / "visit.jsonl"
        with TrajectoryFile(visit) as file:
            file.append(shop_trajectory())
        with serving(*runs) as server, serving(visit) as shop, chromium() as browser:
            take_visit(browser, shop.url, target)
            rows = server.store.rows(
                "SELECT number FROM episodes WHERE run = 1 AND outcome = 'success' "
                "AND env_id LIKE '%Mastermind%' AND turns > 3 ORDER BY number"
            )
            pages = {key: url.format(best=rows[0]["number"]) for key, url in PAGES.items()}
            looks = [("", WIDE, "light")]
            looks += [("-dark", WIDE, "dark"), ("-phone", PHONE, "light")]
            if "--all" in sys.argv:
                looks += [("-phone-dark", PHONE, "dark")]
            for suffix, size, scheme in looks:
                kept = (
                    pages if "--all" in sys.argv or not suffix else {"overview": pages["overview"]}
                )
                take(browser, server.url, kept, size, scheme, target, suffix)


def take_training(runs):
    """Take pictures of the curves of several runs, and in the dark of the first run."""
    looks = [("", runs, "light", 1100), ("-dark", runs[:1], "dark", 880)]
    with chromium() as browser:
        for suffix, given, scheme, height in looks:
            with serving(*given) as server:
                size = {"width": 1280, "height": height}
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.goto(server.url)
                page.wait_for_selector(".curve svg")
                if suffix:
                    page.locator(".curve").nth(1).locator(".point").nth(2).hover(force=True)
                    page.wait_for_selector(".curve-hint:visible")
                page.screenshot(path=DOCS / f"viewer-training{suffix}.png")
                page.close()


def take_model(run):
    """Take a picture of an episode of a language model."""
    with serving(run) as server, chromium() as browser:
        rows = server.store.rows(
            "SELECT number FROM episodes WHERE agent = 'smollm2' ORDER BY turns DESC, number"
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(f"{server.url}#/episode/0-{rows[0]['number']}")
        page.wait_for_selector(".turn")
        page.screenshot(path=DOCS / "viewer-smollm2.png")
        page.close()


def take_visit(browser, root, target):
    """Take a picture of the end of a visit to a shop."""
    page = browser.new_page(viewport={"width": 1280, "height": 1290}, color_scheme="light")
    page.goto(f"{root}#/episode/0-0")
    page.wait_for_selector(".receipt")
    page.evaluate("() => document.querySelector('#turn-17').scrollIntoView()")
    page.screenshot(path=target / "viewer-visit.png")
    page.close()


def take(browser, root, pages, size, scheme, target, suffix):
    """Take a picture of each page."""
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: print("console:", message.text))
    page.on("pageerror", lambda error: print("error:", error))
    for name, url in pages.items():
        page.goto("about:blank")
        page.goto(root + url)
        page.wait_for_selector("main h1")
        page.wait_for_timeout(300)
        if name == "episode" and "--all" not in sys.argv:
            page.evaluate("() => document.querySelector('.colouring').scrollIntoView()")
            page.mouse.wheel(0, -70)
            page.wait_for_timeout(300)
        page.screenshot(path=target / f"viewer-{name}{suffix}.png", full_page="--all" in sys.argv)
    context.close()


if __name__ == "__main__":
    main()
