"""The agent ``transformers``: samples from a transformers model in this process."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gem_core.errors import ConfigError
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
        temperature: Sampling temperature; 0 for the most likely tokens.
        top_p: Sample from the most likely tokens that together have this probability, in (0, 1].
        stop: Strings that end a reply and stay part of it. The token that completes one may contain
            further text.
        scaled_logprobs: Whether log-probabilities are those of the distribution at the temperature,
            over all tokens regardless of ``top_p``, instead of the model's own. At temperature 0,
            they are the model's own.
        seed: Seed of the sampling; None for a random one.
        system: The system message.
        history: ``agent``, ``env`` or ``auto``, as for the agent ``openai``.
        batch_size: Most episodes that are decoded at the same time. It is halved when memory runs
            out, and the replies go on.
        kv_tokens: Most tokens of the KV cache, padding included; the replies that began last wait
            while there is no room. None for no limit.
        template: More variables for the chat template, such as ``{"enable_thinking": False}``.

    Raises:
        ConfigError: A parameter is invalid, torch or transformers are not installed, or the model
            cannot be loaded.
    """

    def __init__(
        self,
        *,
        model: Any,
        tokenizer: Any = None,
        device: str = "auto",
        dtype: str = "auto",
        max_new_tokens: int = 512,
        temperature: float = 1.0,
        top_p: float = 1.0,
        stop: Sequence[str] = (),
        scaled_logprobs: bool = False,
        seed: int | None = None,
        system: str | None = None,
        history: Literal["auto", "agent", "env"] = "auto",
        batch_size: int = 64,
        kv_tokens: int | None = None,
        template: Mapping[str, Any] | None = None,
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
            temperature=temperature,
            top_p=top_p,
            stop=stop,
            scaled_logprobs=scaled_logprobs,
            seed=seed,
            system=system,
            history=history,
            template=template,
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
    try:
        from gem_agents.local_model import load_model, share_model  # noqa: PLC0415 - imports torch
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The agent 'transformers' needs {error.name}: pip install gem-agents[local]."
        ) from None
    if is_name:
        return load_model(model, device=device, dtype=dtype, **limits)
    if device != "auto" or dtype != "auto":
        raise ConfigError(
            f"A live model stays on its device and keeps its dtype; got {device!r} and {dtype!r}."
        )
    return share_model(model, tokenizer, **limits)
