"""The configuration of supervised training, which needs no torch to be checked."""

import pydantic
from pydantic import Field

from gem_train.schedule import Schedule

__all__ = ["SFTConfig"]


class SFTConfig(pydantic.BaseModel):
    """How to train."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    steps: int | None = Field(default=None, ge=1)
    """Updates; null for as many as ``epochs`` make."""
    epochs: int = Field(default=1, ge=1)
    """How often every episode is seen, without ``steps``."""
    batch_size: int = Field(default=16, ge=1)
    """Episodes of an update."""
    tokens: int = Field(default=16384, ge=1)
    """Most tokens, padding included, that are on the way at once; gradients add up."""
    lr: float = Field(default=1e-3, gt=0)
    """Learning rate of AdamW; 1e-3 suits tiny models, 1e-5 large ones."""
    schedule: Schedule = "cosine"
    """What the learning rate does after the warm-up."""
    warmup_steps: int = Field(default=20, ge=0)
    """Updates in which the learning rate rises from 0."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decay of the weights."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients are scaled down to this norm."""
    held_out: float = Field(default=0.05, ge=0, lt=1)
    """Share of the start states that are not learned from; the loss of their episodes is logged."""
    validate_every: int = Field(default=50, ge=1)
    """Updates between losses of what is held out; there is one before the first, too."""
    seed: int = Field(default=0, ge=0)
    """Of what is held out, and of the order of the episodes."""
