"""The client of an engine: vLLM, SGLang, or any endpoint that speaks OpenAI's API."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self

import aiohttp
import orjson

from gem_core.errors import ConfigError
from gem_core.secret import Secret
from gem_serve.gateway.answers import (
    ChatReader,
    Piece,
    TextReader,
    data_of,
    loads,
    refusal,
    whole_of,
)
from gem_serve.gateway.apis import api_of
from gem_serve.gateway.events import Ask, CallError, Message

__all__ = ["EngineClient"]

_UNKNOWN = 2**31
"""The context of a model whose engine does not list it."""


class EngineClient:
    """An engine at a URL; use it as an asynchronous context manager.

    Args:
        url: Its URL, with or without ``/v1``.
        model: The name of its model; None for the first one that it lists.
        api_key: Its key, if it has one.
        kind: ``vllm`` or ``sglang`` for these servers; ``openai`` for others, whose calls are
            recorded without tokens.
        timeout: Most seconds for a reply.

    Raises:
        ConfigError: The kind is unknown.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: Secret | None = None,
        kind: str = "vllm",
        timeout: float = 3600.0,
    ) -> None:
        self._api = api_of(kind)
        self.url = url.rstrip("/").removesuffix("/v1")
        self.model = model or ""
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=30)
        self._context: int | None = None
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        self._http = aiohttp.ClientSession(connector=connector, timeout=self._timeout)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()

    async def name(self) -> str:
        """Return the name of the model, which the engine is asked for if it was not given.

        Raises:
            CallError: The engine does not answer, or has no model.
        """
        if not self.model:
            cards = (await self._json("GET", "/v1/models")).get("data") or []
            if not cards:
                raise CallError(502, f"The engine at {self.url} serves no model.", "engine")
            self.model = cards[0]["id"]
        return self.model

    async def context(self) -> int:
        """Return the most tokens of a prompt and its reply, as the engine lists them.

        Adapters have the context of the model that they belong to, their ``parent``.

        Raises:
            CallError: The engine does not answer.
        """
        if not self._api.has_context:
            return _UNKNOWN
        if self._context is None:
            cards = (await self._json("GET", "/v1/models")).get("data") or []
            named = {one["id"]: one for one in cards}
            card = named.get(await self.name(), {})
            base = named.get(card.get("parent"), {})
            found = card.get("max_model_len") or base.get("max_model_len")
            self._context = found or _UNKNOWN
        return self._context

    async def chat(self, ask: Ask, sampling: Mapping[str, Any]) -> AsyncIterator[Piece]:
        """Yield the pieces of the reply to a chat, which the engine renders and parses.

        Args:
            ask: The request.
            sampling: The sampling parameters.

        Raises:
            CallError: The engine refused, failed or stopped in the middle.
        """
        tools = {"tools": ask.tools} if ask.tools else {}
        options = {**ask.options}
        if not ask.tools:
            options.pop("tool_choice", None)
            options.pop("parallel_tool_calls", None)
        body = {
            **await self._body(ask, sampling),
            **self._api.chat,
            "messages": self._api.messages(ask.messages),
            **tools,
            **options,
            "logprobs": True,
        }
        reader = ChatReader(is_stream=ask.stream)
        async for answer in self._answers("/v1/chat/completions", body):
            yield reader.read(answer)
        yield reader.end()

    async def complete(
        self, prompt: str | Sequence[int], ask: Ask, sampling: Mapping[str, Any]
    ) -> AsyncIterator[Piece]:
        """Yield the pieces of the reply to a prompt; their events are texts and the end.

        Args:
            prompt: The prompt as text or token ids.
            ask: The request, for its limits.
            sampling: The sampling parameters.

        Raises:
            CallError: The engine refused, failed or stopped in the middle.
        """
        body = {
            **await self._body(ask, sampling),
            **self._api.completion,
            "prompt": prompt,
            "logprobs": 0,
        }
        if "response_format" in ask.options:
            body["response_format"] = ask.options["response_format"]
        reader = TextReader(is_stream=ask.stream)
        async for answer in self._answers("/v1/completions", body):
            yield reader.read(answer)
        yield reader.end()

    async def tokenize(self, messages: Sequence[Message], **options: Any) -> list[int]:
        """Return the token ids of a rendered chat.

        Args:
            messages: The chat.
            options: ``tools``, ``add_generation_prompt``, ...

        Raises:
            CallError: The engine refused or failed.
        """
        body = {"model": await self.name(), "messages": self._api.messages(messages), **options}
        found: list[int] = (await self._json("POST", "/tokenize", body))["tokens"]
        return found

    async def _body(self, ask: Ask, sampling: Mapping[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": await self.name(), **self._api.sampling(sampling)}
        if ask.max_tokens is not None:  # engines refuse more than the context
            body["max_tokens"] = min(ask.max_tokens, await self.context())
        elif ask.budget is not None and ask.budget < await self.context():
            body["max_tokens"] = ask.budget
        if ask.stop:
            body["stop"] = list(ask.stop)
        if ask.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    async def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else orjson.dumps(body)
        try:
            async with self._session.request(
                method, self.url + path, data=data, headers=self._headers
            ) as response:
                text = await whole_of(response)
                if response.status >= 400:
                    raise _refusal(response, text)
                return loads(text)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._broken(error) from error

    async def _answers(self, path: str, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the answer, or the data of each event of a stream."""
        try:
            async with self._session.post(
                self.url + path, data=orjson.dumps(body), headers=self._headers
            ) as response:
                if response.status >= 400:
                    raise _refusal(response, await whole_of(response))
                if not body.get("stream"):
                    yield loads(await whole_of(response))
                    return
                async for data in data_of(response):
                    yield loads(data)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._broken(error) from error

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise ConfigError("Use the engine as a context manager: async with EngineClient(url).")
        return self._http

    def _broken(self, error: Exception) -> CallError:
        said = str(error) or type(error).__name__
        return CallError(502, f"The engine at {self.url} does not answer: {said}", "engine")


def _refusal(response: aiohttp.ClientResponse, text: bytes) -> CallError:
    return refusal(response.status, text, response.headers.get("Retry-After"))
