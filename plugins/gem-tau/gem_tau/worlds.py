"""Tool worlds: an agent with tools changes a database as an instruction says, without a user."""

import copy
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, Self

from gem_core import Action, BaseEnv, Env, Info, Observation, Step
from gem_core.agent import BaseAgent
from gem_core.calls import CallFormat, Reading, Request
from gem_core.errors import ConfigError
from gem_core.info import graded
from gem_tasks.task_source import ListedTasks
from gem_tau.calls import check_limits, find_format, read, shown
from gem_tau.missing import changes_text
from gem_tau.oracle import written
from gem_tau.toolkit import CallResult
from gem_tau.world_folder import World, WorldState, find_worlds, load_world

__all__ = ["ToolWorldEnv", "WorldOracle"]

_TURNS = 30
_END = "When the task is done, write a message that calls no function. It ends the task."
_WHERE = (
    "git clone https://github.com/PrimeIntellect-ai/research-tasks; its folder "
    "datasets/general-agent has 4,417 worlds"
)


class ToolWorldEnv(BaseEnv):
    """A task on a database with tools of its own, from a folder; see ``gem_tau.world_folder``.

    The first observation is the instruction, and ``info["prefix"]`` explains the functions. Each
    action with calls is a turn; a call that fails changes nothing. A message without a call ends
    the episode. The reward is that of the folder's ``verify(db)``, or 1 if the database equals that
    after the calls of ``gold.json``. An episode that reaches a limit is truncated and paid 0.

    ``info`` at the end: ``rewards`` has both, ``db_diff`` how the database changed, and
    ``ended_by`` what ended it.

    Args:
        data: The folder of a world, or a folder of them.
        trust: Whether to run the ``tools.py`` of the folders, which is Python code that runs with
            all rights of this process.
        call_format: How the agent calls tools: ``json`` (one call is the whole answer), the id of a
            call format, a mapping with an ``id``, or an object. A call as in ``json`` is read with
            every format.
        instructions: Where the functions are described: in ``info["prefix"]`` (``text``), or in
            ``info["tool_schemas"]`` (``schemas``), of ``reset``.
        max_turns: Turns, 1 or more; None for 30, or twice the reference calls if that is more.
        max_errors: Failed calls in a row, 1 or more.

    Raises:
        ConfigError: ``data`` or ``trust`` is not given, or a limit is below 1.
        DataError: There are no worlds in the folder.
    """

    shared: ClassVar[tuple[str, ...]] = ("_folders", "_format")

    def __init__(
        self,
        *,
        data: str | Path | None = None,
        trust: bool = False,
        call_format: str | Mapping[str, Any] | CallFormat = "json",
        instructions: Literal["text", "schemas"] = "text",
        max_turns: int | None = None,
        max_errors: int = 10,
    ) -> None:
        super().__init__()
        if data is None:
            raise ConfigError(f"tools:Folder needs data=, a folder of worlds: {_WHERE}.")
        if trust is not True:
            raise ConfigError(
                f"The worlds in {data} have a tools.py, Python code that would run here with all "
                f"your rights. Read it, and pass trust=True if you trust it."
            )
        check_limits(
            max_turns=_TURNS if max_turns is None else max_turns,
            max_errors=max_errors,
            instructions=instructions,
        )
        self._format = find_format(call_format)
        self._folders = ListedTasks([str(path) for path in find_worlds(Path(data))])
        self.instructions = instructions
        self.max_turns = max_turns
        """Turns of an episode; None to go by the world."""
        self.max_errors = max_errors
        self.turns = self.errors = 0
        self.state: WorldState | None = None

    @property
    def world(self) -> World:
        """The world of the episode.

        Raises:
            EpisodeEndedError: No episode was started.
        """
        return self._running.world

    @property
    def _running(self) -> WorldState:
        if self.state is None:
            raise self._not_running()
        return self.state

    @property
    def _most_turns(self) -> int:
        return self.max_turns or max(_TURNS, 2 * len(self.world.gold))

    def fork(self) -> Self:
        """Return an independent copy in the same state, which shares the database at that state."""
        state, self.state = self.state, None
        try:
            twin = super().fork()
        finally:
            self.state = state
        twin.state = copy.deepcopy(state)
        return twin

    def reset_options(self, number: int, seed: int | None = None) -> dict[str, Any]:
        """Return the world of episode ``number``: all in an order, then once more."""
        return self._folders.reset_options(number, seed)

    def start(self, *, idx: int | None = None) -> tuple[Observation, Info]:
        """Start an episode in a world, or in world ``idx``.

        Raises:
            ConfigError: There is no world ``idx``.
            DataError: Its folder cannot be used.
        """
        idx, folder = self._folders.draw(self.rng, idx)
        world = load_world(folder)
        self.state = world.start()
        self.turns = self.errors = 0
        info: Info = {"task_id": world.folder.name, "idx": idx}
        if self.instructions == "schemas":
            info["tool_schemas"] = [one.to_openai() for one in world.functions]
        else:
            info["prefix"] = f"{self._format.instructions(world.functions)}\n\n{_END}\n\n"
        return world.instruction, info

    def step(self, action: Action) -> Step:
        """Run the calls of an action; an action without calls ends the episode."""
        self.turns += 1
        call_format, reading = read(self._format, action)
        if not reading.requests:
            return self._end()
        observation, info = self._run(call_format, reading)
        limit = "max_errors" if self.errors >= self.max_errors else ""
        limit = limit or ("max_turns" if self.turns >= self._most_turns else "")
        if not limit:
            return Step(observation, 0.0, False, False, info)
        info |= {"truncated_by": limit, **self._result(0.0, {}, limit)}
        return Step(observation, 0.0, False, True, info)

    def _run(self, call_format: CallFormat, reading: Reading) -> tuple[str, Info]:
        """Run the calls of a turn; return what the agent sees, and the info."""
        results = []
        for request in reading.requests:
            results.append(self._call(request))
            self.errors = 0 if results[-1].ok else self.errors + 1
        return shown("world", call_format, reading, results)

    def _call(self, request: Request) -> CallResult:
        if problem := self.world.catalog.problem(request):
            return CallResult(f"Error: {problem}", ok=False, kind="neither")
        return self._running.call(request.function, request.arguments)

    def _end(self) -> Step:
        parts = self._running.grade()
        reward = max(parts.values())
        return Step("", reward, True, False, self._result(reward, parts, "message"))

    def _result(self, reward: float, parts: Mapping[str, float], ended_by: str) -> Info:
        changes = [change.to_dict() for change in self._running.diff()]
        failed = [f"{name} gives {value:g}" for name, value in parts.items() if value < 1]
        reason = "; ".join(failed) if parts else f"{ended_by} was reached, and nothing graded"
        return {
            "correct": reward >= 1.0,
            "grading": graded(
                question=self.world.instruction,
                expected="; ".join(map(str, self.world.gold)) or None,
                extracted=changes_text(changes),
                score=reward,
                reason="nothing is missing" if reward >= 1 else reason,
            ),
            "rewards": dict(parts),
            "ended_by": ended_by,
            "db_diff": changes,
        }

    def sample_random_action(self) -> Action:
        """Return a call of some function, or the message that ends the episode."""
        rng: Random = self.action_rng
        if self.state is None or rng.random() < 0.1:
            return "I am done."
        function = rng.choice(self.world.functions)
        return f'{{"name": "{function.name}", "arguments": {{}}}}'


class WorldOracle(BaseAgent):
    """Makes the calls of ``gold.json``, one in a turn, and ends the episode."""

    def reset(self, env: Env) -> None:
        """Take the calls of the world."""
        self._left = [written(call) for call in env.unwrapped.world.gold]

    def act(self, observation: Observation, info: Info) -> Action:
        """Return the next call, or the message that ends the episode."""
        return self._left.pop(0) if self._left else "This has been done."
