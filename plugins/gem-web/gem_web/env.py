r"""WebShop: find the product that a customer wants, choose its options, and buy it.

An action is ``\boxed{search[words]}`` or ``\boxed{click[text]}``, where the text is that of a
button, a product link or the value of an option on the page.

==========================  ==========================  =====================================
event                       reward                      episode
==========================  ==========================  =====================================
a search, a click           0                           continues
``Buy Now``                 0 to 1 (``gem_web.reward``) terminated
not a valid action          ``format_error_reward``     continues; terminated after more than
                                                        ``error_tolerance`` of them
``max_turns`` is reached    that of the action          truncated
==========================  ==========================  =====================================
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from gem_core import Action, BaseEnv, Info, Step
from gem_core.errors import ConfigError, InvalidActionError, near_names
from gem_core.info import Grading, graded
from gem_core.thoughts import spoken
from gem_web.catalogue import Catalogue
from gem_web.human_view import STYLES, HumanView
from gem_web.nouns import NounFinder, find_nouns
from gem_web.pages import RENDERERS, Page, clickables
from gem_web.product import Goal, Product
from gem_web.reward import Purchase, grade
from gem_web.store import open_catalogue
from gem_web.visit import Shop, Visit

__all__ = ["MODES", "ObservationMode", "WebshopEnv"]

ObservationMode = Literal["text", "text_rich", "html", "url"]
MODES = (*RENDERERS, "url")
_BOX = "\\boxed{"
_ACTION = re.compile(r"\s*(\w+)\s*\[(.+)\]", re.DOTALL)
_WORD = re.compile(r"\w+")
_PREFIX = """\
You are shopping in an online shop for a customer, who says:

{instruction}

Find a product that fits, open it, choose the options that the customer wants, and buy it. You \
are paid up to 1 for it: the kind of product, each wanted property, each wanted option and the \
price count. You have {max_turns} turns.
In each turn write one action inside \\boxed{{}}; you may reason before it:
\\boxed{{search[words]}} searches for products, \\boxed{{click[text]}} clicks a button, a product \
or an option of the page.
Your actions and the pages that you saw follow.

"""
_SUFFIX = """\
Turn {turn} of {max_turns}.{notes} The actions on this page:
{actions}
Write your next action inside \\boxed{{}}."""


class WebshopEnv(BaseEnv):
    """An online shop with a customer's wish.

    ``info`` has the ``prefix`` (the rules and the wish) at ``reset``, the ``suffix`` (the possible
    actions), the ``parsed_action``, and ``page``: the ``url``, and ``kinds``, one digit of
    ``gem_web.pages.Kind`` for each piece of the page; at ``reset`` also the ``instruction``, the
    wish. A purchase adds ``correct``, ``rewards``
    and ``purchase``: what was bought, what it was paid for, what was wanted, and which ``nouns``
    were compared.

    Args:
        data: A folder that ``gem-core webshop index`` has written, or ``sample`` for a generated
            catalogue of 1,000 products.
        split: The split of the goals: ``train``, ``test``, or another one of the catalogue.
        observation_mode: How a page is written: ``text`` (the texts after the instruction, with
            `` [SEP] `` between them), ``text_rich`` (one text on each line, with marks around what
            can be clicked), ``html``, or ``url``, the address alone.
        max_turns: The limit of turns, 1 to 10,000.
        show_attrs: Whether products have a page with their attributes, which are hidden otherwise.
        error_tolerance: The number of invalid actions that do not end the episode, 0 or more.
        format_error_reward: The reward of an invalid action.
        nouns: The noun finder that compares titles, ``words`` or ``spacy``; see ``gem_web.nouns``.

    Raises:
        ConfigError: A value is not valid, or there is no catalogue.
        DataError: The catalogue cannot be read.
    """

    shared: ClassVar[tuple[str, ...]] = ("_shop", "_goals", "_nouns_of")
    board_styles: ClassVar[Mapping[str, str]] = STYLES

    def __init__(
        self,
        *,
        data: str | Path | Catalogue | None = None,
        split: str = "train",
        observation_mode: ObservationMode = "text",
        max_turns: int = 15,
        show_attrs: bool = False,
        error_tolerance: int = 15,
        format_error_reward: float = -0.1,
        nouns: NounFinder = "words",
    ) -> None:
        _check(max_turns, error_tolerance, observation_mode)
        catalogue = data if isinstance(data, Catalogue) else open_catalogue(data)
        self._shop = Shop(catalogue, show_attributes=show_attrs)
        self._goals = catalogue.goals(split)
        self._nouns_of = find_nouns(nouns)
        self.nouns = nouns
        self.observation_mode = observation_mode
        self.max_turns = max_turns
        self.error_tolerance = error_tolerance
        self.format_error_reward = float(format_error_reward)
        self.goal: Goal | None = None
        self._begin()

    def _begin(self) -> None:
        self.turn_count = 0
        self.error_count = 0
        self.visit = Visit()
        self._page: Page | None = None

    def get_state(self) -> dict[str, Any]:
        """Return the state; the page is left out, as the visit decides it."""
        return {**super().get_state(), "_page": None}

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue of the shop."""
        return self._shop.catalogue

    @property
    def page(self) -> Page:
        """The page of the visit."""
        if self._page is None:
            self._page = self._shop.page(self.visit, self.wish.instruction)
        return self._page

    @property
    def human_view(self) -> HumanView:
        """The translation for a person who plays; ``gem-core play`` uses it."""
        return HumanView(self)

    @property
    def wish(self) -> Goal:
        """The goal of the episode.

        Raises:
            EpisodeEndedError: No episode was started.
        """
        if self.goal is None:
            raise self._not_running()
        return self.goal

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the goal of episode ``number`` of a run; see ``BaseEnv``."""
        return self._goals.reset_options(number, seed)

    def start(self, *, idx: int | None = None) -> tuple[str, Info]:
        """Start with a goal drawn by the weights, or with goal ``idx``.

        Raises:
            ConfigError: There is no goal ``idx``.
        """
        number, self.goal = self._goals.draw(self.rng, idx)
        self._begin()
        info = self._info()
        info["prefix"] = self._prefix()
        info["idx"] = number
        info["page"]["instruction"] = self.goal.instruction
        return self._observation(), info

    def _prefix(self) -> str:
        instruction = self.wish.instruction.strip()
        return _PREFIX.format(instruction=instruction, max_turns=self.max_turns)

    def step(self, action: Action) -> Step:
        name, argument = self._read(action)
        self.turn_count += 1
        is_valid = self._act(name, argument)
        if is_valid:
            self._page = None
        if is_valid and self.visit.place == "done":
            return self._buy(f"{name}[{argument}]")
        terminated = self._has_too_many_errors(is_valid)
        truncated = not terminated and self.turn_count >= self.max_turns
        problem = "" if is_valid else _problem(name, argument)
        info = self._info(problem, is_over=terminated or truncated)
        if name:
            info["parsed_action"] = f"{name}[{argument}]" if argument else name
        if not is_valid:
            info["format_error"] = True
        if terminated or truncated:
            limit = (
                f"{self.max_turns} turns" if truncated else f"{self.error_count} invalid actions"
            )
            info["grading"] = self._grading(None, 0.0, f"no purchase: {limit}")
        reward = 0.0 if is_valid else self.format_error_reward
        return Step(self._observation(), reward, terminated, truncated, info)

    def _has_too_many_errors(self, is_valid: bool) -> bool:  # noqa: FBT001 - the last action
        self.error_count += not is_valid
        return self.error_count > self.error_tolerance

    def said(self, action: str) -> str:
        """Return the text in which an action is looked for: that without thoughts."""
        return spoken(action)

    def _read(self, action: Action) -> tuple[str, str]:
        """Return the name and the argument of an action; both empty without a box."""
        if not isinstance(action, str):
            raise InvalidActionError(
                f"An action of WebshopEnv is text; got {type(action).__name__}."
            )
        content = _last_box(self.said(action))
        match = _ACTION.match(content)
        return (match[1], match[2].lower()) if match else (content, "")

    def _act(self, name: str, argument: str) -> bool:
        """Take an action; return whether it is valid."""
        if name == "search" and argument:
            self.visit.show_results(" ".join(argument.split()), 1)
            return True
        return name == "click" and self._shop.click(self.visit, self.page, argument)

    def _buy(self, parsed: str) -> Step:
        product = self._shop.product(self.visit)
        purchase = grade(product, list(self.visit.options.values()), self.wish, self._nouns_of)
        self.visit.reward = purchase.reward
        info = {
            **self._info(is_over=True),
            "parsed_action": parsed,
            "correct": purchase.reward >= 1.0,
            "rewards": _parts(purchase, self.wish),
            "purchase": self._receipt(product, purchase),
            "grading": self._grading(
                _offer(product.asin, product.title, self.visit.options.values(), product.price),
                purchase.reward,
                _missing(purchase, self.wish) or "all that was wanted",
            ),
        }
        return Step(self._observation(), purchase.reward, True, False, info)

    def _grading(self, bought: str | None, reward: float, reason: str) -> Grading:
        wish = self.wish
        return graded(
            question=wish.instruction,
            expected=_offer(wish.asin, wish.name, wish.options, wish.price_upper),
            extracted=bought,
            score=reward,
            reason=reason,
        )

    def _receipt(self, product: Product, purchase: Purchase) -> dict[str, Any]:
        wish = self.wish
        return {
            **purchase.to_dict(),
            "nouns": self.nouns,
            "asin": product.asin,
            "chosen": dict(self.visit.options),
            "wanted": {
                "asin": wish.asin,
                "attributes": list(wish.attributes),
                "options": list(wish.options),
                "price_upper": wish.price_upper,
            },
        }

    def _observation(self) -> str:
        if self.observation_mode == "url":
            return self.visit.url()
        return RENDERERS[self.observation_mode](self.page)

    def _info(self, problem: str = "", *, is_over: bool = False) -> Info:
        kinds = "".join([str(kind.value) for kind, _ in self.page])
        info: Info = {"page": {"url": self.visit.url(), "kinds": kinds}}
        if not is_over:
            info["suffix"] = self._suffix(problem)
        return info

    def _suffix(self, problem: str) -> str:
        chosen = ", ".join(self.visit.options.values())
        return _SUFFIX.format(
            turn=self.turn_count + 1,
            max_turns=self.max_turns,
            notes=problem + (f" You have chosen: {chosen}." if chosen else ""),
            actions="\n".join(self.actions()),
        )

    def actions(self) -> list[str]:
        """Return the actions on this page; ``search[<your query>]`` stands for every search."""
        if self.visit.place == "search":
            return ["search[<your query>]"]
        return [f"click[{text}]" for text in clickables(self.page)]

    def sample_random_action(self) -> Action:
        """Return a click on this page; on the search page, a search for words of the goal."""
        if self.visit.place == "search":
            words = _WORD.findall(self.wish.instruction.lower()) or ["product"]
            chosen = self.action_rng.sample(words, min(len(words), 3))
            return f"\\boxed{{search[{' '.join(chosen)}]}}"
        return f"\\boxed{{{self.action_rng.choice(self.actions())}}}"


def _check(max_turns: Any, error_tolerance: Any, mode: Any) -> None:
    for name, value, low, high in (
        ("max_turns", max_turns, 1, 10_000),
        ("error_tolerance", error_tolerance, 0, 10_000),
    ):
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(f"{name} must be a whole number from {low} to {high}; got {value!r}.")
    if mode not in MODES:
        raise ConfigError(
            f"observation_mode must be one of {', '.join(MODES)}; got {mode!r}."
            f"{near_names(str(mode), MODES)}"
        )


def _last_box(text: str) -> str:
    """Return the content of the last box that is not empty.

    It ends with the last brace of its line, so a query and an option may contain braces.
    """
    for line in reversed(text.split("\n")):
        end = line.rfind("}")
        start = line.rfind(_BOX, 0, max(end, 0))
        content = line[start + len(_BOX) : end].strip() if start >= 0 else ""
        if content:
            return content
    return ""


def _problem(name: str, argument: str) -> str:
    if not name:
        return " Your last reply had no action inside \\boxed{}."
    shown = f"{name}[{argument}]" if argument else name
    return f" Your last action, {shown:.80}, is not possible on this page."


def _offer(asin: str, title: str, options: Iterable[str], price: float) -> str:
    """Return a product in words, with its price or the highest one; not positive for any."""
    parts = [title or "a product", *options, *([f"${price:.2f}"] if price > 0 else [])]
    return f"{', '.join(parts)} ({asin})"


def _missing(purchase: Purchase, goal: Goal) -> str:
    """Return what a purchase lacks; empty if it is all that was wanted."""
    parts = [] if purchase.type >= 1 else [f"the kind of product counts {purchase.type:g}"]
    for name, hits, wanted in (
        ("attributes", purchase.attributes, goal.attributes),
        ("options", purchase.options, goal.options),
    ):
        if hits < len(wanted):
            parts.append(f"{hits} of {len(wanted)} {name} ({', '.join(wanted)})")
    if not purchase.price:
        parts.append(f"the price is above ${goal.price_upper:.2f}")
    return "; ".join(parts)


def _parts(purchase: Purchase, goal: Goal) -> dict[str, float]:
    """Return the parts of the reward, each 0 to 1; options only where some are wanted."""
    parts = {
        "type": purchase.type,
        "attributes": purchase.attributes / len(goal.attributes),
        "price": float(purchase.price),
    }
    if goal.options:
        parts["options"] = purchase.options / len(goal.options)
    return parts
