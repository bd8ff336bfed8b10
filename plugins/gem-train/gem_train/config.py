"""The configuration of a training run: what ``gem-core train`` and ``Trainer`` take.

One class for each part, and a line about each field. Values that cannot work are refused when the
configuration is made.
"""

from typing import Any, Literal, Self

import pydantic
from pydantic import Field

__all__ = [
    "CheckpointConfig",
    "CriticConfig",
    "EvalConfig",
    "LogConfig",
    "LossConfig",
    "OptimiserConfig",
    "RolloutConfig",
    "SamplingConfig",
    "TrainConfig",
]


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class RolloutConfig(_Part):
    """What is collected for each step."""

    episodes: int = Field(default=64, ge=1)
    """Episodes of a step; all of them end within it, so short ones are not preferred."""
    group_size: int | None = Field(default=None, ge=1)
    """Episodes of one start state; null for 8 where the algorithm compares such, else 1."""
    fork_groups: bool = False
    """Reset an environment once for a group and fork it, where a reset is dear."""
    turns: int | None = Field(default=None, ge=1)
    """Turns that every update has exactly: ``episodes`` are collected again until there are enough,
    and as many are chosen without replacement. Null for all turns that there are."""
    concurrency: int = Field(default=64, ge=1)
    """Most episodes at once."""
    turn_deadline: float | None = Field(default=None, gt=0)
    """Seconds that a turn may take."""
    keep_failed: bool = False
    """Learn from what was played of episodes that ended in an error."""


class SamplingConfig(_Part):
    """How the policy samples."""

    max_new_tokens: int = Field(default=64, ge=1)
    """Most tokens of a response."""
    temperature: float = Field(default=1.0, gt=0)
    """Of sampling and learning: what learns is ``softmax(logits / temperature)``."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Below 1 the sampler leaves unlikely tokens out, which the loss does not know."""
    system: str | None = None
    """The system message."""
    history: Literal["auto", "agent", "env"] = "auto"
    """Who shows earlier turns, as the agent ``transformers`` has it."""
    stop: list[str] = []
    """Texts that end a response, such as the end of a tool call."""
    template: dict[str, Any] = {}
    """More variables for the chat template."""
    cut_is_invalid: bool = True
    """Give the environment an invalid action instead of a response that was cut at its limit."""
    adapters_url: str | None = None
    """Base URL of a vLLM server that is given the adapters before each step, as ``policy``; for an
    ``agent`` that samples there."""


class LossConfig(_Part):
    """What is minimised; see docs/training/losses.md."""

    kind: Literal["clip", "reinforce"] = "clip"
    """Clipped ratios, or plain ``-A log pi``."""
    clip_low: float = Field(default=0.2, ge=0, le=1)
    """How far below 1 a ratio counts."""
    clip_high: float = Field(default=0.2, ge=0)
    """How far above 1 a ratio counts."""
    importance_cap: float | None = Field(default=2.0, gt=0)
    """Largest weight that makes up for a sampler of other probabilities; null for none."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of the KL to the model that training began with."""
    kl_kind: Literal["k1", "k2", "k3"] = "k3"
    """How it is estimated."""
    entropy: float = Field(default=0.0, ge=0)
    """Weight of the entropy, which is to be large."""
    length_norm: Literal["constant", "response", "token"] | None = None
    """How lengths count; null for what the algorithm's authors use."""
    length_constant: float | None = Field(default=None, gt=0)
    """C of ``length_norm=constant``; null for ``sampling.max_new_tokens``."""
    unit: Literal["turn", "episode"] = "turn"
    """What a response is."""
    rows: Literal["episodes", "turns"] = "episodes"
    """What a row of a batch is; the loss is the same, an episode in a row costs less."""
    drop_cut: bool = False
    """Leave responses that were cut at their limit out of the loss."""


class OptimiserConfig(_Part):
    """AdamW, and how a batch is taken in parts."""

    lr: float = Field(default=1e-5, gt=0)
    """Learning rate."""
    betas: tuple[float, float] = (0.9, 0.95)
    """Decay of the moments."""
    eps: float = Field(default=1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decay of the weights."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """What the learning rate does after the warm-up; to 0 at the last step."""
    warmup_steps: int = Field(default=0, ge=0)
    """Updates in which the learning rate rises from 0."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    epochs: int = Field(default=1, ge=1)
    """How often a step learns from its episodes."""
    minibatches: int = Field(default=1, ge=1)
    """Updates of an epoch, each on its part of the rows."""
    tokens: int = Field(default=16384, ge=1)
    """Most tokens, padding included, that are on the way at once; gradients add up."""


class CriticConfig(_Part):
    """The critic, for algorithms that have one."""

    lr: float | None = Field(default=None, gt=0)
    """Learning rate; null for that of the policy."""
    clip: float | None = Field(default=0.2, gt=0)
    """How far a value may move in a step before its move counts no more; null for any."""


class EvalConfig(_Part):
    """Evaluation during training, always on the same tasks."""

    every: int = Field(default=0, ge=0)
    """Steps between evaluations, the first before any step; 0 for none."""
    episodes: int = Field(default=64, ge=1)
    """Episodes of each environment."""
    temperature: float | None = Field(default=None, ge=0)
    """Null for that of sampling."""
    envs: list[str] = []
    """Ids of environments; none for those of training."""


class CheckpointConfig(_Part):
    """Checkpoints."""

    every: int = Field(default=50, ge=0)
    """Steps between checkpoints; 0 for one at the end only."""
    keep: int = Field(default=2, ge=1)
    """How many of the newest are kept."""


class LogConfig(_Part):
    """Where figures and episodes go."""

    writers: list[str] = ["csv", "tensorboard"]
    """csv, tensorboard, wandb, trackio."""
    trajectories_every: int = Field(default=10, ge=0)
    """Steps between those whose episodes are kept for ``gem-core view``; 0 for none."""
    progress: Literal["auto", "live", "lines", "off"] = "auto"
    """What is printed on the way."""
    plot: bool = True
    """Write ``curves.png`` at the end."""


class TrainConfig(_Part):
    """A training run."""

    model: str = Field(min_length=1)
    """Folder or name of the model."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, ..."""
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 computes in bfloat16; weights stay in float32."""
    threads: int | None = Field(default=None, ge=1)
    """Most threads of torch, of which small passes take one; null for its own choice."""
    lora: dict[str, Any] | None = None
    """Parameters of peft's LoraConfig, to train adapters only."""
    gradient_checkpointing: bool = False
    """Compute activations again instead of keeping them."""
    steps: int = Field(default=100, ge=1)
    """Steps: each collects episodes and learns from them."""
    seed: int = Field(default=0, ge=0)
    """Of everything that is drawn."""
    algo: dict[str, Any] = {"id": "rebn"}
    """The algorithm: its id and its own parameters."""
    curriculum: dict[str, Any] | None = None
    """How environments share the episodes: an id and its parameters; null for fixed weights."""
    rollout: RolloutConfig = RolloutConfig()
    sampling: SamplingConfig = SamplingConfig()
    loss: LossConfig = LossConfig()
    optim: OptimiserConfig = OptimiserConfig()
    critic: CriticConfig = CriticConfig()
    eval: EvalConfig = EvalConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    log: LogConfig = LogConfig()

    @pydantic.model_validator(mode="after")
    def _check(self) -> Self:
        if "id" not in self.algo:
            raise ValueError("algo needs an id, such as algo=rebn")
        size = self.rollout.group_size
        if size is not None and self.rollout.episodes % size:
            raise ValueError(
                f"rollout.episodes ({self.rollout.episodes}) must be a multiple of "
                f"rollout.group_size ({size})"
            )
        return self
