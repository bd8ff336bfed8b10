"""The adapter of gem-llm, which uses its documented interface only."""
# mypy: ignore-errors
# gem-llm is not installed where mypy runs.

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gem
from gem.core import Env, EnvWrapper
from gem.envs.registration import ENV_REGISTRY
from gem.vector.async_vector_env import AsyncVectorEnv
from gem.wrappers.observation_wrapper import ObservationWrapper

__all__ = ["Library"]


class _Delayed(EnvWrapper):
    def __init__(self, env: Any, seconds: float) -> None:
        super().__init__(env)
        self.seconds = seconds

    def reset(self, seed: int | None = None) -> Any:
        return self.env.reset(seed=seed)

    def step(self, action: Any) -> Any:
        if self.seconds:
            time.sleep(self.seconds)
        return self.env.step(action)


class _Echo(Env):
    def __init__(self, observation: str) -> None:
        self.observation = observation

    def reset(self, seed: int | None = None) -> Any:
        super().reset(seed)
        return self.observation, {}

    def step(self, action: Any) -> Any:
        return self.observation, 0.0, False, False, {}


class Library:
    """gem-llm with the interface of ``Side``."""

    def ids(self) -> list[str]:
        return sorted(env_id for env_id in ENV_REGISTRY if env_id.startswith("game:"))

    def make(self, env_id: str) -> Any:
        return gem.make(env_id)

    def make_vec(self, env_id: str, num_envs: int, executor: str) -> Any:
        return gem.make_vec([env_id] * num_envs, async_mode=executor == "async")

    def close_vec(self, vec: Any) -> None:
        """Do nothing: it has no ``close``."""

    def make_straggling_vec(self, env_id: str, delays: Sequence[float]) -> Any:
        def maker(seconds: float) -> Any:
            return lambda: _Delayed(gem.make(env_id), seconds)

        return AsyncVectorEnv([env_id] * len(delays), [maker(seconds) for seconds in delays])

    def exchange(self, vec: Any, actions: dict[int, str], wait_for: int) -> list[int]:
        vec.step(actions)  # it waits for all: there is no send and recv
        return list(actions)

    def make_echo(self, observation: str) -> Any:
        gem.register("bench:Echo-v0", _Echo)
        return ObservationWrapper(
            gem.make("bench:Echo-v0", observation=observation),
            include_action=False,
            include_chat_template=False,
        )

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        from datasets import Dataset  # noqa: PLC0415 - slow, and only tasks need it

        return Dataset.from_list(list(rows))

    def make_task(self, family: str, rows: Any) -> Any:
        if family == "math":
            from gem.envs.math_env import MathEnv  # noqa: PLC0415 - as above

            return MathEnv(dataset=rows)
        from gem.envs.qa_env import QaEnv  # noqa: PLC0415 - as above

        return QaEnv(dataset=rows)

    def make_task_vec(self, family: str, rows: Any, num_envs: int) -> Any:
        makers = [lambda: self.make_task(family, rows)] * num_envs
        return AsyncVectorEnv([family] * num_envs, makers)

    def close_env(self, env: Any) -> None:
        for one in getattr(env, "envs", [env]):
            getattr(one, "close", lambda: None)()

    def make_tool(self, sandbox: str) -> Callable[[str], str]:
        from gem.tools.python_code_tool import PythonCodeTool  # noqa: PLC0415 - as above

        _show_interpreter(sandbox)
        tool = PythonCodeTool(sandbox_type=sandbox)
        return lambda action: tool.execute_action(action)[2]

    def make_judge(self, rows: Any, sandbox: str) -> Any:
        from gem.envs.code_env import CodeEnv  # noqa: PLC0415 - as above

        _show_interpreter(sandbox)
        return CodeEnv(dataset_name="codecontest", dataset=rows, sandbox_type=sandbox)

    def make_mcp(self, config: Any) -> Callable[[str], str]:
        from gem.tools.mcp_tool import MCPTool  # noqa: PLC0415 - as above
        from gem.tools.tool_env_wrapper import ToolEnvWrapper  # noqa: PLC0415 - as above

        tool = MCPTool(config, execution_timeout=300)
        env = ToolEnvWrapper(_Echo(""), tools=[tool], max_tool_uses=sys.maxsize)
        env.reset()
        return lambda action: env.step(action)[0]

    def make_search(self, url: str) -> Callable[[str], str]:
        from gem.tools.search_tool import SearchTool  # noqa: PLC0415 - as above
        from gem.tools.tool_env_wrapper import ToolEnvWrapper  # noqa: PLC0415 - as above

        tool = SearchTool(search_url=url, timeout=60)
        env = ToolEnvWrapper(_Echo(""), tools=[tool], max_tool_uses=sys.maxsize)
        env.reset()
        return lambda action: env.step(action)[0]

    def grade(self, answer: str, gold: str) -> bool:
        from gem.utils.math_grader import grade  # noqa: PLC0415 - only where answers are graded

        return grade(answer, gold, fast=False)


def _show_interpreter(sandbox: str) -> None:
    """Let bubblewrap see an interpreter: a virtual environment only links to the one it has."""
    if sandbox == "bwrap":
        sys.prefix = sys.base_prefix
