"""Takes the pictures of docs/viewer.md: ``pictures.py [FOLDER]``.

``pictures.py --training RUN...`` takes those of the curves, from runs of ``gem-core train``; the
docs have three seeds of 60 steps, as ``make demo-train`` takes them, with ``eval.every=10``.

``pictures.py --model RUN`` takes that of the longest episode of smollm2 in a run of ``gem-core
eval``, such as that of ``make demo-llm``, for the README.
"""

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "support"))

from shop_samples import shop_trajectory
from view_browser import WIDE, chromium, serving, serving_home
from view_samples import make_run

from gem_rollout import TrajectoryFile
from gem_rollout.records.runs import Run

DOCS = Path(__file__).resolve().parents[4] / "docs" / "images"


def main():
    """Take the pictures."""
    if "--training" in sys.argv:
        take_training([Path(run) for run in sys.argv[sys.argv.index("--training") + 1 :]])
        return
    if "--model" in sys.argv:
        take_model(Path(sys.argv[sys.argv.index("--model") + 1]))
        return
    target = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DOCS
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        runs = [Path(name) / "before", Path(name) / "after"]
        make_run(runs[0], "small-model", 0.45, episodes=100, gain=0.1)
        make_run(runs[1], "small-model", 0.6, episodes=100, gain=0.35)
        game = make_run(
            Path(name) / "game", "small-model", 0.9, episodes=1, envs=("game:Sudoku-v0",)
        )
        take_runs(target)
        visit = Path(name) / "visit.jsonl"
        with TrajectoryFile(visit) as file:
            file.append(shop_trajectory())
        with chromium() as browser:
            with serving(*runs) as server:
                take(browser, server.url, target / "viewer-overview.png")
                rows = server.shown.rows(
                    "SELECT number FROM episodes WHERE run = 1 AND outcome = 'success' "
                    "AND env_id LIKE '%Hanoi%' AND strpos(text, 'perhaps') "
                    "BETWEEN 1 AND strpos(text, 'i narrow') ORDER BY number"
                )
                place = f"#/episode/1-{rows[0]['number']}?tokens=logprob"
                take(browser, server.url + place, target / "viewer-episode.png", ".colouring")
            with serving(game) as server:
                take(browser, f"{server.url}#/episode/0-0?board=9", target / "viewer-game.png")
            with serving(visit) as server:
                place, size = "#/episode/0-0", {"width": 1280, "height": 1290}
                take(browser, server.url + place, target / "viewer-visit.png", "#turn-17", size)


def take_runs(target):
    """Play some runs below the working directory, and take a picture of their list."""
    words = ("game:Mastermind-v0-easy", "game:Sudoku-v0-easy", "rg:leg_counting")
    commands = [
        ("random", ["eval", words[0], "agent=random", "samples=2"]),
        ("oracle", ["eval", words[0], "agent=oracle", "samples=2"]),
        ("sudoku", ["eval", words[1], "agent=[oracle,random]"]),
        ("sweep/3", ["eval", *words, "agent=random", "budget.episodes=45"]),
        ("played", ["run", words[2], "agent=oracle"]),
    ]
    for place, command in commands:
        line = [sys.executable, "-m", "gem_core", *command, "episodes=20", f"out=runs/{place}"]
        subprocess.run(line, check=True, capture_output=True)
    Run(Path("runs/random")).change_tags(add=["floor"])
    Run(Path("runs/oracle")).change_tags(add=["ceiling", "checked"])
    size = {"width": 1280, "height": 720}
    with chromium() as browser, serving_home(Path("runs")) as server:
        page = browser.new_page(viewport=size, color_scheme="light")
        page.goto(server.url)
        page.check("[aria-label='Choose random']")
        page.check("[aria-label='Choose oracle']")
        page.screenshot(path=target / "viewer-runs.png")
        page.close()


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
        rows = server.shown.rows(
            "SELECT number FROM episodes WHERE agent = 'smollm2' ORDER BY turns DESC, number"
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(f"{server.url}#/episode/0-{rows[0]['number']}")
        page.wait_for_selector(".turn")
        page.screenshot(path=DOCS / "viewer-smollm2.png")
        page.close()


def take(browser, url, path, first="", size=WIDE):
    """Take a picture of a page in the light, from the element ``first`` on."""
    page = browser.new_page(viewport=size, color_scheme="light")
    page.on("pageerror", lambda error: print("error:", error))
    page.goto(url)
    page.wait_for_selector("main h1")
    if first:
        page.locator(first).evaluate("(one) => one.scrollIntoView()")
        page.mouse.wheel(0, -70 if first == ".colouring" else 0)
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    page.close()


if __name__ == "__main__":
    main()
