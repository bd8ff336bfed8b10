"""An episode, which tinker-cookbook plays by its prompts and replies."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from tinker import ModelInput
from tinker_cookbook.rl.rollout_limits import RolloutLimits
from tinker_cookbook.rl.types import STOP_METRIC_PREFIX, Env, StepResult, StopReason

from gem_core.errors import ConfigError
from gem_rollout import FaultPolicy, Prompt, RowEnvs
from gem_rollout.tokens.reply import TurnResult

__all__ = ["GemEnv", "StepReward"]

StepReward = Literal["sum", "discounted", "last"]
"""How the reward of a step depends on its turn."""


class GemEnv(Env):  # type: ignore[misc]  # tinker-cookbook is not imported here
    """An episode for tinker-cookbook.

    Args:
        row: The row that it plays.
        tokenizer: A tokenizer of transformers.
        envs: Makes the environment.
        sample: Number of the episode among those of the row.
        reward: The reward of a step. The trainer adds up the steps of an episode: ``sum`` leaves
            them unchanged, ``discounted`` multiplies that of turn t (from 0) by ``gamma ** t``, and
            ``last`` keeps that of the last turn only.
        gamma: The discount, in [0, 1].
        policy: Deadlines of the episode. Its ``on_error`` is not used: faults are raised.
        **options: Further arguments of ``TokenSession``. ``one_sequence`` is ``split`` by default.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        row: Mapping[str, Any],
        tokenizer: Any,
        *,
        envs: RowEnvs | None = None,
        sample: int = 0,
        reward: StepReward = "sum",
        gamma: float = 1.0,
        policy: FaultPolicy | None = None,
        **options: Any,
    ) -> None:
        if reward not in {"sum", "discounted", "last"} or not 0 <= gamma <= 1:
            raise ConfigError(
                f"reward must be sum, discounted or last, and gamma in [0, 1]; got {reward!r} and "
                f"{gamma!r}."
            )
        if options.get("one_sequence") == "last":
            raise ConfigError(
                "one_sequence='last' is not possible: tinker-cookbook trains on every sequence of "
                "an episode. Use 'split' or 'raise'."
            )
        if tokenizer.eos_token_id is None:
            raise ConfigError(
                "The tokenizer has no end-of-sequence token, which tinker needs to end a reply. "
                "Set its eos_token."
            )
        self.session = (envs or RowEnvs()).session(
            row,
            tokenizer,
            sample=sample,
            policy=replace(policy or FaultPolicy(), on_error="raise"),
            logprobs="optional",  # the group has them, and checks them
            **{"one_sequence": "split", **options},
        )
        self.rollout_limits = _RemainingTokens(self)
        """What tinker-cookbook reads before each turn."""
        self.prompt: Prompt | None = None
        """What to sample from; None before the first prompt and after the episode."""
        self._tokenizer = tokenizer
        self._reward, self._gamma = reward, gamma

    async def initial_observation(self) -> tuple[ModelInput, list[str] | list[int]]:
        """Reset the environment; return the first prompt and the stop strings or tokens of a reply.

        Raises:
            ConfigError: The episode cannot be played.
            Exception: The reset failed.
        """
        self.prompt = await self.session.begin()
        return self._observed()

    async def step(
        self, action: list[int], *, extra: Mapping[str, Any] | None = None
    ) -> StepResult:
        """Take a reply, step the environment, and return its reward and the next prompt.

        Raises:
            ConfigError: The next prompt cannot be made.
            ReplyError: The reply is refused.
            Exception: The step failed.
        """
        complete = (extra or {}).get("stop_reason", "stop") == "stop"
        result = await self.session.feed(action, complete=complete)
        self.prompt = result.prompt
        observation, stop = self._observed()
        trajectory = self.session.trajectory
        ended = self.prompt is None
        return StepResult(
            reward=self._rewarded(result.reward, len(trajectory.turns) - 1, ended=ended),
            episode_done=ended,
            next_observation=observation,
            next_stop_condition=stop,
            metrics=self._ended(result) if ended else {},
            logs={
                "env": trajectory.env_name,
                "index": trajectory.index,
                "sample": trajectory.sample,
                "reply": str(trajectory.turns[-1].action),
            },
        )

    def _observed(self) -> tuple[ModelInput, list[str] | list[int]]:
        if self.prompt is None:
            return ModelInput.empty(), []
        end: list[int] = [self._tokenizer.eos_token_id]
        # A list without the end token would let tinker sample beyond it.
        stop = [*self.prompt.stop, self._tokenizer.eos_token] if self.prompt.stop else end
        return ModelInput.from_ints(self.prompt.ids), stop

    def _rewarded(self, reward: float, turn: int, *, ended: bool) -> float:
        if self._reward == "last":
            return reward if ended else 0.0
        return reward * self._gamma**turn if self._reward == "discounted" else reward

    def _ended(self, result: TurnResult) -> dict[str, float]:
        """Return the metrics of the episode's end."""
        reason = StopReason.COMPLETED
        if not result.terminated:
            is_token_limit = "truncated_by" in result.info
            reason = StopReason.MAX_TOKENS if is_token_limit else StopReason.MAX_TURNS
        success = self.session.trajectory.success
        known = {} if success is None else {"success": float(success)}
        return {f"{STOP_METRIC_PREFIX}{reason}": 1.0, **known}


class _RemainingTokens:
    """``RolloutLimits`` whose tokens for the next turn are those that the session has left."""

    def __init__(self, env: GemEnv) -> None:
        self._env = env
        self._others = RolloutLimits()

    @property
    def max_turn_tokens(self) -> int | None:
        return self._env.prompt.room if self._env.prompt is not None else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)
