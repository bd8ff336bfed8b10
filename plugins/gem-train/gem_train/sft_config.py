"""The configuration of supervised training; this module does not import torch."""

import pydantic
from pydantic import Field

from gem_train.schedule import Schedule

__all__ = ["SFTConfig"]


class SFTConfig(pydantic.BaseModel):
    """The configuration of ``sft``."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    steps: int | None = Field(default=None, ge=1)
    """Number of updates; null for the number that ``epochs`` requires."""
    epochs: int = Field(default=1, ge=1)
    """Passes over the episodes if ``steps`` is null."""
    batch_size: int = Field(default=16, ge=1)
    """Episodes per update."""
    tokens: int = Field(default=16384, ge=1)
    """Most tokens per forward pass, padding included; gradients are accumulated."""
    lr: float = Field(default=1e-3, gt=0)
    """Learning rate of AdamW; 1e-3 suits tiny models, 1e-5 large ones."""
    schedule: Schedule = "cosine"
    """Learning rate schedule after the warm-up."""
    warmup_steps: int = Field(default=20, ge=0)
    """Number of updates over which the learning rate rises from 0."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients are clipped to this norm."""
    held_out: float = Field(default=0.05, ge=0, lt=1)
    """Share of the start states whose episodes are held out for the validation loss."""
    validate_every: int = Field(default=50, ge=1)
    """Updates between validations; the first one is before any update."""
    seed: int = Field(default=0, ge=0)
    """Seed of the held-out split and of the order of the episodes."""
