"""The limits of a sampler's batch, which it lowers when memory runs out."""

from dataclasses import dataclass

__all__ = ["BatchLimits"]


@dataclass
class BatchLimits:
    """Limits of what a sampler computes and keeps at the same time, and how often they were hit.

    Args:
        rows: Most prompts that are decoded at the same time. It is halved when memory runs out.
        kv_tokens: Most tokens of the KV cache, padding included; None for no limit. A single prompt
            is decoded whatever its length.
        idle_rows: Most rows of the cache, those of idle episodes included; None for no limit.
        memory_errors: How often memory ran out.
        preemptions: How often a prompt had to wait in the middle of its reply.
    """

    rows: int
    kv_tokens: int | None = None
    idle_rows: int | None = None
    memory_errors: int = 0
    preemptions: int = 0
