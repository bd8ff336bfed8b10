"""``gem-core play``: play an environment by hand, in the terminal or over a pipe."""

import sys
from typing import Any

import click
from rich.text import Text

from gem_core.agent import OracleAgent
from gem_core.api import make
from gem_core.console import Terminal
from gem_core.content import images_of
from gem_core.env import Env
from gem_core.errors import ConfigError, GemError
from gem_core.maybe_async import is_awaitable
from gem_core.observation import Info, Observation, text_of, visible_text
from gem_core.optional import human_view
from gem_core.options import complete_envs

__all__ = ["command"]

_BOXED = "Type an action, which is sent in \\boxed{}, or a whole reply that contains \\boxed{...}."
_AS_IT_IS = "Type an action, which is sent as it is."
_HELP = """
  :oracle  let the oracle play the next action    :undo  take an action back
  :random  play a random action                   :quit  leave the episode
  :help    show this again"""


@click.command(
    epilog="\b\nExamples:\n"
    "  gem-core play game:GuessTheNumber-v0-easy\n"
    "  gem-core play game:Sudoku-v0-easy --seed 3\n"
    "  gem-core play ./my_env.py:MyEnv\n"
    "  printf '5\\n7\\n' | gem-core play game:GuessTheNumber-v0-easy --seed 1"
)
@click.argument("env_id", metavar="ID", shell_complete=complete_envs)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the episode.")
@click.option("--raw", is_flag=True, help="Show what agents see; send replies unchanged.")
def command(env_id: str, seed: int | None, *, raw: bool) -> None:
    """Play an environment in the terminal."""
    with make(env_id) as env:
        sys.exit(_Session(env, raw=raw).play(seed))


class _Session:
    """A person who plays an environment."""

    def __init__(self, env: Env, *, raw: bool) -> None:
        self._env = env
        self._raw = raw
        self._console = Terminal()
        self._styles: dict[str, str] = getattr(env, "board_styles", {})
        self._human_view = None if raw else human_view(env)
        self._earlier: list[tuple[bytes, float, Observation, Info]] = []
        self._return = 0.0
        self._help = _AS_IT_IS + _HELP

    def play(self, seed: int | None) -> int:
        """Play one episode; return the exit status."""
        observation, info = self._reset(seed)
        if not self._raw and self._wants_box(observation, info):
            self._help = _BOXED + _HELP
        if sys.stdin.isatty():
            self._console.print(Text(self._help, style="dim"), end="\n\n")
        while True:
            self._show(observation, info)
            while (reply := self._ask()) == ":help":
                self._console.print(Text(self._help, style="dim"))
            if reply is None or reply == ":quit":
                self._console.print(f"You left the episode with a return of {self._return:g}.")
                return 0
            if reply == ":undo":
                observation, info = self._undo(observation, info)
                continue
            try:
                action = self._action(reply, observation, info)
            except GemError as error:
                self._console.print(Text(str(error), style="yellow"))
                continue
            self._earlier.append((self._env.snapshot(), self._return, observation, info))
            observation, reward, terminated, truncated, info = self._env.step(action)
            self._return += reward
            if reward:
                self._console.print(
                    Text(f"reward {reward:+g}", style="green" if reward > 0 else "red")
                )
            if terminated or truncated:
                self._show(observation, info)
                end = "The episode has ended" if terminated else "The episode was truncated"
                self._console.print(f"{end}. Return: {self._return:g}")
                return 0

    def _reset(self, seed: int | None) -> tuple[Observation, Info]:
        first: Any = self._env.reset(seed=seed)
        if is_awaitable(first):
            first.close()  # type: ignore[attr-defined]
            raise ConfigError("Asynchronous environments cannot be played in the terminal.")
        return first  # type: ignore[no-any-return]

    def _wants_box(self, observation: Observation, info: Info) -> bool:
        r"""Return whether what is told about the form of an answer mentions ``\boxed``."""
        instruction = str(getattr(self._env, "answer_instruction", ""))
        return "\\boxed" in visible_text(observation, info) + instruction

    def _show(self, observation: Observation, info: Info) -> None:
        board = info.get("suffix")
        if self._human_view:
            board = self._human_view.screen(observation, info, self._console.width)
        else:
            self._console.print(Text(text_of(observation)))
        for number, image in enumerate(images_of(observation), start=1):
            self._console.print(Text(f"image {number}: {image!r:.80}", style="dim"))
        if board is not None:
            text = Text(board)
            for pattern, style in self._styles.items():
                text.highlight_regex(pattern, style)
            self._console.print(text)

    def _ask(self) -> str | None:
        if sys.stdin.isatty():
            try:
                return self._console.input("[bold]> [/]").strip()
            except EOFError:
                return None
        line = sys.stdin.buffer.readline().decode(errors="replace")
        return line.strip() if line else None

    def _action(self, reply: str, observation: Observation, info: Info) -> Any:
        if reply == ":random":
            action = self._env.sample_random_action()
        elif reply == ":oracle":
            action = self._oracle_action(observation, info)
        elif reply.startswith(":"):
            raise ConfigError(f"There is no command {reply!r}.\n{self._help}")
        elif self._raw or "\\boxed" in reply:
            return reply
        else:
            typed = self._human_view.typed(reply) if self._human_view else reply
            return f"\\boxed{{{typed}}}" if self._help.startswith(_BOXED) else typed
        self._console.print(Text(str(action), style="cyan"))
        return action

    def _oracle_action(self, observation: Observation, info: Info) -> Any:
        """Return the oracle's action; it is first shown the earlier observations of the episode."""
        oracle = OracleAgent()
        oracle.reset(self._env)
        for _, _, seen, seen_info in self._earlier:
            oracle.act(seen, seen_info)
        return oracle.act(observation, info)

    def _undo(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        if not self._earlier:
            self._console.print(Text("There is no action to take back.", style="yellow"))
            return observation, info
        snapshot, self._return, observation, info = self._earlier.pop()
        self._env.restore(snapshot)
        return observation, info
