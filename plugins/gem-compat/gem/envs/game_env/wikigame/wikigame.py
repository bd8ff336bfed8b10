"""WikiGame of gem-games, with the constructor, resets and flags of gem-llm."""

import copy
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Self

from gem.core import Env
from gem.envs.game_env.wikigame.backend import TRAWLERS, wikipedia_page
from gem.envs.game_env.wikigame.wikipage import WikipediaPage
from gem.requirements import needs
from gem.utils.seeds import any_seed
from gem_core.errors import ConfigError

with needs("gem-games"):
    from gem_games.wikigame import env as game
    from gem_games.wikigame.pages import BACK, MORE, UNITS, Page, last_box
    from gem_games.wikigame.sources import GRAPHS, one_of
    from gem_games.wikigame.variants import OneBack, Variant

__all__ = ["WikiGameEnv"]


class _UnitError(ConfigError, AssertionError):
    """The unit of a length is unknown."""


class WikiGameEnv(game.WikiGameEnv, Env):
    """WikiGame with the interface of gem-llm; both flags are true at the turn limit.

    Args:
        max_turns: The number of turns.
        backend: ``mw`` or ``kiwix``, which load pages from a server, or another graph of gem-games.
            The default of gem-llm is ``mw``, the live Wikipedia.
        trawler_kwargs: Arguments of the trawler: see ``backend``. For other graphs, their options
            and ``data``.
        page_summary_length: A number, and ``characters``, ``words`` or ``sentences``.
        variant: ``noregrets``, ``eidetic``, ``oneback`` or ``freenav``.
        others: ``seed`` seeds the first episode and all that follow it; any other causes a warning.

    Raises:
        ConfigError: The backend or the variant is unknown; it is a ValueError. The unit of the
            length is unknown; it is an AssertionError, too.
    """

    def __init__(
        self,
        max_turns: int = 10,
        backend: str = "world",
        trawler_kwargs: Mapping[str, Any] | None = None,
        page_summary_length: tuple[int, str] = (100, "characters"),
        variant: str = "noregrets",
        **others: Any,
    ) -> None:
        number, unit = page_summary_length
        if unit not in UNITS:
            raise _UnitError(f"The unit must be one of {', '.join(UNITS)}; got {unit!r}.")
        one_of("backend", backend, GRAPHS)
        given = dict(trawler_kwargs or {})
        trawler = TRAWLERS[backend](**given) if backend in TRAWLERS else None
        self.backend = backend
        self._uses_cache = trawler is None or trawler.query_use_cache
        super().__init__(
            max_turns=max_turns,
            variant=variant,
            graph=backend,
            data=given.pop("data", None) if trawler is None else trawler.url,
            graph_options=given if trawler is None else trawler.options,
            summary_length=(number, unit),
        )
        seed = any_seed(others.pop("seed", None))
        if others:
            warnings.warn(f"WikiGameEnv takes no {', '.join(others)}: it is ignored.", stacklevel=2)
        if seed is not None:
            self.seed(seed)
        self.reset()

    def reset(self, seed: int | None = None, **options: Any) -> Any:  # gem-llm's order
        """Start an episode; on graphs that are not live, the same seed starts the same one."""
        if not self._uses_cache:
            self._source.graph(0).forget()
        self._backtracked = False
        return super().reset(seed=any_seed(seed), **options)

    def _reset_fixed_page(self, start: str, target: str, seed: int | None = None) -> Any:
        """Start an episode with given pages."""
        return self.reset(seed, start=start, target=target)

    def step(self, action: Any) -> Any:
        """Take one action; after the end, with a warning."""
        if self._ended and not self.__dict__.get("_has_warned"):
            self._has_warned = True
            warnings.warn(
                "WikiGameEnv.step: the episode has ended. The game goes on, as in gem-llm; call "
                "reset() to start another one.",
                stacklevel=2,
            )
        self._ended = False
        turn = self.turn_count
        step: Any = _step(self, action)
        if "format_error" not in step.info and "invalid_action" not in step.info:
            self._note_direction(last_box(action), self.turn_count - turn)
        return step._replace(terminated=True) if step.truncated else step

    step.is_guarded = True  # type: ignore[attr-defined]  # it may set both flags

    def _note_direction(self, box: str | None, turns: int) -> None:
        """Note whether a move led back; the return from a dead end takes two turns."""
        if box != MORE:
            self._backtracked = box == BACK or turns == 2

    # State, with gem-llm's names.

    @property
    def current_page(self) -> WikipediaPage:
        """The current page. A page, or its ``page_id``, may be assigned."""
        return wikipedia_page(self.page)

    @current_page.setter
    def current_page(self, page: WikipediaPage | Page | str) -> None:
        self.page, self.first_link = self.graph.page(_key_of(page)), 0

    @property
    def target_page(self) -> WikipediaPage:
        """The page to reach. A page, or its ``page_id``, may be assigned."""
        return wikipedia_page(self.target)

    @target_page.setter
    def target_page(self, page: WikipediaPage | Page | str) -> None:
        self.target = self.graph.page(_key_of(page))
        self._bind()

    @property
    def backtracked(self) -> bool:
        """Whether the last move led back, which ``oneback`` allows only once in a row."""
        return self._backtracked

    @backtracked.setter
    def backtracked(self, value: bool) -> None:
        self._backtracked = value
        if value and isinstance(self.memory, OneBack):
            self.memory.went_back()

    @property
    def dynamics(self) -> Variant:
        """The variant's memory of this episode."""
        return self.memory

    def get_task_suffix(self) -> str:
        """Return the text that follows the history."""
        return self.render()

    def spawn(self, same_state: bool = False, *, seed: int | None = None) -> Self:  # type: ignore[override]
        """Return a new game with the same parameters, and with the same state if asked for."""
        twin = super().spawn(seed=any_seed(seed), same_state=same_state)
        if not same_state:
            twin.reset()
        return twin

    def get_state(self) -> dict[str, Any]:
        """Return a copy of all attributes that make up the state."""
        return copy.deepcopy(super().get_state())

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        super().set_state(copy.deepcopy(state))


def _key_of(page: WikipediaPage | Page | str) -> str:
    if isinstance(page, str):
        return page
    return page.page_id if isinstance(page, WikipediaPage) else page.key


_step: Callable[[Any, Any], Any] = game.WikiGameEnv.step
