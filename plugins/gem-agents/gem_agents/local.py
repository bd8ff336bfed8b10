"""The agent ``transformers``: samples from a transformers model in this process."""

from collections.abc import Mapping
from typing import Any

from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.signatures import passes_options_to
from gem_rollout.tokens.agent import TokenAgent
from gem_rollout.tokens.limits import Limits
from gem_rollout.tokens.sampler import SamplingModel

__all__ = ["LocalAgent"]


class LocalAgent(TokenAgent):
    """Samples from a language model of transformers in this process.

    All agents with the same model share it, and their episodes are decoded in one batch. The prompt
    is rendered by the model's chat template, with ``info["tool_schemas"]`` as tools. If the prompt
    extends the earlier turns, sampled tokens are kept and not tokenised again. Replies have token
    ids and log-probabilities. Observations may show images to a vision-language model.

    Args:
        model: Name or folder of a model; or a live model of transformers or peft, which is sampled
            with its current weights; or a ``SamplingModel``.
        tokenizer: The tokenizer of a live model, or its processor if it reads images; None
            otherwise.
        device: ``auto`` (CUDA if available, else the CPU), ``cpu``, ``cuda:1``, ...; a live model
            stays on its device.
        dtype: ``auto`` (as the model was saved), ``float32``, ``bfloat16``, ...; a live model
            keeps its dtype.
        max_new_tokens: Most tokens of a reply.
        batch_size: Most episodes that are decoded at the same time. It is halved when memory runs
            out, and the replies go on.
        kv_tokens: Most tokens of the KV cache, padding included; the replies that began last wait
            while there is no room. None for no limit.
        sampling: ``temperature``, ``top_p``, ``stop``, ``scaled_logprobs``, ``seed``, ``system``,
            ``history`` and ``template``; see ``TokenAgent``.

    Raises:
        NotInstalledError: torch or transformers are not installed, or the model was not fetched.
        ConfigError: A parameter is invalid, or the model cannot be loaded.
    """

    @passes_options_to(TokenAgent, without={"name", "limits", "one_sequence"})
    def __init__(
        self,
        *,
        model: Any,
        tokenizer: Any = None,
        device: str = "auto",
        dtype: str = "auto",
        max_new_tokens: int = 512,
        batch_size: int = 64,
        kv_tokens: int | None = None,
        **sampling: Any,
    ) -> None:
        if max_new_tokens < 1 or batch_size < 1 or (kv_tokens is not None and kv_tokens < 1):
            raise ConfigError(
                f"A local model needs max_new_tokens >= 1, batch_size >= 1 and kv_tokens >= 1; got "
                f"{max_new_tokens}, {batch_size} and {kv_tokens}."
            )
        sampler = _sampling_model(
            model, tokenizer, device, dtype, {"batch_size": batch_size, "kv_tokens": kv_tokens}
        )
        super().__init__(
            sampler,
            name=model if isinstance(model, str) else type(model).__name__,
            limits=Limits(turn_tokens=max_new_tokens, context=sampler.context),
            **sampling,
        )


def _sampling_model(
    model: Any, tokenizer: Any, device: str, dtype: str, limits: Mapping[str, Any]
) -> SamplingModel:
    is_name, is_ready = isinstance(model, str), hasattr(model, "submit")
    if is_name or is_ready:
        if tokenizer is not None:
            raise ConfigError(f"The model {model!r} has its own tokenizer: omit tokenizer=.")
    elif tokenizer is None:
        raise ConfigError(f"A live model needs its tokenizer=; got a {type(model).__name__}.")
    if is_ready:
        ready: SamplingModel = model
        return ready
    require("gem-agents[local]", "The agent 'transformers'")
    from gem_agents.local_model import load_model, share_model  # noqa: PLC0415 - imports torch

    if is_name:
        return load_model(model, device=device, dtype=dtype, **limits)
    if device != "auto" or dtype != "auto":
        raise ConfigError(
            f"A live model stays on its device and keeps its dtype; got {device!r} and {dtype!r}."
        )
    return share_model(model, tokenizer, **limits)
