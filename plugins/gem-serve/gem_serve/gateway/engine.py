"""The client of an engine: a vLLM server, or any endpoint that speaks OpenAI's API.

vLLM returns token ids with ``return_token_ids`` (``prompt_token_ids`` and ``token_ids`` of answers
and of the pieces of streams), and renders chats at ``/tokenize``
(https://docs.vllm.ai/en/latest/serving/openai_compatible_server/). Every request says all sampling
parameters, because a server takes missing ones from the model's ``generation_config.json``.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import aiohttp
import orjson

from gem_core.errors import ConfigError
from gem_serve.gateway.events import (
    Arguments,
    Ask,
    CallError,
    Event,
    Finish,
    Message,
    Reasoning,
    Text,
    ToolStart,
)

__all__ = ["Engine", "Piece"]

_NEUTRAL = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
_PLAIN = ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty")
_CONTEXT = re.compile(r"context length|context window|maximum.{0,20}length|too long", re.IGNORECASE)
_LONGEST_MESSAGE = 2000


class Piece(NamedTuple):
    """A piece of a reply.

    Args:
        events: What it adds to the reply.
        ids: The sampled token ids.
        logprobs: Their log-probabilities in nats.
        prompt_ids: Token ids of the prompt; None if the piece does not say.
    """

    events: list[Event]
    ids: list[int]
    logprobs: list[float | None]
    prompt_ids: list[int] | None = None


class Engine:
    """An engine at a URL; use it as an asynchronous context manager.

    Args:
        url: Its URL, with or without ``/v1``.
        model: The name of its model; None for the first one that it lists.
        api_key: Its key, if it has one.
        kind: ``vllm`` for servers that return token ids, ``openai`` for others, whose calls are
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
        api_key: str | None = None,
        kind: str = "vllm",
        timeout: float = 3600.0,
    ) -> None:
        if kind not in {"vllm", "openai"}:
            raise ConfigError(f"The kind of an engine is vllm or openai; got {kind!r}.")
        self.url = url.rstrip("/").removesuffix("/v1")
        self.model = model or ""
        self.kind = kind
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

        Raises:
            CallError: The engine does not answer.
        """
        if self._context is None:
            cards = (await self._json("GET", "/v1/models")).get("data") or []
            known = [one.get("max_model_len") for one in cards if one["id"] == await self.name()]
            self._context = next((one for one in known if one), 2**31)
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
            "messages": ask.messages,
            **tools,
            **options,
            "logprobs": True,
        }
        reader = _ChatReader()
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
        body = {**await self._body(ask, sampling), "prompt": prompt, "logprobs": 0}
        if "response_format" in ask.options:
            body["response_format"] = ask.options["response_format"]
        if self.kind == "vllm":
            body |= {"skip_special_tokens": False, "add_special_tokens": isinstance(prompt, str)}
        reader = _TextReader()
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
        body = {"model": await self.name(), "messages": messages, **options}
        found: list[int] = (await self._json("POST", "/tokenize", body))["tokens"]
        return found

    async def _body(self, ask: Ask, sampling: Mapping[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": await self.name(), **_NEUTRAL, **sampling}
        if self.kind == "vllm":
            body["return_token_ids"] = True
        else:
            body = {name: body[name] for name in ("model", *_PLAIN) if name in body}
        if ask.max_tokens is not None:
            body["max_tokens"] = ask.max_tokens
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
                text = await response.read()
                if response.status >= 400:
                    raise _refusal(response, text)
                found: dict[str, Any] = _loads(text)
                return found
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._broken(error) from error

    async def _answers(self, path: str, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the answer, or the data of each event of a stream."""
        try:
            async with self._session.post(
                self.url + path, data=orjson.dumps(body), headers=self._headers
            ) as response:
                if response.status >= 400:
                    raise _refusal(response, await response.read())
                if not body.get("stream"):
                    yield _loads(await response.read())
                    return
                async for data in _events(response):
                    yield _loads(data)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._broken(error) from error

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            raise ConfigError("Use the engine as a context manager: async with Engine(url).")
        return self._http

    def _broken(self, error: Exception) -> CallError:
        said = str(error) or type(error).__name__
        return CallError(502, f"The engine at {self.url} does not answer: {said}", "engine")


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the data of server-sent events; lines may be longer than aiohttp's limit."""
    rest = b""
    async for data in response.content.iter_any():
        *lines, rest = (rest + data if rest else data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                found = line[5:].strip()
                if found != b"[DONE]":
                    yield found


def _loads(text: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except ValueError:
        found = _lenient(text)
    if not isinstance(found, dict):
        raise CallError(502, "The engine's answer is not a JSON object.", "engine")
    if found.get("error"):
        raise CallError(502, f"The engine failed: {_message(found)}", "engine")
    return found


def _lenient(text: bytes) -> Any:
    """Read what orjson refuses: NaN, and halves of characters, which become question marks."""
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace")
        return json.loads(whole)
    except ValueError as error:
        raise CallError(502, f"The engine's answer is not JSON: {error}", "engine") from error


def _message(found: Mapping[str, Any]) -> str:
    error = found.get("error", found)
    said = error.get("message") if isinstance(error, Mapping) else error
    return str(said or found)[:_LONGEST_MESSAGE]


def _refusal(response: aiohttp.ClientResponse, text: bytes) -> CallError:
    try:
        message = _message(orjson.loads(text))
    except (ValueError, AttributeError):
        message = text[:_LONGEST_MESSAGE].decode(errors="replace")
    status = response.status
    kind = "engine" if status >= 500 else "invalid"
    if status == 503:
        kind = "unavailable"
    if status == 429:
        kind = "limit"
    if status in {400, 413} and _CONTEXT.search(message):
        kind = "context"
    return CallError(status, message, kind, retry_after=response.headers.get("Retry-After"))


class _Reader:
    """Reads answers, and the pieces of streams, which end with the numbers of tokens."""

    def __init__(self) -> None:
        self._finish: str | None = None
        self._has_ended = False
        self._sampled = 0
        self._given = 0

    def end(self) -> Piece:
        """Return the end of a reply whose numbers of tokens the engine did not say.

        Raises:
            CallError: The reply has no end.
        """
        if self._finish is None:
            raise CallError(502, "The engine stopped in the middle of its reply.", "engine")
        if self._has_ended:
            return Piece([], [], [])
        return Piece([Finish(self._finish, self._given, self._sampled)], [], [])

    def _ended(self, answer: Mapping[str, Any], *, is_stream: bool) -> list[Event]:
        """Return the end of the reply, if it is known: in streams the usage follows it."""
        usage = answer.get("usage")
        if self._finish is None or self._has_ended or (is_stream and not usage):
            return []
        self._has_ended = True
        given = (usage or {}).get("prompt_tokens", self._given)
        sampled = (usage or {}).get("completion_tokens", self._sampled)
        return [Finish(self._finish, given, sampled)]

    def _choice(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        choices = answer.get("choices")
        choice: Mapping[str, Any] = choices[0] if choices else {}
        reason = choice.get("finish_reason")
        if reason:
            self._finish = str(reason)
        return choice


class _ChatReader(_Reader):
    """Reads chat completions."""

    def __init__(self) -> None:
        super().__init__()
        self._names: set[int] = set()

    def read(self, answer: Mapping[str, Any]) -> Piece:
        """Return the piece of an answer."""
        choice = self._choice(answer)
        is_stream = "delta" in choice or not choice
        said = choice.get("delta") if is_stream else choice.get("message")
        events = self._events(said or {})
        logprobs = [
            one.get("logprob") for one in (choice.get("logprobs") or {}).get("content") or ()
        ]
        ids = choice.get("token_ids") or []
        prompt = answer.get("prompt_token_ids") or choice.get("prompt_token_ids")
        self._sampled += len(ids)
        self._given = self._given or len(prompt or ())
        events += self._ended(answer, is_stream=is_stream)
        return Piece(events, ids, logprobs, prompt)

    def _events(self, said: Mapping[str, Any]) -> list[Event]:
        events: list[Event] = []
        reasoning = said.get("reasoning_content") or said.get("reasoning")
        if reasoning:
            events.append(Reasoning(reasoning))
        if said.get("content"):
            events.append(Text(said["content"]))
        for position, call in enumerate(said.get("tool_calls") or ()):
            events += self._call(call.get("index", position), call)
        return events

    def _call(self, index: int, call: Mapping[str, Any]) -> list[Event]:
        function, events = call.get("function") or {}, list[Event]()
        if index not in self._names:
            self._names.add(index)
            events.append(ToolStart(index, call.get("id") or "", function.get("name") or ""))
        if function.get("arguments"):
            events.append(Arguments(index, function["arguments"]))
        return events


class _TextReader(_Reader):
    """Reads completions."""

    def read(self, answer: Mapping[str, Any]) -> Piece:
        """Return the piece of an answer."""
        choice = self._choice(answer)
        is_stream = answer.get("usage") is None or not choice
        events: list[Event] = [Text(choice["text"])] if choice.get("text") else []
        ids = choice.get("token_ids") or []
        logprobs = (choice.get("logprobs") or {}).get("token_logprobs") or []
        prompt = choice.get("prompt_token_ids") or answer.get("prompt_token_ids")
        self._sampled += len(ids)
        self._given = self._given or len(prompt or ())
        events += self._ended(answer, is_stream=is_stream)
        return Piece(events, ids, logprobs, prompt)
