"""The configuration of a training run, for ``gem-core train`` and ``Trainer``.

Each part is a class, and each field has a docstring. Invalid values are refused when the
configuration is created.
"""

import warnings
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
    """The episodes that are collected for each step."""

    episodes: int = Field(default=64, ge=1)
    """Episodes of a step; all of them end within the step, so short ones are not preferred."""
    group_size: int | None = Field(default=None, ge=1)
    """Episodes that share a start state; null for 8 if the algorithm compares them, else 1."""
    fork_groups: bool = False
    """Reset an environment once for each group and fork it, if a reset is expensive."""
    turns: int | None = Field(default=None, ge=1)
    """Exact number of turns of every update: more episodes are collected until there are enough
    turns, and this number is chosen without replacement. Null for all turns."""
    concurrency: int = Field(default=64, ge=1)
    """Most episodes at the same time, and most rows of the sampler's batch."""
    turn_deadline: float | None = Field(default=None, gt=0)
    """Time limit of a turn in seconds."""
    keep_failed: bool = False
    """Also learn from the turns of episodes that ended in an error."""
    retries: int = Field(default=1, ge=0)
    """How often an episode that ended in an error is played again."""
    max_error_share: float = Field(default=0.1, ge=0, le=1)
    """Largest share of a step's episodes that may end in an error, after the retries. A step with
    more is not learned from, and the run stops."""
    max_waves: int = Field(default=10, ge=1)
    """With filters: how often rollout.episodes episodes are played for a step, until as many are
    kept. If none is kept, the run stops."""


class SamplingConfig(_Part):
    """How the policy samples."""

    max_new_tokens: int = Field(default=64, ge=1)
    """Most tokens of a response."""
    temperature: float = Field(default=1.0, gt=0)
    """Temperature of sampling and learning: the policy is ``softmax(logits / temperature)``."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Below 1, the sampler never draws unlikely tokens; the loss does not account for this."""
    system: str | None = None
    """The system message."""
    history: Literal["auto", "agent", "env"] = "auto"
    """Whether the agent or the environment shows earlier turns; see the agent ``transformers``."""
    stop: list[str] = []
    """Texts that end a response, such as the end of a tool call."""
    template: dict[str, Any] = {}
    """Additional variables for the chat template."""
    cut_is_invalid: bool = True
    """Replace a response that was cut at its token limit by an invalid action."""
    engine: dict[str, Any] = {"id": "transformers"}
    """What samples: an id, or module:NAME. sampling.engine.id=ID beside sampling.engine.NAME=VALUE
    sets parameters."""
    max_gap: float | None = Field(default=0.1, gt=0)
    """Largest mean difference between the log-probabilities of sampler and learner in nats; above
    it the run stops before the update. Null for no limit."""

    @pydantic.field_validator("engine", mode="before")
    @classmethod
    def _named(cls, engine: Any) -> Any:
        return {"id": engine} if isinstance(engine, str) else engine


class LossConfig(_Part):
    """The loss of a token, and the terms that are added to it.

    Further keys are parameters of the loss ``id``, such as ``loss.clip_high``.
    """

    model_config = pydantic.ConfigDict(extra="allow")

    id: str | None = None
    """The loss of a token: an id, or module:NAME; null for the one that the algorithm names."""
    importance_cap: float | None = Field(default=2.0, gt=0)
    """Largest importance weight between learner and sampler; null for no importance weights."""
    kl: float = Field(default=0.0, ge=0)
    """Coefficient of the KL to the initial model."""
    kl_kind: Literal["k1", "k2", "k3"] = "k3"
    """Estimator of the KL."""
    entropy: float = Field(default=0.0, ge=0)
    """Entropy bonus coefficient (entropy is maximised)."""
    length_norm: Literal["constant", "response", "token"] | None = None
    """Length normalisation; null for the one that the algorithm's authors use."""
    length_constant: float | None = Field(default=None, gt=0)
    """C of ``length_norm=constant``; null for ``sampling.max_new_tokens``."""
    unit: Literal["turn", "episode"] | None = None
    """Whether a response is a turn or an episode; null for the choice of the algorithm."""
    rows: Literal["episodes", "turns"] = "episodes"
    """Whether a row of a batch is an episode or a turn; same loss, but episodes are cheaper."""
    drop_cut: bool = False
    """Leave responses that were cut at their token limit out of the loss."""

    @pydantic.model_validator(mode="before")
    @classmethod
    def _renamed(cls, values: Any) -> Any:
        if not isinstance(values, dict) or "kind" not in values:
            return values
        warnings.warn("loss.kind is now loss.id.", FutureWarning, stacklevel=2)
        return {"id" if name == "kind" else name: value for name, value in values.items()}


class OptimiserConfig(_Part):
    """AdamW, and how a batch is divided into updates and parts."""

    kind: Literal["adamw", "adamw8bit"] = "adamw"
    """adamw8bit keeps the moments in 2 bytes per parameter instead of 8; it needs torchao."""
    lr: float = Field(default=1e-5, gt=0)
    """Learning rate."""
    betas: tuple[float, float] = (0.9, 0.95)
    """Decay rates of the moments."""
    eps: float = Field(default=1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Weight decay."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Learning rate schedule after the warm-up; linear and cosine reach 0 at the last step."""
    warmup_steps: int = Field(default=0, ge=0)
    """Number of updates over which the learning rate rises from 0."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients are clipped to this norm."""
    epochs: int = Field(default=1, ge=1)
    """Passes over the episodes of a step."""
    minibatches: int = Field(default=1, ge=1)
    """Updates per epoch, each on its part of the rows."""
    tokens: int = Field(default=16384, ge=1)
    """Most tokens per forward pass, padding included; gradients are accumulated."""


class CriticConfig(_Part):
    """The critic, for algorithms that have one."""

    lr: float | None = Field(default=None, gt=0)
    """Learning rate; null for ``optim.lr``."""
    clip: float | None = Field(default=0.2, gt=0)
    """Distance beyond which a value gets no gradient for moving further; null for no clipping."""


class EvalConfig(_Part):
    """Evaluation during training, always on the same tasks."""

    every: int = Field(default=0, ge=0)
    """Steps between evaluations, the first before any step; 0 for none."""
    episodes: int = Field(default=64, ge=1)
    """Episodes of each environment."""
    temperature: float | None = Field(default=None, ge=0)
    """Sampling temperature; null for ``sampling.temperature``."""
    envs: list[str] = []
    """Ids of environments; an empty list for those of training."""


class CheckpointConfig(_Part):
    """Checkpoints."""

    every: int = Field(default=50, ge=0)
    """Steps between checkpoints; 0 for one at the end only."""
    keep: int = Field(default=2, ge=1)
    """Number of newest checkpoints to keep."""


class LogConfig(_Part):
    """Where metrics and episodes are written."""

    writers: list[str | dict[str, Any]] = ["csv"]
    """Metric writers: ids, module:NAME, or mappings with such an id and parameters."""
    trajectories_every: int = Field(default=10, ge=0)
    """Steps between those whose episodes are saved for ``gem-core view``; 0 for none."""
    plot: bool = True
    """Write ``curves.png`` at the end."""
    warn_after: int = Field(default=10, ge=0)
    """Number of consecutive steps after which a sign of a broken run is reported, such as gradients
    of 0 or a collapsed entropy; 0 for no such reports."""


class TrainConfig(_Part):
    """A training run."""

    model: str = Field(min_length=1)
    """Folder or name of the model."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, ..."""
    precision: Literal["float32", "bf16"] = "float32"
    """bf16 samples and learns with weights in bfloat16; the optimiser keeps them in float32."""
    attn_implementation: str | None = None
    """The attention of transformers: sdpa, eager, flash_attention_2, ...; null for its default."""
    compile: dict[str, Any] | None = None
    """Arguments of torch.compile for the learner's forward pass, such as compile.mode=default;
    null to not compile it."""
    threads: int | None = Field(default=None, ge=1)
    """Most threads of torch; null for 1 if the model is small, else the usable cores."""
    lora: dict[str, Any] | None = None
    """Parameters of peft's LoraConfig, to train adapters only."""
    gradient_checkpointing: bool = False
    """Recompute activations in the backward pass to save memory."""
    steps: int = Field(default=100, ge=1)
    """Number of steps; each collects episodes and learns from them."""
    stop_after: int = Field(default=0, ge=0)
    """End the run, as if it had no more steps, after this number of consecutive steps in which no
    advantage differed from 0, as in groups of equal returns; 0 for never."""
    seed: int = Field(default=0, ge=0)
    """Seed of all random draws."""
    algo: dict[str, Any] = {"id": "rebn"}
    """The algorithm: its id and its own parameters."""
    curriculum: dict[str, Any] | None = None
    """The curriculum: its id and its own parameters; null for the environments' own weights."""
    filters: dict[str, Any] | list[Any] = []
    """Episode filters; a mapping from any name to an id and parameters, or a list of such."""
    shapers: dict[str, Any] | list[Any] = []
    """Reward shapers, in their order; a mapping or a list as above."""
    rollout: RolloutConfig = RolloutConfig()
    sampling: SamplingConfig = SamplingConfig()
    loss: LossConfig = LossConfig()
    optim: OptimiserConfig = OptimiserConfig()
    critic: CriticConfig = CriticConfig()
    eval: EvalConfig = EvalConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    log: LogConfig = LogConfig()
    progress: Literal["auto", "live", "lines", "off"] = "auto"
    """Progress on standard error: auto (live at a terminal, else lines), live, lines or off."""

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
