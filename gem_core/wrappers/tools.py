"""Lets an agent call tools in mid-episode, without using up the environment's turns."""

import contextlib
import copy
from collections.abc import Generator, Sequence
from typing import Any, ClassVar, Self

from gem_core.env import AsyncEnv, Env, Layer, Step, Wrapper
from gem_core.errors import ConfigError, SnapshotError
from gem_core.faults import error_record
from gem_core.maybe_async import drive, then
from gem_core.observation import Action, Info, Observation, text_of, with_text
from gem_core.tool import Tool, ToolCall, ToolResult

__all__ = ["ToolWrapper"]

TOOLS_HEADING = "Available tools:"
BUDGET_SPENT = (
    "That was the last tool call of this episode. "
    "Give your final answer now, from what you have found."
)


class ToolWrapper(Wrapper):
    """Runs the tool calls that it finds in actions; every other action goes to the environment.

    Tools are tried in order. The first call that succeeds counts; if none does, the first that
    failed. A call is a step with reward, never an end: ``info`` then has ``use_tool=True``,
    ``parsed_action`` (the action up to the end of the call) and ``tool_type``; on every step it has
    ``tool_use_counter`` and ``tool_success_counter``.

    Args:
        env: The environment.
        tools: The tools. They belong to this wrapper alone.
        tool_reward: Reward of a call.
        tool_success_reward: Further reward of a call that succeeds.
        tool_execute_error_reward: Reward of a call that fails, if not 0; it must be negative, and
            the other two must be 0.
        max_tool_uses: Calls in one episode, after which actions go to the environment as they
            are; None for no limit.

    Raises:
        ConfigError: Rewards that exclude one another, a negative limit, two tools of one name.
    """

    layer = Layer.TOOLS
    shared: ClassVar[tuple[str, ...]] = ("tools",)

    def __init__(
        self,
        env: Env,
        *,
        tools: Sequence[Tool] = (),
        tool_reward: float = 0.0,
        tool_success_reward: float = 0.0,
        tool_execute_error_reward: float = 0.0,
        max_tool_uses: int | None = 10,
    ) -> None:
        super().__init__(env)
        if tool_execute_error_reward and (
            tool_execute_error_reward > 0 or tool_reward or tool_success_reward
        ):
            raise ConfigError(
                f"tool_execute_error_reward must be negative and goes with tool_reward and "
                f"tool_success_reward of 0; got {tool_execute_error_reward}, {tool_reward} and "
                f"{tool_success_reward}."
            )
        if max_tool_uses is not None and max_tool_uses < 0:
            raise ConfigError(f"max_tool_uses must be 0 or more, or None; got {max_tool_uses}.")
        names = [tool.name for tool in tools]
        if len(set(names)) < len(names):
            raise ConfigError(f"Tools need different names; got {', '.join(names)}.")
        self.tools = list(tools)
        self.tool_reward = tool_reward
        self.tool_success_reward = tool_success_reward
        self.tool_execute_error_reward = tool_execute_error_reward
        self.max_tool_uses = max_tool_uses
        self._forget()

    def _forget(self) -> None:
        self.tool_use_counter = 0
        self.tool_success_counter = 0
        self._running = False

    @property
    def blocking(self) -> bool:
        """Whether a step may wait."""
        return self.env.blocking or any(tool.blocking for tool in self.tools)

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        previous = {f"prev_ep_{name}": value for name, value in self._counters().items()}
        self._forget()
        self._running = True
        for tool in self.tools:
            tool.reset()
        if self.tools:
            heading = [TOOLS_HEADING] if len(self.tools) > 1 else []
            texts = [text_of(observation), *heading, *(t.instructions() for t in self.tools)]
            observation = with_text(observation, "\n".join(texts))
        return observation, {**info, **previous, **self._counters(), "use_tool": False}

    def step(self, action: Action) -> Any:
        spent = self.max_tool_uses is not None and self.tool_use_counter >= self.max_tool_uses
        if spent or not self._running:  # without an episode, the environment raises
            return self._step_env(action)
        return drive(self._step_tools(action))

    def _step_tools(self, action: Action) -> Generator[Any, Any, Step]:
        failed: tuple[ToolCall, ToolResult] | None = None
        for tool in self.tools:
            call = tool.parse(action)
            if call is None:
                continue
            try:
                result = yield self._run(tool, call)
            except Exception as error:  # noqa: BLE001 - a tool's fault must not end the episode
                result = ToolResult(
                    f"The tool {tool.name!r} failed: {type(error).__name__}: {error}",
                    ok=False,
                    info={"error": error_record(error, "tool")},
                )
            if result.ok:
                return self._tool_step(call, result)
            failed = failed or (call, result)
        if failed is not None:
            return self._tool_step(*failed)
        return (yield self._step_env(action))  # type: ignore[no-any-return]

    def _run(self, tool: Tool, call: ToolCall) -> Any:
        """Run a call; where the environment is asynchronous, without holding up the event loop."""
        if isinstance(self.unwrapped, AsyncEnv):
            return getattr(tool, "arun", tool.run)(call)
        return tool.run(call)

    def _tool_step(self, call: ToolCall, result: ToolResult) -> Step:
        self.tool_use_counter += 1
        self.tool_success_counter += result.ok
        output = result.output
        if self.tool_use_counter == self.max_tool_uses:
            output = f"{output.rstrip()}\n\n{BUDGET_SPENT}"
        reward = self.tool_reward + (self.tool_success_reward if result.ok else 0.0)
        if not result.ok and self.tool_execute_error_reward:
            reward = self.tool_execute_error_reward
        info = {
            **result.info,
            "parsed_action": call.text,
            "tool_type": call.tool,
            "use_tool": True,
            **self._counters(),
        }
        return Step(output, reward, False, False, info)

    def _step_env(self, action: Action) -> Any:
        def mark(step: Step) -> Step:
            self._running = not (step.terminated or step.truncated)
            return step._replace(info={**step.info, "use_tool": False, **self._counters()})

        return then(self.env.step(action), mark)

    def _counters(self) -> Info:
        return {
            "tool_use_counter": self.tool_use_counter,
            "tool_success_counter": self.tool_success_counter,
        }

    def get_state(self) -> dict[str, Any]:
        """Return the state, each tool's included."""
        return {**super().get_state(), "tools": [tool.snapshot() for tool in self.tools]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``, each tool's included."""
        own = dict(state)
        snapshots = own.pop("tools")
        if len(snapshots) != len(self.tools):
            raise SnapshotError(
                f"A snapshot with {len(snapshots)} tools does not fit {len(self.tools)} tools."
            )
        before = [tool.snapshot() for tool in self.tools]
        try:
            self._restore_tools(snapshots)
            super().set_state(own)
        except SnapshotError:
            self._restore_tools(before)
            raise

    def _restore_tools(self, snapshots: Sequence[bytes]) -> None:
        for tool, snapshot in zip(self.tools, snapshots, strict=True):
            tool.restore(snapshot)

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        """Return a new stack of the same configuration; see ``Env.spawn``."""
        twin = super().spawn(seed=seed, same_state=same_state)
        if not same_state:
            twin._forget()  # noqa: SLF001 - its own class
        return twin

    def _around(self, env: Env) -> Self:
        twin = super()._around(env)
        twin.tools = [_copy_of(tool) for tool in self.tools]
        return twin

    def close(self) -> None:
        """Close the tools and the environment."""
        with contextlib.ExitStack() as stack:
            stack.callback(super().close)
            for tool in self.tools:
                stack.callback(tool.close)


def _copy_of(tool: Tool) -> Tool:
    twin = copy.copy(tool)
    twin.restore(tool.snapshot())
    return twin
