"""A vLLM server as a model that samples tokens.

Prompts and replies are token ids, over the completions API of vLLM's OpenAI-compatible server
(https://docs.vllm.ai/en/latest/serving/openai_compatible_server/). Every request says all sampling
parameters: where one is missing, vLLM takes it from the model's ``generation_config.json``, which
often has a ``top_k`` or ``top_p`` of which the log-probabilities know nothing.

Adapters (LoRA) are loaded by name
(https://docs.vllm.ai/en/latest/features/lora/). vLLM keys its prefix cache by the name, so each
version of the adapters has its own; under an old name, the keys and values of old weights would
answer.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from gem_agents.client import Client
from gem_agents.errors import BadRequestError, MalformedReplyError
from gem_agents.fast_json import write_json
from gem_agents.replies import Answer, read_completion
from gem_core.background import BackgroundLoop
from gem_core.errors import ConfigError, GemError
from gem_core.secret import Secret
from gem_rollout.tokens.sampler import Request, Sampled
from gem_rollout.tokens.text import TokenText

__all__ = ["AdapterError", "VllmServer"]

_SEED_BITS = 2**63 - 1
_PROBED = 5
"""Number of most likely tokens that are compared to identify the kind of log-probabilities."""


class AdapterError(GemError, ConnectionError):
    """A server cannot be reached, or did not load adapters."""


class VllmServer:
    """A vLLM server; agents that sample from it are ``gem_rollout.tokens.agent.TokenAgent``.

    Args:
        base_url: The server's URL, including ``/v1``.
        tokenizer: The tokenizer of its model.
        end_ids: Tokens that end a reply; None for the tokenizer's.
        model: Name of the model; None for the first one that the server lists.
        api_key: The key, if the server has one.
        timeout: Time limit of a request in seconds.
        max_in_flight: Most requests at the same time.

    Attributes:
        model: The name that requests ask for: the model, or its adapters.
        version: Version of the weights, set by whoever updates them; None if unknown.

    Raises:
        ConfigError: The URL is invalid, or the server does not serve the model.
        AdapterError: The server cannot be reached.
    """

    def __init__(
        self,
        base_url: str,
        *,
        tokenizer: Any,
        end_ids: frozenset[int] | None = None,
        model: str | None = None,
        api_key: Secret | None = None,
        timeout: float = 600.0,
        max_in_flight: int = 4096,
    ) -> None:
        self.tokenizer = tokenizer
        self._text = TokenText(tokenizer, end_ids)
        self._url, self._key, self._timeout = base_url.rstrip("/"), api_key, timeout
        self._options: dict[str, Any] = {
            "timeout": timeout,
            "max_attempts": 8,
            "max_seconds": 600.0,
            "max_in_flight": max_in_flight,
        }
        self._client = Client(base_url, api_key, **self._options)
        card = self._card(model)
        self.model: str = card["id"]
        self.version: int | None = None
        self.context: int = card.get("max_model_len") or 2**31
        self._adapters: str | None = None
        self._is_checked = False

    def _card(self, model: str | None) -> Mapping[str, Any]:
        cards = {one["id"]: one for one in self._call("models").get("data", [])}
        if not cards:
            raise ConfigError(f"{self._url} serves no model.")
        if model is not None and model not in cards:
            raise ConfigError(f"{self._url} serves {', '.join(cards)}; got {model!r}.")
        return cards[model] if model is not None else next(iter(cards.values()))

    async def submit(self, request: Request) -> Sampled:
        """Return the reply to a prompt.

        Raises:
            EndpointError: The server refused, or all attempts failed.
            MalformedReplyError: The answer has no token ids or log-probabilities, or was sampled
                from another prompt.
        """
        body, version = write_json(self.body(request)), self.version
        answer, timing = await self._client.post("completions", body, read_completion)
        self._check(request, answer)
        ids = answer.token_ids or []
        return Sampled(
            ids,
            answer.logprobs or [],
            answer.finish_reason == "stop",
            timing.queue_seconds,
            timing.model_seconds,
            [version] * len(ids),
        )

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request, with every parameter that changes the distribution."""
        seed = {} if request.seed is None else {"seed": request.seed & _SEED_BITS}
        return {
            "model": self.model,
            "prompt": request.ids,
            "max_tokens": min(request.max_new_tokens, self.context - len(request.ids)),
            "temperature": request.temperature,
            "top_p": request.top_p,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "stop": list(request.stop),
            "include_stop_str_in_output": True,
            "skip_special_tokens": False,
            "add_special_tokens": False,
            "logprobs": 0,
            "return_token_ids": True,
            **seed,
        }

    def _check(self, request: Request, answer: Answer) -> None:
        if not answer.token_ids or not answer.logprobs:
            raise MalformedReplyError(
                f"The answer of {self._url}/completions has no token ids or no log-probabilities; "
                f"vLLM returns them from version 0.10.2 on (return_token_ids, logprobs)."
            )
        if answer.prompt_ids is not None and answer.prompt_ids != request.ids:
            raise MalformedReplyError(
                f"{self._url} sampled from {len(answer.prompt_ids)} tokens that are not the "
                f"{len(request.ids)} of the prompt; start it without a truncation of prompts."
            )

    def text_of(self, sampled: Sampled) -> str:
        """Return the text of a reply, without the token that ended it."""
        return self._text.of(sampled.ids)

    def leave(self, _agent: object) -> None:
        """Release the connections; the next request opens them again."""
        self._client.release()

    def check_logprobs(self, temperature: float) -> None:
        """Check that the server's log-probabilities are those at a temperature.

        The most likely tokens of one prompt are asked for at this temperature and at 1, once.

        Args:
            temperature: The temperature of sampling, above 0.

        Raises:
            ConfigError: They are those of the model at temperature 1.
        """
        if temperature == 1 or self._is_checked:
            return
        loop = BackgroundLoop()
        try:
            plain, scaled = loop.run(self._probe(temperature))
        finally:
            loop.close()
        same = [abs(plain[name] - scaled[name]) < 1e-4 for name in plain.keys() & scaled.keys()]
        if same and all(same):
            raise ConfigError(
                f"{self._url} returns the log-probabilities of the model at temperature 1, and "
                f"replies are sampled at temperature {temperature:g}: a learner would take the "
                f"difference for another policy. Start vLLM with --logprobs-mode "
                f"processed_logprobs."
            )
        self._is_checked = True

    async def _probe(self, temperature: float) -> list[dict[str, float]]:
        client = Client(self._url, self._key, **self._options)
        ids = self.tokenizer.encode("1", add_special_tokens=False) or [0]
        found = []
        try:
            for one in (1.0, temperature):
                body = self.body(Request(ids, 1, one, seed=0)) | {"logprobs": _PROBED}
                likely, _ = await client.post("completions", write_json(body), _likely)
                found.append(likely)
        finally:
            client.close()
        return found

    def use_adapters(self, name: str, path: str) -> None:
        """Sample with adapters from now on, and unload those before.

        The server needs ``--enable-lora`` and ``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1``, and must be
        able to read the folder.

        Args:
            name: Their name, which no other adapters of this server have had.
            path: The folder that peft wrote.

        Raises:
            AdapterError: The server cannot be reached, or refuses.
        """
        self._call("load_lora_adapter", lora_name=name, lora_path=path)
        before, self._adapters, self.model = self._adapters, name, name
        if before is not None:
            self._call("unload_lora_adapter", lora_name=before)

    def _call(self, path: str, **body: str) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        url = f"{self._url}/{path}"
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(url, data=data, headers=headers)  # noqa: S310 - the user's
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:  # noqa: S310
                text = answer.read()
        except urllib.error.HTTPError as error:
            said = error.read(500).decode(errors="replace")
            raise AdapterError(f"{url} answered {error.code}: {said}") from error
        except OSError as error:
            raise AdapterError(f"{url} cannot be reached: {error}") from error
        if body:  # the answer is a sentence
            return {}
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise BadRequestError(f"{url} did not answer with JSON: {error}") from error
        return found


def _likely(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return the log-probabilities of the most likely first tokens."""
    found: dict[str, float] = answer["choices"][0]["logprobs"]["top_logprobs"][0]
    return found
