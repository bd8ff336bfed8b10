"""Random walks through the original and through gem-web, side by side: pages, clicks, rewards."""

import json
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import NavigableString

from gem_web.catalogue import Catalogue
from gem_web.env import ObservationMode, WebshopEnv
from gem_web.nouns import find_nouns
from gem_web.pages import clickables
from gem_web.product import Goal

__all__ = ["Differences", "OriginalProcess", "compare_walks"]

_INVALID = ("click[no such thing]", "search[]", "look around", "click[search]")
_HIDDEN = ("style", "script", "head", "title", "meta", "[document]")
_MODES: tuple[ObservationMode, ...] = ("text", "text_rich", "html")


class OriginalProcess:
    """The original in a process of its own; see ``original.py``.

    Args:
        python: An interpreter that has Flask, Beautiful Soup, thefuzz and the like.
        checkout: The checkout of the original.
        data: The folder with the products.
    """

    def __init__(self, python: Path, checkout: Path, data: Path) -> None:
        worker = Path(__file__).with_name("original.py")
        self._process = subprocess.Popen(
            [str(python), str(worker), str(checkout), str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._answer()

    def ask(self, do: str, **given: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps({"do": do, **given}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("The original has ended; see its message above.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@dataclass
class Differences:
    """What differed in the walks.

    Args:
        steps: Steps that were compared.
        purchases: Purchases that were compared.
        pages: Pages with another text.
        clicks: Pages on which other things can be clicked.
        rewards: Steps with another reward or end.
        examples: Some of them.
    """

    steps: int = 0
    purchases: int = 0
    pages: int = 0
    clicks: int = 0
    rewards: int = 0
    examples: list[str] = field(default_factory=list)

    def note(self, what: str, action: str, ours: Any, theirs: Any) -> None:
        """Count a difference."""
        setattr(self, what, getattr(self, what) + 1)
        if len(self.examples) < 10:
            self.examples.append(f"{what} after {action!r}:\n ours   {ours!r}\n theirs {theirs!r}")


def goal_for_original(goal: Goal, catalogue: Catalogue) -> dict[str, Any]:
    """Return a goal as the original stores it."""
    product = catalogue.product(goal.asin)
    return {
        "asin": goal.asin,
        "category": "" if product is None else product.category,
        "query": goal.query,
        "name": goal.name,
        "product_category": goal.product_category,
        "instruction_text": goal.instruction,
        "attributes": list(goal.attributes),
        "price_upper": goal.price_upper,
        "goal_options": list(goal.options),
        "weight": 1,
    }


def compare_walks(
    original: OriginalProcess, catalogue: Catalogue, split: str, episodes: int, seed: int
) -> Differences:
    """Play random episodes in both, with the same goals, prices, hits and nouns."""
    found = Differences()
    nouns = find_nouns("words")
    products = list(catalogue.products)
    prices = {product.asin: product.price for product in products}
    by_title = {product.title: sorted(nouns(product.title)) for product in products}
    for number in range(episodes):
        mode = _MODES[number % len(_MODES)]
        env = WebshopEnv(
            data=catalogue, split=split, observation_mode=mode, max_turns=60, error_tolerance=60
        )
        env.reset(seed=seed + number)
        first = original.ask(
            "begin",
            goal=goal_for_original(env.wish, catalogue),
            mode=mode,
            **({"prices": prices, "nouns": by_title} if number == 0 else {}),
        )
        _walk(original, env, random.Random(f"walk {seed} {number}"), first, found)
    return found


def _walk(
    original: OriginalProcess,
    env: WebshopEnv,
    rng: random.Random,
    first: dict[str, Any],
    found: Differences,
) -> None:
    action, theirs, ends = "reset", first, False
    ours = _shown(env)
    for _ in range(40):
        if ends:
            return  # the last page of the original has notes for its authors
        _compare(env, action, ours, theirs, found)
        action = _choose(env, rng)
        step = env.step(f"\\boxed{{{action}}}")
        hits = [env.catalogue.products[n].asin for n in env.catalogue.search(env.visit.query)]
        theirs = original.ask("step", action=action, hits=hits)
        found.steps += 1
        ends = step.terminated
        reward = max(step.reward, 0.0)  # the original pays nothing for what is not valid
        if ends:
            found.purchases += 1
        if (reward, ends) != (theirs["reward"], theirs["done"]):
            found.note("rewards", action, (reward, ends), (theirs["reward"], theirs["done"]))
            return
        ours = step.observation


def _shown(env: WebshopEnv) -> str:
    return str(env._observation())  # noqa: SLF001 - the page of the reset


def _compare(
    env: WebshopEnv, action: str, ours: str, theirs: dict[str, Any], found: Differences
) -> None:
    other = theirs["observation"]
    if env.observation_mode == "text":  # gem-web leaves out the instruction, which is in the prefix
        other = other.split(f"{env.wish.instruction.strip()} [SEP] ", 1)[1]
    elif env.observation_mode == "html":
        ours, other = _visible(ours), _visible(other)
    if ours != other:
        found.note("pages", action, ours, other)
    listed = list(clickables(env.page))
    if listed != theirs["clickables"]:
        found.note("clicks", action, listed, theirs["clickables"])


def _visible(source: str) -> str:
    """Return the texts of a page that a browser shows."""
    texts = BeautifulSoup(source, "html.parser").find_all(string=True)
    kept = (
        text.strip()
        for text in texts
        if type(text) is NavigableString and text.parent and text.parent.name not in _HIDDEN
    )
    return " [SEP] ".join(text for text in kept if text)


def _choose(env: WebshopEnv, rng: random.Random) -> str:
    chance = rng.random()
    if chance < 0.05:
        return rng.choice(_INVALID)
    if chance < 0.2 or env.visit.place == "search":
        words = env.wish.instruction.lower().replace("[", " ").replace("]", " ").split()
        return f"search[{' '.join(rng.sample(words, min(len(words), 3)))}]"
    actions = env.actions()
    options = [one for one in actions if "buy now" not in one]
    return rng.choice(actions if rng.random() < 0.5 else options)
