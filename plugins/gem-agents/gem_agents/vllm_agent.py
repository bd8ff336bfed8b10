"""The agent ``vllm``: samples token by token from vLLM, as a server or in this process."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_core.secret import Secret
from gem_core.signatures import passes_options_to
from gem_rollout.models.pretrained import find_pretrained
from gem_rollout.tokens.agent import TokenAgent
from gem_rollout.tokens.limits import Limits

__all__ = ["VllmAgent"]


class VllmAgent(TokenAgent):
    """Samples from vLLM with token ids, as training needs it.

    Unlike the agent ``openai``, it renders the chat itself and sends token ids, so that no token is
    tokenised again, and it sends every sampling parameter. Observations must be text. Agents with
    the same arguments share an engine in this process, which ends with the process.

    Args:
        model: Name or folder of the model, whose tokenizer is loaded; or a sampling model of
            another agent, ``agent.sampler``, to share it.
        base_url: URL of a vLLM server, including ``/v1``; None for vLLM in this process.
        served_model: The server's name of the model; None for the first one that it lists.
        api_key: The server's key.
        engine: Arguments of ``vllm.AsyncEngineArgs`` for vLLM in this process.
        tokenizer: The tokenizer; None for that of ``model``.
        end_ids: Tokens that end a reply; None for the end of a sequence of the tokenizer.
        max_new_tokens: Most tokens of a reply.
        sampling: ``temperature``, ``top_p``, ``stop``, ``scaled_logprobs``, ``seed``, ``system``,
            ``history`` and ``template``; see ``TokenAgent``. With ``scaled_logprobs``, which vLLM
            calls ``processed_logprobs``, a server that returns others is refused.

    Raises:
        ConfigError: A parameter is invalid, the tokenizer cannot be loaded, or the server's
            log-probabilities are not those at the temperature.
        AdapterError: The server cannot be reached.
    """

    @passes_options_to(TokenAgent, without={"name", "limits", "one_sequence"})
    def __init__(
        self,
        *,
        model: Any,
        base_url: str | None = None,
        served_model: str | None = None,
        api_key: Secret | None = None,
        engine: Mapping[str, Any] | None = None,
        tokenizer: Any = None,
        end_ids: Sequence[int] | None = None,
        max_new_tokens: int = 512,
        **sampling: Any,
    ) -> None:
        if max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens must be at least 1; got {max_new_tokens}.")
        if base_url is not None and engine:
            raise ConfigError(
                "engine= has the arguments of vLLM in this process; those of a server belong to "
                "its command line. Give base_url= or engine=, not both."
            )
        sampler = model
        if not hasattr(model, "submit"):
            known = {
                "tokenizer": _tokenizer_of(model) if tokenizer is None else tokenizer,
                "end_ids": None if end_ids is None else frozenset(end_ids),
            }
            sampler = _sampler_of(model, base_url, served_model, api_key, engine, known)
        super().__init__(
            sampler,
            name=model if isinstance(model, str) else type(model).__name__,
            limits=Limits(turn_tokens=max_new_tokens, context=sampler.context),
            **sampling,
        )
        if self._scaled_logprobs and self._temperature > 0:
            sampler.check_logprobs(self._temperature)


def _sampler_of(
    model: str,
    base_url: str | None,
    served_model: str | None,
    api_key: str | None,
    engine: Mapping[str, Any] | None,
    known: dict[str, Any],
) -> Any:
    if base_url is None:
        from gem_agents.vllm_engine import share_engine  # noqa: PLC0415 - only where it is used

        return share_engine(find_pretrained(model)[0], options=engine, **known)
    from gem_agents.vllm_server import VllmServer  # noqa: PLC0415 - only where it is used

    return VllmServer(base_url, model=served_model, api_key=api_key, **known)


@functools.cache
def _tokenizer_of(name: str) -> Any:
    require("gem-agents[templates]", "The agent 'vllm'")
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    found, options = find_pretrained(name)
    try:
        return transformers.AutoTokenizer.from_pretrained(found, **options)
    except (OSError, ValueError) as error:
        raise ConfigError(f"The tokenizer of {name!r} cannot be loaded: {error}") from error
