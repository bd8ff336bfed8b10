"""Scripted customers: the oracle, and one that buys the first product that it finds."""

import re
from typing import Any

from gem_core import Action, Env, Info, Observation
from gem_core.agent import BaseAgent
from gem_web.pages import PER_PAGE
from gem_web.product import Goal, Product
from gem_web.reward import option_hits

__all__ = ["FirstHitAgent", "WebshopOracle"]

_NOT_WORDS = re.compile(r"[\[\]{}\s]+")


class WebshopOracle(BaseAgent):
    """An agent that knows the product in the customer's mind.

    It searches for the title, opens the product, chooses the wanted options and buys.
    """

    def reset(self, env: Env) -> None:
        """Take the environment, whose goal it reads."""
        self._env: Any = env.unwrapped

    def act(self, observation: Observation, info: Info) -> Action:
        """Return the next action for the page that the environment is at."""
        visit, goal = self._env.visit, self._env.wish
        product = self._env.catalogue.product(goal.asin)
        if visit.place == "results":
            return _boxed(self._from_results(goal))
        if visit.place == "item" and visit.asin == goal.asin:
            return _boxed(f"click[{_next_option(product, goal, visit.options) or 'buy now'}]")
        if visit.place == "sub":
            return _boxed("click[< prev]")
        return _boxed(f"search[{_query(product.title)}]")

    def _from_results(self, goal: Goal) -> str:
        visit, catalogue = self._env.visit, self._env.catalogue
        hits = catalogue.search(visit.query)
        number = catalogue.number_of(goal.asin)
        if number not in hits:
            return f"search[{_query(catalogue.products[number].title)}]"
        page = hits.index(number) // PER_PAGE + 1
        if page == visit.number:
            return f"click[{goal.asin.lower()}]"
        return "click[next >]" if page > visit.number else "click[< prev]"


class FirstHitAgent(BaseAgent):
    """An agent that searches for the customer's words and buys the first product, as it is."""

    def reset(self, env: Env) -> None:
        """Take the environment, whose instruction it reads."""
        self._env: Any = env.unwrapped

    def act(self, observation: Observation, info: Info) -> Action:
        """Return the next action for the page that the environment is at."""
        env = self._env
        if env.visit.place == "results":
            hits = env.catalogue.search(env.visit.query)
            first = env.catalogue.products[hits[0]].asin if hits else "back to search"
            return _boxed(f"click[{first.lower()}]")
        if env.visit.place == "item":
            return _boxed("click[buy now]")
        return _boxed(f"search[{_query(env.wish.instruction)}]")


def _next_option(product: Product, goal: Goal, chosen: dict[str, str]) -> str | None:
    """Return a value to choose next; None if all wanted ones are chosen, or none is left."""
    for wanted in goal.options:
        if option_hits(list(chosen.values()), [wanted]):
            continue
        for name, values in product.options.items():
            fitting = [value for value in values if option_hits([value], [wanted])]
            if fitting and name not in chosen:
                return wanted if wanted in fitting else fitting[0]
    return None


def _query(text: str) -> str:
    return _NOT_WORDS.sub(" ", text).strip()


def _boxed(action: str) -> Action:
    return f"\\boxed{{{action}}}"
