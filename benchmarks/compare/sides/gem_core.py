"""The adapter of gem-core."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem_core import (
    BaseEnv,
    Env,
    EnvSpec,
    Step,
    Wrapper,
    list_envs,
    make,
    make_tool,
    make_vec,
    register,
)

__all__ = ["Library"]

_TASKS = {"math": "math:Custom", "qa": "qa:Custom"}


class _Delayed(Wrapper):
    def __init__(self, env: Env, seconds: float) -> None:
        super().__init__(env)
        self.seconds = seconds

    def step(self, action: Any) -> Step:
        if self.seconds:
            time.sleep(self.seconds)
        return self.env.step(action)


class _Echo(BaseEnv):
    def __init__(self, *, observation: str) -> None:
        self.observation = observation

    def start(self) -> tuple[str, dict[str, Any]]:
        return self.observation, {}

    def step(self, action: Any) -> Step:
        return Step(self.observation, 0.0, False, False, {})


class Library:
    """gem-core with the interface of ``Side``."""

    def ids(self) -> list[str]:
        return list_envs("game:*")

    def make(self, env_id: str) -> Any:
        return make(env_id)

    def make_vec(self, env_id: str, num_envs: int, executor: str) -> Any:
        return make_vec(env_id, num_envs=num_envs, executor=executor)

    def close_vec(self, vec: Any) -> None:
        vec.close()

    def make_straggling_vec(self, env_id: str, delays: Sequence[float]) -> Any:
        remaining = iter(delays)
        return make_vec(
            env_id,
            num_envs=len(delays),
            wrappers=[lambda env: _Delayed(env, next(remaining))],
            executor="threads",
        )

    def exchange(self, vec: Any, actions: dict[int, str], wait_for: int) -> list[int]:
        vec.send(actions)
        ready, _ = vec.recv(min_envs=wait_for)
        return list(ready)

    def make_echo(self, observation: str) -> Any:
        register("bench:Echo-v0", _Echo)
        return make("bench:Echo-v0", wrappers=["concat"], observation=observation)

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        return list(rows)

    def make_task(self, family: str, rows: Any) -> Any:
        return make(_TASKS[family], data=rows)

    def make_task_vec(self, family: str, rows: Any, num_envs: int) -> Any:
        return make_vec(_TASKS[family], num_envs=num_envs, data=rows, executor="threads")

    def close_env(self, env: Any) -> None:
        env.close()

    def make_tool(self, sandbox: str) -> Callable[[str], str]:
        tool: Any = make_tool("python", sandbox=sandbox)
        return lambda action: str(tool.run(tool.parse(action)).output)

    def make_judge(self, rows: Any, sandbox: str) -> Any:
        return make("code:Custom", data=rows, sandbox=sandbox)

    def make_mcp(self, config: Any) -> Callable[[str], str]:
        mcp = {"id": "mcp", "config": config, "execution_timeout": 300}
        echo = EnvSpec(id="bench:Echo-v0", entry_point=_Echo, kwargs={"observation": ""})
        env = make(echo, tools=[mcp], tool_use={"max_tool_uses": None})
        env.reset()
        return lambda action: str(env.step(action).observation)

    def make_search(self, url: str) -> Callable[[str], str]:
        where = {"search_url": url} if url else {"backend": "bm25"}
        echo = EnvSpec(id="bench:Echo-v0", entry_point=_Echo, kwargs={"observation": ""})
        tool = {"id": "search", "timeout": 60, **where}
        env = make(echo, tools=[tool], tool_use={"max_tool_uses": None})
        env.reset()
        return lambda action: str(env.step(action).observation)

    def grade(self, answer: str, gold: str) -> bool:
        from gem_math.grading import grade  # noqa: PLC0415 - only where answers are graded

        return grade(answer, gold).correct
