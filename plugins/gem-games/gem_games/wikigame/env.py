"""WikiGame: reach a page of an encyclopedia by following links."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from gem_core import Action, BaseEnv, Info, Observation, Step
from gem_core.errors import ConfigError, InvalidActionError
from gem_core.info import Grading, graded
from gem_games.base import check_range
from gem_games.wikigame.graph import Graph
from gem_games.wikigame.human_view import HumanView
from gem_games.wikigame.pages import BACK, MORE, Page, check_length, last_box, summary
from gem_games.wikigame.rewards import WikiGameReward as Reward
from gem_games.wikigame.sources import one_of, open_source
from gem_games.wikigame.variants import VARIANTS, Steps, Variant

__all__ = ["WikiGameEnv"]

_EXAMPLE = "Python (programming language)"


class _Outcome(NamedTuple):
    """The result of an action: feedback, reward, whether the game is over, and turns it used."""

    text: str
    reward: float
    done: bool = False
    turns: int = 1
    flags: Mapping[str, bool] = {}


class WikiGameEnv(BaseEnv):
    """Reach a page of an encyclopedia by following links.

    The target is worth 1.0. Every other valid move costs 0.05, or 0.0 on the last turn. A box that
    names no link costs 0.2, and so does a reply without a box; the game goes on. In the variants
    with steps back, a page without links returns to the previous page, for 0.1 and two turns; in
    the others it ends the game with a reward of 0.0.

    Args:
        max_turns: The number of turns, 1 to 1,000.
        variant: What may be followed besides the links of the page. ``noregrets``: nothing.
            ``eidetic``: every link seen in the episode. ``oneback``: ``<PREV_PAGE>``, but never
            twice in a row. ``freenav``: ``<PREV_PAGE>`` at any time.
        graph: The pages. ``world``: an invented encyclopedia; ``wordnet``: concepts and their
            definitions; ``folder``: Wikispeedia's files; ``zim``: a ZIM file; ``kiwix``: a server
            of kiwix; ``mw``: a MediaWiki, such as Wikipedia, through its API.
        data: The folder, the ZIM file, or the URL of the server.
        graph_options: Options of the graph, such as ``{"pages": 300}`` for ``world``.
        min_distance: The fewest links between start and target, at least 1.
        max_distance: The most links between start and target. On ``zim``, ``kiwix`` and ``mw``,
            the target is found by a walk of ``min_distance`` to ``max_distance`` links.
        summary_length: The part of a page's text that is shown: a number, and ``characters``,
            ``words`` or ``sentences``.
        links_per_page: The number of links that are shown, 1 to 100,000; ``<MORE_LINKS>`` shows the
            following ones, which costs a move. Links that are not shown may be followed, too.

    Raises:
        ConfigError: A parameter is out of range, or the graph cannot be opened.
    """

    shared: ClassVar[tuple[str, ...]] = ("graph", "_source", "_steps")
    board_styles: ClassVar[Mapping[str, str]] = {
        r"(?m)^Current page: .+$": "bold cyan",
        r"(?m)^Target page: .+?(?=   |$)": "bold green",
        r"(?m)^\\boxed\{.*\}$": "blue",
        r"(?m)^Your next link|\[\d+\] ": "dim",
    }
    graph: Graph
    """The graph of this episode."""
    page: Page
    """The current page."""
    target: Page
    """The page to reach."""
    memory: Variant
    """The variant's memory of this episode."""
    first_link: int
    """The position of the first link that is shown."""
    _steps: Steps

    def __init__(
        self,
        *,
        max_turns: int = 10,
        variant: str = "noregrets",
        graph: str = "world",
        data: str | None = None,
        graph_options: Mapping[str, Any] | None = None,
        min_distance: int = 2,
        max_distance: int = 4,
        summary_length: tuple[int, str] = (3, "sentences"),
        links_per_page: int = 100,
    ) -> None:
        check_range("max_turns", max_turns, 1, 1000)
        check_range("min_distance", min_distance, 1, 1000)
        check_range("max_distance", max_distance, min_distance, 1000)
        check_range("links_per_page", links_per_page, 1, 100_000)
        self.max_turns = max_turns
        self.variant = one_of("variant", variant, VARIANTS)
        self.summary_length = check_length(summary_length)
        self.links_per_page = links_per_page
        self._distances = min_distance, max_distance
        self._source = open_source(graph, data, graph_options or {})
        self.blocking = self._source.blocking

    def start(
        self, *, start: str | None = None, target: str | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode; ``reset`` passes its options on.

        Args:
            start: The key of the first page; None draws one, and a target.
            target: The key of the target; needed with ``start``.
        """
        number = self._source.choose(self.rng)
        graph = self._source.graph(number)
        if start is None or target is None:
            if start is not target:
                raise ConfigError("reset needs start= and target= together, or neither.")
            first, last = graph.draw(self.rng, *self._distances)
        else:
            first, last = graph.page(start), graph.page(target)
        self._number, self.first_link = number, 0
        self.page, self.target, self.turn_count = first, last, 0
        self.memory = VARIANTS[self.variant](first)
        self._bind()
        return self._rules(), self._info()

    def _bind(self) -> None:
        """Find the graph of the episode, and what it knows of the pages and distances."""
        self.graph = self._source.graph(self._number)
        self.page, self.target = self.graph.known(self.page), self.graph.known(self.target)
        self._steps = self.graph.steps(self.target)

    def set_state(self, state: dict[str, Any]) -> None:
        """Replace the state by one from ``get_state``."""
        super().set_state(state)
        if "page" in self.__dict__:
            self._bind()

    def _rules(self) -> str:
        return f"""\
You are playing WikiGame.
From a page of an encyclopedia, reach the target page by following links. You have \
{self.max_turns} turns.
Write the title of the link that you follow inside \\boxed{{}}, exactly as it is listed, for \
example \\boxed{{{_EXAMPLE}}}. You may reason before the box; if there are several boxes, the last \
one counts. A reply without a box, and a title that is not listed, cost a turn.
{VARIANTS[self.variant].rule}
Start page: {self.page.title}
Target page: {self.target.title}
About the target: {self._summary(self.target)}
Compare the links with what you know about the target, and choose the one that leads closest to it.
The history of your moves will follow here, and below it the current page."""

    def _summary(self, page: Page) -> str:
        text = page.views.get(self.summary_length)
        if text is None:
            text = summary(page.text, self.summary_length) or "(no text)"
            page.views[self.summary_length] = text
        return text

    def _info(self) -> Info:
        distance = self.memory.distance(self.page, self._steps)
        return {"suffix": self.render(), "distance": distance}

    @property
    def human_view(self) -> HumanView:
        """The translation for a person who plays; ``gem-core play`` uses it."""
        return HumanView(self)

    @property
    def page_summary(self) -> str:
        """The part of the current page's text that is shown."""
        return self._summary(self.page)

    def render(self) -> str:
        """Return the text that follows the history: the page, its links, and a prompt."""
        page = self.page
        links = self.memory.links(page)
        if links is page.links:
            view = self.summary_length, self.links_per_page, self.first_link
            shown = page.views.get(view)
            if shown is None:
                shown = page.views[view] = self._shown(list(links))
        else:
            shown = self._shown(self.labels())
        return f"Current page: {page.title}\nTarget page: {self.target.title}\n{shown}"

    def labels(self) -> list[str]:
        """Return the labels that may be followed, those of the current page first."""
        own = self.page.links
        return [*own, *(label for label in self.memory.links(self.page) if label not in own)]

    def _shown(self, labels: list[str]) -> str:
        end = self.first_link + self.links_per_page
        lines = "\n".join([f"\\boxed{{{label}}}" for label in labels[self.first_link : end]])
        part = ""
        if len(labels) > self.links_per_page:
            last = min(end, len(labels))
            part = (
                f"These are links {self.first_link + 1} to {last} of {len(labels)}. "
                f"\\boxed{{{MORE}}} shows the next ones.\n"
            )
        return f"{self._summary(self.page)}\n\nLinks:\n{lines or '(none)'}\n\n{part}Your next link:"

    def step(self, action: Action) -> Step:
        try:
            box = last_box(action)
        except (AttributeError, TypeError):
            got = type(action).__name__
            raise InvalidActionError(f"An action of WikiGameEnv is text; got {got}.") from None
        outcome = _COMMANDS.get(box, WikiGameEnv._follow)(self, box) if box else self._malformed()
        text, reward, done, turns, flags = outcome
        self.turn_count += turns
        info = self._info()
        if flags:
            info.update(flags)
        if done:
            info["correct"] = self.page.key == self.target.key
            info["grading"] = self._grading(text)
            return Step(text, reward, True, False, info)
        if self.turn_count < self.max_turns:
            return Step(text, reward, False, False, info)
        info["correct"] = False
        info["grading"] = self._grading(f"{self.max_turns} turns are over. {text}")
        text = (
            f"The limit of {self.max_turns} turns is reached. The game is over. "
            f"The target was {self.target.title}."
        )
        return Step(text, Reward.fail_reward if not flags else reward, False, True, info)

    def _grading(self, reason: str) -> Grading:
        return graded(
            question=f"Reach {self.target.title!r} by following links.",
            expected=self.target.title,
            extracted=self.page.title,
            score=self.page.key == self.target.key,
            reason=reason,
        )

    def _malformed(self) -> _Outcome:
        text = (
            f"Turn {self.turn_count + 1}: no box was found. Write the title of a link as "
            f"\\boxed{{title}}. You are still on {self.page.title}."
        )
        return _Outcome(text, Reward.format_error_reward, flags={"format_error": True})

    def _invalid(self, why: str) -> _Outcome:
        text = f"Turn {self.turn_count + 1}: {why} You are still on {self.page.title}."
        return _Outcome(text, Reward.invalid_action_reward, flags={"invalid_action": True})

    def _follow(self, label: str) -> _Outcome:
        links = self.memory.links(self.page)
        key = links.get(label) or links.get(label.replace("_", " "))
        if key is None:
            return self._invalid(f"{label[:200]!r} is not one of the links.{self._near(label)}")
        origin, page, turn = self.page, self.graph.page(key), self.turn_count + 1
        self.memory.moved(origin, page)
        self.first_link = 0
        if page.key == self.target.key:
            self.page = page
            text = f"Turn {turn}: you are on {page.title}, the target page. You win!"
            return _Outcome(text, Reward.success_reward, done=True)
        if self.memory.links(page):
            self.page = page
            text = f"Turn {turn}: you are now on {page.title}. {self._summary(page)}"
            return _Outcome(text, Reward.internal_step_reward)
        return self._dead_end(page)

    def _near(self, label: str) -> str:
        wanted = label.lower()
        for other in self.labels():
            if wanted in other.lower():
                return f" Did you mean \\boxed{{{other}}}?"
        return ""

    def _dead_end(self, page: Page) -> _Outcome:
        """Return to the page that the episode is still on, or end it."""
        text = f"Turn {self.turn_count + 1}: {page.title} has no links."
        if not self.memory.goes_back:
            self.page = page
            return _Outcome(f"{text} The game is over.", Reward.fail_reward, done=True)
        self.memory.went_back()
        text = f"{text} {self._summary(page)} You are back on {self.page.title}."
        return _Outcome(text, 2 * Reward.internal_step_reward, turns=2)

    def _go_back(self, _: str) -> _Outcome:
        key = self.memory.back()
        if key is None:
            return self._invalid("you cannot go back now.")
        self.page = self.graph.page(key)
        self.memory.went_back()
        self.first_link = 0
        text = f"Turn {self.turn_count + 1}: you are back on {self.page.title}."
        return _Outcome(text, Reward.internal_step_reward)

    def _show_more(self, _: str) -> _Outcome:
        size = len(self.memory.links(self.page))
        if size <= self.links_per_page:
            return self._invalid("all links are shown.")
        self.first_link += self.links_per_page
        if self.first_link >= size:
            self.first_link = 0
        text = f"Turn {self.turn_count + 1}: you read on in the links of {self.page.title}."
        return _Outcome(text, Reward.internal_step_reward)

    def sample_random_action(self) -> Action:
        """Return a link, chosen with ``self.action_rng``."""
        labels = list(self.memory.links(self.page)) or [BACK]
        return f"\\boxed{{{labels[int(self.action_rng.random() * len(labels))]}}}"


_COMMANDS: Mapping[str, Callable[[WikiGameEnv, str], _Outcome]] = {
    BACK: WikiGameEnv._go_back,  # noqa: SLF001 - the table of its own commands
    MORE: WikiGameEnv._show_more,  # noqa: SLF001
}
