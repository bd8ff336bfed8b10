"""verifiers and prime-rl: a taskset of environments, and how verifiers plays them.

verifiers finds both by the name of this distribution::

    vf-eval gem-adapters --env.taskset.env game:GuessTheNumber-v0-easy -n 64

The client of verifiers samples and keeps the tokens; environments see text. The rewards of the
turns are in ``trace.info["gem"]``, and the reward ``episode`` is one number made of them.
"""

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import verifiers.v1 as vf
from openai import AsyncOpenAI, OpenAIError
from pydantic import Field
from verifiers.v1.dialects.chat import message_to_wire

from gem_adapters.cached import row_envs
from gem_core.agent import BaseAgent
from gem_core.errors import ConfigError, GemError
from gem_core.observation import visible_text
from gem_rollout import FaultPolicy, env_rows
from gem_rollout.records.rows import episode_reward
from gem_rollout.tokens.limits import LimitReachedError

__all__ = [
    "GemData",
    "GemEnv",
    "GemEnvConfig",
    "GemHarness",
    "GemTask",
    "GemTaskConfig",
    "GemTaskset",
    "GemTasksetConfig",
]


class GemTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """How the rewards of the turns become one number, under ``--env.taskset.task``."""

    reward: Literal["sum", "discounted", "last"] = "sum"
    """Their sum, their sum discounted by turn, or the reward of the last turn."""
    gamma: float = Field(1.0, ge=0, le=1)
    """Discount for each turn under ``discounted``."""


class GemTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The episodes to play, under ``--env.taskset``."""

    task: GemTaskConfig = GemTaskConfig()
    env: str = ""
    """Id of the environment."""
    env_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the environment."""
    seed: int = Field(0, ge=0)
    """Seed of the run."""
    config: list[str] = Field(default_factory=list)
    """Overrides that choose tools and wrappers, see ``RowEnvs``."""
    turn_deadline: float | None = Field(None, gt=0)
    """Most seconds for a turn, sampling included."""


class GemData(vf.TaskData):  # type: ignore[misc]
    """The row of an episode, see ``gem_rollout.env_rows``."""

    env: str
    seed: int
    index: int
    env_kwargs: dict[str, Any]


class GemTask(vf.Task[GemData, vf.State, GemTaskConfig]):  # type: ignore[misc]
    """An episode, and its reward."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def episode(self, trace: Any) -> float:
        """Return the episode's reward."""
        return float(trace.info["gem"]["reward"])

    @vf.metric  # type: ignore[untyped-decorator]
    async def played(self, trace: Any) -> dict[str, float]:
        """Return the number of turns, and how the episode ended."""
        record = trace.info["gem"]
        metrics = {name: float(record[name]) for name in ("terminated", "truncated")}
        if record["success"] is not None:
            metrics["success"] = float(record["success"])
        return {"turns": float(len(record["rewards"])), **metrics}


class GemTaskset(vf.Taskset[GemTask, GemTasksetConfig]):  # type: ignore[misc]
    """The episodes of an environment, without an end: bound them with ``-n``."""

    INFINITE = True

    def load(self) -> Iterator[GemTask]:
        """Yield the episodes of a run.

        Raises:
            ConfigError: The configuration cannot be used.
            UnknownIdError: There is no such environment.
            UnknownKwargError: It does not take a parameter.
        """
        config = self.config
        if not config.env:
            raise ConfigError("No environment: set --env.taskset.env, such as math:GSM8K.")
        (row,) = env_rows(config.env, 1, seed=config.seed, env_kwargs=config.env_kwargs)
        row_envs(config.config).make(row).close()
        for index in itertools.count():
            data = GemData(name=f"{config.env}#{index}", **{**row, "index": index})
            yield GemTask(data, config.task)


class GemEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The configuration of ``GemEnv``."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The model that plays; no code of a model runs in its runtime."""


class GemEnv(vf.Env[GemEnvConfig]):  # type: ignore[misc]
    """Plays the episode of a task with the agent of verifiers."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play an episode.

        Raises:
            EnvError: The environment failed; verifiers counts the episode as an error.
        """
        config, data = self.taskset.config, task.data
        row = {"env": data.env, "seed": data.seed, "index": data.index}
        policy = FaultPolicy(turn_deadline=config.turn_deadline)
        async with agents.agent.interaction(task) as interaction:
            player = _Player(interaction)
            episode = await row_envs(config.config).play(
                {**row, "env_kwargs": data.env_kwargs}, player, policy=policy
            )
            if episode.error is not None and not player.has_stopped:
                raise vf.EnvError(f"{episode.error['type']}: {episode.error['message']}")
            last = episode.turns[-1] if episode.turns else None
            interaction.trace.info["gem"] = {
                "reward": float(episode_reward(episode, task.config.reward, task.config.gamma)),
                "rewards": [float(turn.reward) for turn in episode.turns],
                "terminated": bool(last and last.terminated),
                "truncated": bool(last is None or last.truncated),
                "success": episode.success,
            }


class _StoppedError(GemError):
    """verifiers ended the run before the first reply."""


class _Player(BaseAgent):
    """Asks the agent of verifiers for each action."""

    def __init__(self, interaction: Any) -> None:
        self._interaction = interaction
        self.has_stopped = False

    async def act(self, observation: Any, info: Any) -> str:
        text = visible_text(observation, info) if isinstance(observation, str) else None
        if text is None:
            raise ConfigError("The adapter of verifiers passes text, and the observation is not.")
        begun = self._interaction.trace.num_turns > 0
        segment = await self._interaction.turn(text)
        if segment.terminated:
            self.has_stopped = True
            trace = self._interaction.trace
            if begun:
                raise LimitReachedError(trace.stop_condition or "error")
            raise _StoppedError("verifiers ended the run before the first reply.")
        if segment.root_reply is not None:
            return str(segment.root_reply)
        said = [one.content for one in segment.messages if isinstance(one, vf.AssistantMessage)]
        return said[-1] or ""


class GemHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
    """Asks the model for a reply, without a process or tools of its own."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: Any,
        data: Any,
    ) -> Any:
        """Send the conversation to the endpoint of verifiers, which records the reply."""
        system, prompt = self.resolve_prompt(data)
        messages = [message_to_wire(message) for message in prompt]
        if system is not None:
            messages.insert(0, {"role": "system", "content": system})
        try:
            async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
                await client.chat.completions.create(model=ctx.model, messages=messages)
        except OpenAIError as error:
            return vf.ProgramResult(1, "", f"{type(error).__name__}: {error}")
        return vf.ProgramResult(0, "", "")
