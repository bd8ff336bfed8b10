"""Pictures of environments for the site: what agents see and do in an episode.

A page asks for them with ``<!-- pictures: ID ID ... -->``; episodes are played when the site is
built. Of a game with a board, the picture is its text, which the viewer's board.js draws; of other
environments, the picture is a few turns.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from gem_core import make, make_agent

__all__ = ["FAMILIES", "board", "figures", "picture"]

FAMILIES = {
    "game": "game:Sokoban-v0-easy",
    "math": "math:Sample",
    "code": "code:Sample",
    "terminal": "terminal:Sample",
    "rg": "rg:mini_sudoku",
    "qa": "qa:Sample",
    "logic": "logic:Sample",
    "tau": "tau:Retail-Sample",
    "webshop": "webshop:Sample",
    "mcp": "mcp:Sample",
}
"""The environment in the picture of each family whose data are installed."""

MOST = 300
"""The characters of an action or an observation that are shown."""
NOTHING = r"$^"


@dataclass(frozen=True)
class Scene:
    """The turns of an episode that are shown."""

    seed: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    """What is typed in a shell; without commands, the oracle plays."""
    turns: int = 20
    """The largest number of turns."""
    task: str = r"(?s).+"
    """The parts of the first observation that are shown: a regular expression."""


SCENES = {
    "code:Sample": Scene(seed=14, options={"prompt": None}, task=r"\A.*"),
    "game:GuessTheNumber-v0": Scene(task=NOTHING),
    "game:Mastermind-v0": Scene(task=NOTHING),
    "game:WikiGame-v0-easy": Scene(task=r"(?:Start|Target) page: .*\n?"),
    "logic:Sample": Scene(
        options={"prompt": None}, task=r"\A(?:.*\n){2}|If the .*\n|Statement: .*"
    ),
    "math:Sample": Scene(seed=21),
    "mcp:Sample": Scene(turns=2, task=NOTHING),
    "qa:Sample": Scene(seed=13, options={"prompt": None}),
    "tau:Retail-Sample": Scene(turns=2),
    "terminal:Sample": Scene(
        seed=0,
        commands=("cd recipes && git log --oneline", "git reflog | head -5"),
        task=r"(?s)In the git.*?\.",
    ),
    "webshop:Sample": Scene(turns=1, task=NOTHING),
}
"""The environments that are shown by turns."""


def figures(env_ids: str) -> str:
    """Return the pictures of ids, which are separated by spaces, each above its id."""
    shown = [
        f"<figure>{picture(one)}<figcaption><code>{one}</code></figcaption></figure>"
        for one in env_ids.split()
    ]
    return "\n".join(['<div class="pictures">', *shown, "</div>"])


@functools.cache
def picture(env_id: str) -> str:
    """Return the picture of an environment as HTML."""
    if env_id not in SCENES:
        return f'<pre class="board">{escape(board(env_id))}</pre>'
    said = "\n".join(
        f"<b>{_shown(text)}</b>" if is_action else _shown(text)
        for is_action, text in _scene(env_id, SCENES[env_id])
    )
    return f'<pre class="turns">{said}</pre>'


def board(env_id: str) -> str:
    """Return the board after two thirds of the turns that the oracle needs.

    A game whose board is in its answers, as in Wordle, has all of them until then.
    """
    first, *turns = _episode(env_id, Scene())
    until = turns[: len(turns) * 2 // 3]
    text = re.sub(r"Your next .*:\s*$", "", (until or [first])[-1][2].get("suffix", "")).strip()
    answers = [re.sub(r"^Turn .*\n", "", answer) for _, answer, _ in until]
    return text or "\n".join(answers) or first[1]


def _scene(env_id: str, scene: Scene) -> Iterator[tuple[bool, str]]:
    """Yield what is said, and whether it is an action."""
    (_, task, _), *turns = _episode(env_id, scene)
    if parts := "".join(re.findall(scene.task, task)):
        yield False, parts
    for action, answer, _ in turns[: scene.turns]:
        yield True, action
        if answer:
            yield False, answer


def _episode(env_id: str, scene: Scene) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield each turn of an episode: the action, what it leads to, and info."""
    env, oracle = make(env_id, **scene.options), make_agent("oracle")
    observation, info = env.reset(seed=scene.seed)
    oracle.reset(env)
    yield "", str(observation), info
    commands = iter(scene.commands)
    terminated = truncated = False
    while not (terminated or truncated):
        command = next(commands, None)
        if scene.commands and command is None:
            break
        action = oracle.act(observation, info) if command is None else f"```bash\n{command}\n```"
        observation, _, terminated, truncated, info = env.step(action)
        yield f"$ {command}" if command else str(action), str(observation), info
    env.close()


def _shown(text: str) -> str:
    """Return a text, shortened, without the marks of buttons and code."""
    plain = re.sub(r"\[(?:clicked )?button\] (.*?) \[.*?_\]", r"[\1]", text)
    plain = re.sub(r"\n{2,}", "\n", re.sub(r"^```.*$", "", plain, flags=re.MULTILINE)).strip()
    return escape(plain if len(plain) <= MOST else f"{plain[:MOST].rstrip()} ...")
