"""A wrapper that lets an agent call tools during an episode without using up turns."""

import contextlib
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from gem_core.calls import CallFormat, Catalog, Reading, Request
from gem_core.calls.outcomes import Outcome, broken_tags, run_all
from gem_core.calls.tags import TagsFormat
from gem_core.env import AsyncEnv, Env, Layer, Step, Wrapper
from gem_core.errors import ConfigError, SnapshotError, near_names
from gem_core.faults import boundary
from gem_core.maybe_async import drive, then
from gem_core.observation import Action, Info, Observation, text_of, with_text
from gem_core.optional import run_async
from gem_core.tool import BaseTool, Tool, ToolCall, ToolResult, copy_of

__all__ = ["ToolWrapper"]

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
            tool, two tools of the same name, schemas with the format ``tags``, a tool without
            ``parse`` with that format, or a ``call_format`` that is not a ``CallFormat``.
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
        _check_tags(self._format, self.tools)
        self._catalog: Catalog | None = None
        self._is_asynchronous = isinstance(self.unwrapped, AsyncEnv)
        if instructions not in {"text", "schemas"}:
            raise ConfigError(f"instructions is 'text' or 'schemas'; got {instructions!r}.")
        if instructions == "schemas" and isinstance(self._format, TagsFormat):
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
            self._catalog = Catalog({tool.name: tool.functions() for tool in self.tools})
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
            explained = self._format.explain(self.tools)
            observation = with_text(observation, f"{text_of(observation)}\n{explained}")
        return observation, info

    def step(self, action: Action) -> Any:
        spent = self.max_tool_uses is not None and self.tool_use_counter >= self.max_tool_uses
        # Without an episode, the environment raises.
        return drive(self._take(action, may_call=self._running and not spent))

    def _take(self, action: Action, *, may_call: bool) -> Generator[Any, Any, Step]:
        """Run the calls of an action; without any that may run, step the environment."""
        given = action
        failed: tuple[Reading, list[Outcome]] | None = None
        for reading in self._format.readings(action, self.tools if may_call else ()):
            if not reading.requests:
                given = reading.action
            elif not may_call:
                given = action if isinstance(action, str) else reading.text
            else:
                outcomes = self._plan(reading)
                yield run_all(outcomes, self._run)
                if any(outcome.result and outcome.result.ok for outcome in outcomes):
                    return self._calls_step(reading, outcomes)
                failed = failed or (reading, outcomes)
        if failed is not None:
            return self._calls_step(*failed)
        return (yield self._step_env(action, given))  # type: ignore[no-any-return]

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

    def _plan(self, reading: Reading) -> list[Outcome]:
        """Return an outcome for each request; one that must not run already has its result."""
        uses = Counter(self._uses)
        outcomes = [self._found(request, reading.text) for request in reading.requests]
        for number, outcome in enumerate(outcomes, start=self.tool_use_counter):
            if self.max_tool_uses is not None and number >= self.max_tool_uses:
                outcome.result = ToolResult(OVER_BUDGET.format(self.max_tool_uses), ok=False)
                outcome.counts = False
            elif outcome.result is None and outcome.tool is not None:
                outcome.result = self._refusal(outcome.tool, uses)
            uses[outcome.tool_name] += 1
        return outcomes

    def _found(self, request: Request, text: str) -> Outcome:
        """Return the outcome of a request, with its result if it does not fit a function."""
        if request.parsed is not None:
            return Outcome(request, *request.parsed)
        outcome = Outcome(request)
        name = self.catalog.tools.get(request.function)
        if name is not None:
            outcome.tool = next(tool for tool in self.tools if tool.name == name)
            outcome.call = ToolCall(name, request.arguments, text, request.function)
        if problem := self.catalog.problem(request):
            outcome.result = ToolResult(problem, ok=False)
        return outcome

    def _refusal(self, tool: Tool, uses: Mapping[str, int]) -> ToolResult | None:
        """Return the result of a call beyond the budget of its tool; None within it."""
        limit = self.max_uses_per_tool.get(tool.name)
        if limit is None or uses[tool.name] < limit:
            return None
        return ToolResult(OVER_TOOL_BUDGET.format(limit, tool.name), ok=False)

    def _calls_step(self, reading: Reading, outcomes: Sequence[Outcome]) -> Step:
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
        }
        if messages := self._format.messages(reading, outputs):
            records = [outcome.record() for outcome in outcomes]
            info |= {"tool_calls": records, "tool_messages": messages}
        return Step(self._format.show(reading, outputs), reward, False, False, info)

    def _step_env(self, action: Action, given: Action) -> Any:
        """Step the environment with ``given``; if that is not the action, record it in info."""
        replaced = {} if given is action else {"parsed_action": given}

        def with_info(step: Step) -> Step:
            observation, reward, terminated, truncated, info = step
            self._running = not (terminated or truncated)
            info = {**info, "use_tool": False, **self._counters(), **replaced}
            return Step(observation, reward, terminated, truncated, info)

        return then(self.env.step(given), with_info)

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


def _check_tags(call_format: CallFormat, tools: Sequence[Tool]) -> None:
    for tool in tools if isinstance(call_format, TagsFormat) else ():
        if getattr(type(tool), "parse", None) is BaseTool.parse:
            raise ConfigError(
                f"The tool {tool.name!r} cannot be called in tags, as {type(tool).__name__} has no "
                f"parse. Write parse and instructions, or choose another call format, such as "
                f"tool_use={{'call_format': 'hermes'}}."
            )


def _format_of(value: Any) -> CallFormat:
    if value == "tags":
        return TagsFormat()
    if isinstance(value, CallFormat):
        return value
    raise ConfigError(
        f"call_format of ToolWrapper is 'tags' or a CallFormat, for example "
        f"gem_tools.formats.HermesFormat(); got {value!r}. For the id of a call format, use "
        f"gem_core.make(..., tool_use={{'call_format': ...}})."
    )
