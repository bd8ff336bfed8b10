"""A wrapper that lets an agent call tools during an episode without using up turns."""

import contextlib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from gem_core.calls import CallFormat, Catalog, Reading, Request
from gem_core.calls.outcomes import Outcome, broken_tags, fault, run_all
from gem_core.env import AsyncEnv, Env, Layer, Step, Wrapper
from gem_core.errors import ConfigError, SnapshotError, near_names
from gem_core.faults import boundary
from gem_core.maybe_async import drive, then
from gem_core.observation import Action, Info, Observation, text_of, with_text
from gem_core.optional import run_async
from gem_core.thoughts import after_thoughts
from gem_core.tool import Tool, ToolCall, ToolResult, copy_of

__all__ = ["ToolWrapper"]

TOOLS_HEADING = "Available tools:"
BUDGET_SPENT = (
    "That was the last tool call of this episode. "
    "Give your final answer now, from what you have found."
)
TOOL_SPENT = "That was the last call of {} in this episode."
OVER_BUDGET = (
    "This call was not run: the {} tool calls of this episode are used up. "
    "Give your final answer now, from what you have found."
)
OVER_TOOL_BUDGET = "This call was not run: the {} calls of {} in this episode are used up."


class ToolWrapper(Wrapper):
    """Runs the tool calls that it finds in actions; every other action goes to the environment.

    A step with calls has a reward and never ends the episode. Its ``info`` has ``use_tool=True``,
    ``parsed_action`` (the action up to the end of the calls) and ``tool_type``. The ``info`` of
    every step has ``tool_use_counter`` and ``tool_success_counter``.

    Calls in an agent's thoughts (``gem_core.thoughts``) are ignored.

    With the format ``tags``, each tool looks for its own call. Tools are tried in order; the first
    call that succeeds counts or, if none does, the first that failed.

    With any other format, calls name functions of the tools, and an action may have several. They
    run at the same time if the environment or the tools are asynchronous. Each call is counted and
    rewarded separately, and the step's reward is the sum. A call that names no known function, or
    whose arguments do not fit its schema, has failed. ``info`` also has ``tool_calls`` (a dict for
    each call) and ``tool_messages`` (the step as chat messages).

    Args:
        env: The environment.
        tools: The tools. No other wrapper may use them.
        call_format: How an action calls tools: ``"tags"``, or a ``CallFormat`` object.
            ``gem_core.make(tool_use={"call_format": ...})`` also takes an id (``tags``,
            ``hermes``, ``openai``, ``fenced`` or another that is installed) or a mapping with an
            ``id`` and arguments.
        instructions: Where the agent finds the functions: as ``text`` in the first observation, or
            as ``schemas`` in ``info["tool_schemas"]`` of ``reset``, for a chat template or an API.
            The format ``tags`` supports only text.
        tool_reward: Reward of a call.
        tool_success_reward: Further reward of a call that succeeds.
        tool_execute_error_reward: Reward of a call that fails, if not 0; it must be negative, and
            the other two must be 0.
        max_tool_uses: Maximum number of calls in one episode, or None. Once it is reached, actions
            go to the environment unchanged. Calls beyond it in the same action get an answer, but
            do not run, do not count and earn nothing.
        max_uses_per_tool: Maximum number of calls of single tools in one episode, by name. A call
            beyond it gets an answer, does not run, and counts as failed.

    Raises:
        ConfigError: Rewards that exclude one another, a negative limit, a limit for an unknown
            tool, two tools of the same name, schemas with the format ``tags``, or a
            ``call_format`` that is not a ``CallFormat``.
    """

    layer = Layer.TOOLS
    shared: ClassVar[tuple[str, ...]] = ("_catalog", "_format", "tools")

    def __init__(
        self,
        env: Env,
        *,
        tools: Sequence[Tool] = (),
        call_format: str | Mapping[str, Any] | CallFormat = "tags",  # configurations have ids
        instructions: Literal["text", "schemas"] = "text",
        tool_reward: float = 0.0,
        tool_success_reward: float = 0.0,
        tool_execute_error_reward: float = 0.0,
        max_tool_uses: int | None = 10,
        max_uses_per_tool: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(env)
        _check_rewards(tool_execute_error_reward, tool_reward, tool_success_reward)
        names = [tool.name for tool in tools]
        if len(set(names)) < len(names):
            raise ConfigError(f"Tools need different names; got {', '.join(names)}.")
        _check_limits(max_tool_uses, max_uses_per_tool or {}, names)
        self.tools = list(tools)
        self._format = _format_of(call_format)
        self._catalog: Catalog | None = None
        self._is_asynchronous = isinstance(self.unwrapped, AsyncEnv)
        if instructions not in {"text", "schemas"}:
            raise ConfigError(f"instructions is 'text' or 'schemas'; got {instructions!r}.")
        if instructions == "schemas" and self._format is None:
            raise ConfigError("instructions='schemas' needs a call_format other than 'tags'.")
        self.instructions = instructions
        self.tool_reward = tool_reward
        self.tool_success_reward = tool_success_reward
        self.tool_execute_error_reward = tool_execute_error_reward
        self.max_tool_uses = max_tool_uses
        self.max_uses_per_tool = dict(max_uses_per_tool or {})
        self._forget()

    def _forget(self) -> None:
        self.tool_use_counter = 0
        self.tool_success_counter = 0
        self._uses: Counter[str] = Counter()
        self._running = False

    @property
    def blocking(self) -> bool:
        """Whether a step may wait for a process or a network."""
        return self.env.blocking or any(tool.blocking for tool in self.tools)

    @property
    def catalog(self) -> Catalog:
        """The functions of the tools by name.

        Raises:
            ConfigError: A tool has no functions, or two functions have the same name.
        """
        if self._catalog is None:
            self._catalog = Catalog(self.tools)
        return self._catalog

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The schemas that ``apply_chat_template`` and APIs take as ``tools``."""
        return [one.to_openai() for tool in self.tools for one in tool.functions()]

    def after_reset(self, observation: Observation, info: Info) -> tuple[Observation, Info]:
        previous = {f"prev_ep_{name}": value for name, value in self._counters().items()}
        self._forget()
        self._running = True
        with boundary("tool"):
            for tool in self.tools:
                tool.reset()
        info = {**info, **previous, **self._counters(), "use_tool": False}
        if self.instructions == "schemas":
            return observation, {**info, "tool_schemas": self.tool_schemas}
        if self.tools:
            texts = [text_of(observation), *self._instructions()]
            observation = with_text(observation, "\n".join(texts))
        return observation, info

    def _instructions(self) -> list[str]:
        if self._format is not None:
            return [self._format.instructions(self.catalog.functions)]
        heading = [TOOLS_HEADING] if len(self.tools) > 1 else []
        return [*heading, *(tool.instructions() for tool in self.tools)]

    def step(self, action: Action) -> Any:
        spent = self.max_tool_uses is not None and self.tool_use_counter >= self.max_tool_uses
        if self._format is not None:
            return self._step_format(self._format, action, may_call=self._running and not spent)
        if spent or not self._running:  # without an episode, the environment raises
            return self._step_env(action)
        return drive(self._step_tags(action))

    def _step_tags(self, action: Action) -> Generator[Any, Any, Step]:
        failed: tuple[ToolCall, ToolResult] | None = None
        start = after_thoughts(action) if isinstance(action, str) else 0
        for tool in self.tools:
            with boundary("tool"):
                call = tool.parse(action[start:] if start else action)
            if call is None:
                continue
            if start:
                call = replace(call, text=action[:start] + call.text)
            if self.max_uses_per_tool and self._is_over(tool, self._uses):
                result = self._refusal(tool)
            else:
                try:
                    result = yield self._run(tool, call)
                except Exception as error:  # noqa: BLE001 - it must not end the episode
                    result = fault(tool, error)
            if result.ok:
                return self._tags_step(call, result)
            failed = failed or (call, result)
        if failed is not None:
            return self._tags_step(*failed)
        return (yield self._step_env(action))  # type: ignore[no-any-return]

    def _tags_step(self, call: ToolCall, result: ToolResult) -> Step:
        reward = self._count(call.tool, result)
        info = {
            **result.info,
            "parsed_action": call.text,
            "tool_type": call.tool,
            "use_tool": True,
            **self._counters(),
        }
        output = self._with_notice(call.tool, broken_tags(result.output))
        return Step(output, reward, False, False, info)

    def _run(self, tool: Tool, call: ToolCall) -> Any:
        """Run a call; if the environment is asynchronous, without blocking the event loop."""
        if self._is_asynchronous:
            return run_async(tool, call)
        return tool.run(call)

    def _count(self, tool: str, result: ToolResult) -> float:
        """Count a call, and return its reward."""
        self.tool_use_counter += 1
        self.tool_success_counter += result.ok
        self._uses[tool] += 1
        if not result.ok and self.tool_execute_error_reward:
            return self.tool_execute_error_reward
        return self.tool_reward + (self.tool_success_reward if result.ok else 0.0)

    def _with_notice(self, tool: str, output: str) -> str:
        """Return the output of the last counted call, with a notice if it was the last allowed."""
        if self.tool_use_counter == self.max_tool_uses:
            return f"{output.rstrip()}\n\n{BUDGET_SPENT}"
        if self.max_uses_per_tool and self._uses[tool] == self.max_uses_per_tool.get(tool):
            return f"{output.rstrip()}\n\n{TOOL_SPENT.format(tool)}"
        return output

    def _is_over(self, tool: Tool, uses: Mapping[str, int]) -> bool:
        limit = self.max_uses_per_tool.get(tool.name)
        return limit is not None and uses[tool.name] >= limit

    def _refusal(self, tool: Tool) -> ToolResult:
        limit = self.max_uses_per_tool[tool.name]
        return ToolResult(OVER_TOOL_BUDGET.format(limit, tool.name), ok=False)

    def _step_format(self, call_format: CallFormat, action: Action, *, may_call: bool) -> Any:
        reading = call_format.read(action)
        if not (reading.requests and may_call):
            given = reading.text if reading.requests else reading.action
            is_same = given is action or (reading.requests and isinstance(action, str))
            return self._step_env(action) if is_same else self._step_env_as(given)
        outcomes = self._plan(reading.requests)
        return then(
            run_all(outcomes, reading.text, self._run),
            lambda _: self._calls_step(call_format, reading, outcomes),
        )

    def _plan(self, requests: Sequence[Request]) -> list[Outcome]:
        """Return an outcome for each request; one that must not run already has its result."""
        uses = Counter(self._uses)
        outcomes: list[Outcome] = []
        for number, request in enumerate(requests, start=self.tool_use_counter):
            position = self.catalog.positions.get(request.function)
            outcome = Outcome(request, None if position is None else self.tools[position])
            if self.max_tool_uses is not None and number >= self.max_tool_uses:
                outcome.result = ToolResult(OVER_BUDGET.format(self.max_tool_uses), ok=False)
                outcome.counts = False
            elif problem := self.catalog.problem(request):
                outcome.result = ToolResult(problem, ok=False)
            elif outcome.tool is not None and self._is_over(outcome.tool, uses):
                outcome.result = self._refusal(outcome.tool)
            uses[outcome.tool_name] += 1
            outcomes.append(outcome)
        return outcomes

    def _calls_step(
        self, call_format: CallFormat, reading: Reading, outcomes: Sequence[Outcome]
    ) -> Step:
        reward, outputs = 0.0, []
        info: Info = {}
        for outcome in outcomes:
            result = outcome.result or ToolResult("", ok=False)
            output = broken_tags(result.output)
            if outcome.counts:
                reward += self._count(outcome.tool_name, result)
                output = self._with_notice(outcome.tool_name, output)
            outputs.append(output)
            info = {**result.info, **info}
        info |= {
            "parsed_action": reading.text,
            "tool_type": outcomes[0].tool_name,
            "use_tool": True,
            **self._counters(),
            "tool_calls": [outcome.record() for outcome in outcomes],
            "tool_messages": call_format.messages(reading, outputs),
        }
        return Step(call_format.show(reading, outputs), reward, False, False, info)

    def _step_env(self, action: Action) -> Any:
        step: Any = self.env.step(action)
        return self._env_step(step) if type(step) is Step else then(step, self._env_step)

    def _env_step(self, step: Step) -> Step:
        observation, reward, terminated, truncated, info = step
        self._running = not (terminated or truncated)
        info = {**info, "use_tool": False, **self._counters()}
        return Step(observation, reward, terminated, truncated, info)

    def _step_env_as(self, given: Action) -> Any:
        """Step the environment with ``given`` in place of the action, and record it in info."""

        def with_given(step: Step) -> Step:
            return step._replace(info={**step.info, "parsed_action": given})

        return then(self._step_env(given), with_given)

    def _counters(self) -> Info:
        return {
            "tool_use_counter": self.tool_use_counter,
            "tool_success_counter": self.tool_success_counter,
        }

    def get_state(self) -> dict[str, Any]:
        """Return the state, including that of each tool."""
        return {**super().get_state(), "tools": [tool.snapshot() for tool in self.tools]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Take over a state from ``get_state``, including that of each tool."""
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
        twin.tools = [copy_of(tool) for tool in self.tools]
        return twin

    def close(self) -> None:
        """Close the tools and the environment."""
        with contextlib.ExitStack() as stack:
            stack.callback(super().close)
            for tool in self.tools:
                stack.callback(tool.close)


def _check_rewards(failure: float, use: float, success: float) -> None:
    if failure and (failure > 0 or use or success):
        raise ConfigError(
            f"tool_execute_error_reward must be negative and goes with tool_reward and "
            f"tool_success_reward of 0; got {failure}, {use} and {success}."
        )


def _check_limits(total: int | None, each: Mapping[str, int], names: Sequence[str]) -> None:
    if total is not None and total < 0:
        raise ConfigError(f"max_tool_uses must be 0 or more, or None; got {total}.")
    for name, limit in each.items():
        if name not in names:
            raise ConfigError(
                f"max_uses_per_tool names no tool with {name!r}.{near_names(name, names)} "
                f"There are: {', '.join(names) or 'none'}."
            )
        if limit < 0:
            raise ConfigError(f"max_uses_per_tool must be 0 or more; got {limit} of {name!r}.")


def _format_of(value: Any) -> CallFormat | None:
    """Return a call format; None for ``tags``, which the tools read themselves."""
    if value == "tags":
        return None
    if isinstance(value, CallFormat):
        return value
    raise ConfigError(
        f"call_format of ToolWrapper is 'tags' or a CallFormat, for example "
        f"gem_core.calls.HermesFormat(); got {value!r}. For the id of a call format, use "
        f"gem_core.make(..., tool_use={{'call_format': ...}})."
    )
