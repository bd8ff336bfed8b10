"""Makes a game of gem-llm from one of gem-games: its constructor, resets and flags.

Code for gem-llm overrides methods of the games, sets their attributes, and steps on after the end.
So a game here reads its state anew before each step (``sync``), calls the methods that gem-llm's
step calls (``hooks``), and has no guard against a step after the end.
"""

import copy
import functools
import re
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

from gem.core import Env
from gem.envs.game_env.limits import fitted, number
from gem.games import Interface
from gem.requirements import needs
from gem.utils.seeds import any_seed
from gem_core.errors import ConfigError

with needs("gem-games"):
    from gem_games.base import Game, Outcome

__all__ = ["GameAdapter"]

_BOARD = re.compile(r"[^\n]*:\n(.*?\n)\n?(?=Clues:|Found: |Your next )", re.DOTALL)
"""The board in the text that follows the history."""
_WON = "You win!"


class GameAdapter(Game, Env):
    """First base of the games: playable once constructed, both flags true at the turn limit.

    Args:
        others: Further arguments that the constructor was given. ``seed`` seeds the first episode
            and all that follow it; any other causes a warning.
        parameters: The game's parameters, with gem-llm's names.
    """

    interface: ClassVar[Interface]
    original: ClassVar[type]
    """The class of the game itself, from which other people's classes derive."""
    free: ClassVar[dict[str, str]] = {"max_turns": "{} turns"}
    """Parameters that may be any int, with their place in the rules."""
    board_hooks: ClassVar[tuple[str, ...]] = ("_render_board",)
    """Names of the methods that return the board."""
    solved: ClassVar[str] = ""
    """Name of the method that decides whether the game is won, if there is one."""
    solved_reward: ClassVar[float | None] = None
    """Reward of the move that wins; None if it depends on the move."""

    _is_in_sync = False
    """Whether a step runs in which nothing is overridden, so that derived values are right."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        _unguard(cls)
        super().__init_subclass__(**kwargs)

    def __init__(self, others: dict[str, Any], parameters: dict[str, Any]) -> None:
        self._configure(parameters)
        seed = any_seed(others.pop("seed", None))
        if others:
            warnings.warn(
                f"{type(self).__name__} takes no {', '.join(others)}: it is ignored.",
                stacklevel=3,
            )
        if seed is not None:
            self.seed(seed)
        self.reset()

    def _configure(self, given: dict[str, Any]) -> None:
        """Set the parameters of this and the following episodes."""
        base: Any = super()
        names = {key: self.interface.renamed.get(key, key) for key in given}
        free = {key: number(key, given[key]) for key in self.free if key in given}
        order = sorted(names, key=lambda key: key != self.interface.first)
        wanted = {theirs: given[key] for key in order if (theirs := names[key])}
        accepts = functools.partial(_accepts, base.__init__)
        ours = {theirs: key for key, theirs in names.items() if theirs}
        fit = fitted(accepts, {k: value for k, value in wanted.items() if k not in free}, ours)
        for key, value in free.items():
            if accepts(**{**fit, key: value}):
                fit[key] = value
            else:
                fit[key] = None  # any number, once the level has been made
        base.__init__(**fit)
        self._given = given
        self._exact = {key: value for key, value in free.items() if value is not None}
        self.__dict__.update({key: given[key] for key, theirs in names.items() if theirs})
        self._note_drawn()

    def _note_drawn(self) -> None:
        """Remember the parameters as attributes, to notice those that are set later."""
        own = self.__dict__
        self._drawn = {key: own[key] for key in self._given if key in own}

    def _take_over_assigned(self) -> None:
        """Play with parameters that were set as attributes since the last reset."""
        own = self.__dict__
        if "_given" not in own:  # a subclass that does not call this constructor
            given = dict(self.interface.parameters)
            self._configure({key: own.get(key, value) for key, value in given.items()})
            return
        drawn = self._drawn.items()
        assigned = {key: own[key] for key, value in drawn if key in own and own[key] != value}
        if assigned:
            self._configure({**self._given, **assigned})

    def reset(self, seed: int | None = None, **options: Any) -> Any:  # gem-llm's order
        """Start an episode; the same seed starts the same one."""
        self._take_over_assigned()
        first = super().reset(seed=any_seed(seed), **options)
        self._note_drawn()
        return first

    def opening(self, rules: str) -> Any:
        """Return the first observation and info; see ``gem_games.base.Game``."""
        for key, value in self._exact.items():
            phrase = self.free[key]
            rules = rules.replace(phrase.format(getattr(self, key)), phrase.format(value))
            setattr(self, key, value)
        self._rules_text = rules
        if self.is_overridden("_generate_board"):
            generate: Callable[[], Any] = getattr(self, "_generate_board")  # noqa: B009 - not in all
            self.place(generate())
        _, info = super().opening(rules)
        return self._get_instructions(), info

    def step(self, action: Any) -> Any:
        """Take one action; after the end, with a warning."""
        if self._ended and not self.__dict__.get("_has_warned"):
            self._has_warned = True
            warnings.warn(
                f"{type(self).__name__}.step: the episode has ended. The game goes on, as in "
                f"gem-llm; call reset() to start another one.",
                stacklevel=3,
            )
        self._ended = False
        self.sync()
        self._is_in_sync = self._is_plain()
        try:
            step = super().step(action)
        finally:
            self._is_in_sync = False
        if step.truncated:
            return step._replace(terminated=True)
        if step.terminated and "format_error" in step.info:
            return step._replace(truncated=self.turn_count == self.max_turns)
        return step

    step.is_guarded = True  # type: ignore[attr-defined]  # see _unguard

    # Hooks: the methods of gem-llm's games that subclasses override.

    def is_overridden(self, hook: str) -> bool:
        """Return whether a subclass, or this object, has its own method of this name."""
        if self._is_in_sync:
            return False
        own = getattr(self, hook, None)
        return getattr(own, "__func__", own) is not getattr(self.original, hook, None)

    def _is_plain(self) -> bool:
        """Return whether only methods of the game itself can run in a step."""
        return type(self) is self.original and not any(map(callable, self.__dict__.values()))

    def sync(self) -> None:
        """Compute the values that the game derives from its attributes, which may have been set."""

    def _sync_if_needed(self) -> None:
        if not self._is_in_sync:
            self.sync()

    def played(self, match: Any) -> Outcome:
        """Return the game's own outcome of a well-formed action."""
        game: Any = super()
        outcome: Outcome = game.play(match)
        return outcome

    def drawn(self) -> str:
        """Return the game's own text that follows the history."""
        game: Any = super()
        return str(game.render())

    def place(self, board: Any) -> None:
        """Start with the result of an overridden ``_generate_board``."""
        self.__dict__["board"] = board

    def said(self, action: str) -> str:
        """Return all of a reply: an action in a thought counts, as in gem-llm."""
        return action

    def reread(self, text: str) -> None:
        """Return nothing: a box with formatting is malformed, as in gem-llm."""

    def read(self, action: Any) -> Any:
        """Return the parts of an action; see ``gem_games.base.Game.read``."""
        if not self.is_overridden("_parse_action"):
            return super().read(action)
        parsed = self._parse_action(action)
        parts = parsed if isinstance(parsed, tuple | list) else (parsed,)
        return None if None in parts else _Parts(parts)

    def _parse_action(self, action: Any) -> Any:
        """Return the parts of an action in lower case and as numbers; None if malformed."""
        match = super().read(action)
        if match is None:
            return None
        parts = tuple([int(part) if part.isdigit() else part.lower() for part in match.groups()])
        return parts[0] if len(parts) == 1 else parts

    def play(self, match: Any) -> Outcome:
        """Process one well-formed action; see ``gem_games.base.Game.play``."""
        text, reward, done = self.played(match)
        won = done and text.endswith(_WON)
        if self.solved and won is done and self.is_overridden(self.solved):
            done = bool(getattr(self, self.solved)())
            if self.solved_reward is not None and done is not won:
                reward = self.solved_reward if done else 0.0
            text = text.removesuffix(f" {_WON}") + (f" {_WON}" if done else "")
            won = done
        return (f"Congratulations! {text}" if won else text), reward, done

    def _get_instructions(self) -> str:
        """Return the rules of this episode, which are its first observation."""
        return self._rules_text

    def get_task_suffix(self) -> str:
        """Return the text that follows the history: the board, and a prompt for an action."""
        self._sync_if_needed()
        text = self.drawn()
        if not any(map(self.is_overridden, self.board_hooks)):
            return text
        match = _BOARD.match(text)
        if match is None:
            return text
        board = self._render_board().rstrip("\n") + "\n"
        return text[: match.start(1)] + board + text[match.end(1) :]

    def render(self) -> str:
        """Return the text that follows the history."""
        return self.get_task_suffix()

    def _render_board(self, *_: Any, **__: Any) -> str:
        """Return the board alone; empty in games without one."""
        self._sync_if_needed()
        match = _BOARD.match(self.drawn())
        return match[1] if match else ""

    def sample_random_action(self) -> Any:
        """Return a well-formed action."""
        self.sync()
        return super().sample_random_action()

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


class _Parts:
    """The result of an overridden ``_parse_action``, with the interface of a match."""

    def __init__(self, parts: Any) -> None:
        self._parts = tuple([str(part) for part in parts])

    def __getitem__(self, index: int) -> str:
        return self._parts[index - 1]

    def groups(self) -> tuple[str, ...]:
        return self._parts


def _accepts(constructor: Callable[..., None], **parameters: Any) -> bool:
    try:
        constructor(**parameters)
    except ConfigError:
        return False
    return True


def _unguard(cls: type) -> None:
    """Mark a class's step as guarded, so that it may set both flags.

    The steps of gem-games, which it calls, do have the guard.
    """
    step = cls.__dict__.get("step")
    if step is not None:
        step.is_guarded = True
