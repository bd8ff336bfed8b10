"""WebShop of gem-web, with the constructor, resets and flags of gem-llm."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from gem.core import Env
from gem.envs.game_env.limits import number
from gem.envs.webshop.default_data import default_catalogue
from gem.requirements import needs
from gem.utils.seeds import any_seed
from gem_core.errors import ConfigError

with needs("gem-web"):
    from gem_web import env as shop
    from gem_web.catalogue import Catalogue
    from gem_web.env import ObservationMode
    from gem_web.nouns import NounFinder

__all__ = ["WebshopEnv"]

Session = int | str


class WebshopEnv(shop.WebshopEnv, Env):
    """WebShop with the interface of gem-llm; both flags are true at the turn limit.

    Args:
        observation_mode: ``text``, ``text_rich``, ``html`` or ``url``.
        split: ``train``, ``test``, or another split of the catalogue.
        max_turns: The number of turns.
        show_attrs: Whether products have a page with their attributes.
        session: The session of each ``reset`` that names none.
        session_prefix: A text before the name of each session.
        error_tolerance: The number of invalid actions that do not end the episode.
        format_error_reward: The reward of an invalid action.
        data: A folder of ``gem-core webshop index``, or ``sample``. None for the catalogue in
            ``.cache/webshop/catalogue``, relative to the working directory.
        nouns: The noun finder that compares titles, ``words`` or ``spacy``.
        others: ``seed`` seeds the first episode and all that follow it; any other causes a warning.

    Raises:
        ConfigError: A value is not valid, or there is no catalogue; it is a ValueError.
        DataError: The catalogue cannot be read.
    """

    shared: ClassVar[tuple[str, ...]] = ("data",)

    def __init__(
        self,
        observation_mode: ObservationMode = "text",
        split: str = "train",
        max_turns: int = 15,
        show_attrs: bool = False,
        session: Session | None = None,
        session_prefix: str | None = None,
        error_tolerance: int = 0,
        format_error_reward: float = 0,
        *,
        data: str | Path | Catalogue | None = None,
        nouns: NounFinder = "words",
        **others: Any,
    ) -> None:
        self.data = default_catalogue() if data is None else data
        super().__init__(
            data=self.data,
            split=split,
            observation_mode=observation_mode,
            show_attrs=show_attrs,
            format_error_reward=format_error_reward,
            nouns=nouns,
        )
        self.max_turns = number("max_turns", max_turns)
        self.error_tolerance = number("error_tolerance", error_tolerance)
        self.split, self.show_attrs = split, show_attrs
        self.session_prefix = session_prefix
        self._own_session = session
        self._goal_of_session: dict[str, int] = {}
        seed = any_seed(others.pop("seed", None))
        if others:
            warnings.warn(f"WebshopEnv takes no {', '.join(others)}: it is ignored.", stacklevel=2)
        if seed is not None:
            self.seed(seed)
        self.reset()

    def said(self, action: str) -> str:
        """Return all of a reply: an action in a thought counts, as in gem-llm."""
        return action

    def reset(  # type: ignore[override]  # gem-llm's order
        self,
        seed: int | None = None,
        session: Session | None = None,
        instruction_text: str | None = None,
        *,
        idx: int | None = None,
    ) -> Any:
        """Start an episode; the same seed starts the same one.

        Args:
            seed: Any number, or None to continue.
            session: The number of a goal, or the name of a session, which keeps the goal of its
                first episode; None for a new session, with a goal drawn by the weights.
            instruction_text: What the customer says instead of the goal's text; the goal that
                decides the reward stays.
            idx: The number of the goal, whatever the session is.

        Raises:
            ConfigError: There is no such goal.
        """
        session = self._own_session if session is None else session
        return super().reset(
            seed=any_seed(seed), idx=idx, session=session, instruction_text=instruction_text
        )

    def start(
        self,
        *,
        idx: int | None = None,
        session: Session | None = None,
        instruction_text: str | None = None,
    ) -> tuple[str, Any]:
        """Start with the goal of a session; see ``reset``."""
        name = None if session is None else f"{self.session_prefix or ''}{session}"
        if idx is None and _is_number(session):
            idx = self._checked(session)
        elif idx is None and name is not None:
            idx = self._goal_of_session.get(name)
        observation, info = super().start(idx=idx)
        if name is not None and not _is_number(session):
            self._goal_of_session.setdefault(name, info["idx"])
        self.session = name or f"{self.session_prefix or ''}{self.rng.getrandbits(40):010x}"
        if instruction_text is None:
            return observation, info
        return self._say(instruction_text, info)

    def _checked(self, session: Any) -> int:
        count = len(self._goals.tasks)
        if not 0 <= session < count:
            raise ConfigError(
                f"A session that is a number is that of a goal, from 0 to {count - 1}; got "
                f"{session!r}."
            )
        return int(session)

    def _say(self, instruction: str, info: dict[str, Any]) -> tuple[str, Any]:
        """Replace what the customer says in this episode."""
        self.goal = replace(self.wish, instruction=instruction)
        self._page = None
        return self._observation(), {**info, "prefix": self._prefix()}

    def step(self, action: Any) -> Any:
        """Take one action; after the end, with a warning."""
        if self._ended and not self.__dict__.get("_has_warned"):
            self._has_warned = True
            warnings.warn(
                "WebshopEnv.step: the episode has ended. The shop stays open; call reset() to "
                "start another one.",
                stacklevel=2,
            )
        self._ended = False
        step = _step(self, action)
        info = {"parsed_action": "None", "suffix": "", **step.info, "prefix": self._prefix()}
        if self.turn_count < self.max_turns:
            return step._replace(info=info)
        return step._replace(terminated=True, truncated=True, info=info)

    step.is_guarded = True  # type: ignore[attr-defined]  # it may set both flags

    def spawn(self, same_state: bool = False, *, seed: int | None = None) -> Self:  # type: ignore[override]
        """Return a new environment with the same parameters, and the same state if asked for."""
        twin = super().spawn(seed=any_seed(seed), same_state=same_state)
        if not same_state:
            twin._goal_of_session = {}  # noqa: SLF001 - its own class
            twin.reset()
        return twin

    def get_state(self) -> dict[str, Any]:
        """Return a copy of all attributes that make up the state."""
        return copy.deepcopy(super().get_state())

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``."""
        super().set_state(copy.deepcopy(state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.fork()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.get_state(), "data": self.data}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the catalogue again: it is not pickled."""
        self.data = state.pop("data")
        options = {name: state[name] for name in ("split", "show_attrs", "nouns")}
        shop.WebshopEnv.__init__(self, data=self.data, **options)
        self.set_state(state)


def _is_number(session: Any) -> bool:
    return hasattr(session, "__index__") and not isinstance(session, bool)


_step: Callable[[Any, Any], Any] = shop.WebshopEnv.step
