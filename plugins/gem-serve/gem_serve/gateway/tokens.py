"""How a call is sampled: by the engine's chat route, or from token ids that continue a call.

Where an engine is sent messages, it tokenises earlier replies anew, and the tokens need not be
those that were sampled. In the mode ``continue`` the prompt of a chat that goes on is

    the prompt of the earlier call + what was sampled + the tokens that close the reply, if it was
    cut + the rendered messages since then.

Only the new messages are rendered. They are rendered behind a short chat with a reply that ends
with the same token, and what follows that token is theirs.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from gem_serve.gateway.answers import Piece
from gem_serve.gateway.call import Call
from gem_serve.gateway.engine import EngineClient
from gem_serve.gateway.episode import ProgramEpisode
from gem_serve.gateway.events import Ask, CallError, Event, Finish, Message, Text
from gem_serve.gateway.parsers import parser_of

__all__ = ["Renderer", "pieces_of"]

_USER: Message = {"role": "user", "content": "a"}


class Renderer:
    """Renders chats with the engine's template.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: EngineClient) -> None:
        self._engine = engine
        self._closing: list[int] | None = None
        self._ends: dict[str, int] = {}

    async def whole(self, ask: Ask) -> list[int]:
        """Return the token ids of a chat and of the beginning of the reply."""
        tools = {"tools": ask.tools} if ask.tools else {}
        return await self._engine.tokenize(ask.messages, add_generation_prompt=True, **tools)

    async def rest(
        self, reply: Message, ids: Sequence[int], messages: Sequence[Message]
    ) -> list[int]:
        """Return the token ids that follow a reply.

        Args:
            reply: The reply.
            ids: Its sampled token ids.
            messages: The messages after it.
        """
        end = (await self.closing())[0]
        head = [_USER, _without_text(reply)]
        count = await self._count(head, end)
        rendered = await self._engine.tokenize([*head, *messages], add_generation_prompt=True)
        at = -1
        for _ in range(count):
            try:
                at = rendered.index(end, at + 1)
            except ValueError:
                raise CallError(
                    500, "The chat template renders a reply in two ways; use the mode 'engine'."
                ) from None
        return rendered[at + 1 if ids and ids[-1] == end else at :]

    async def closing(self) -> list[int]:
        """Return the token ids with which the template ends a reply.

        Raises:
            CallError: It ends replies with nothing.
        """
        if self._closing is None:
            one, other = [
                await self._engine.tokenize(
                    [_USER, {"role": "assistant", "content": text}], add_generation_prompt=False
                )
                for text in ("b", "c")
            ]
            self._closing = _common_end(one, other)
            if not self._closing:
                raise CallError(
                    500,
                    "The chat template ends a reply with no token of its own, so a chat cannot be "
                    "continued in tokens; use the mode 'engine'.",
                    "engine",
                )
        return self._closing

    async def _count(self, head: list[Message], end: int) -> int:
        """Count the token that ends replies in a rendered chat."""
        shape = "calls" if head[-1].get("tool_calls") else "text"
        if shape not in self._ends:
            ids = await self._engine.tokenize(head, add_generation_prompt=False)
            self._ends[shape] = ids.count(end)
        return self._ends[shape]


def _without_text(reply: Message) -> Message:
    """Return a short reply with the calls that the messages after it answer."""
    calls = [
        {**one, "function": {"name": one["function"]["name"], "arguments": "{}"}}
        for one in reply.get("tool_calls", ())
    ]
    return {"role": "assistant", "content": "b", **({"tool_calls": calls} if calls else {})}


def _common_end(one: list[int], other: list[int]) -> list[int]:
    size = 0
    while size < min(len(one), len(other)) and one[-1 - size] == other[-1 - size]:
        size += 1
    return one[len(one) - size :]


async def pieces_of(
    call: Call, episode: ProgramEpisode, engine: EngineClient, renderer: Renderer
) -> AsyncIterator[Piece]:
    """Yield the pieces of a call's reply.

    Raises:
        CallError: The engine refused, failed or stopped in the middle.
    """
    ask, sampling = call.ask, episode.sampling(call.record.number)
    if ask.prompt is not None:
        found = engine.complete(ask.prompt, ask, sampling)
    elif episode.options.mode == "engine":
        found = engine.chat(ask, sampling)
    else:
        found = _continued(call, episode, engine, renderer, sampling)
    async for piece in found:
        yield piece


async def _continued(
    call: Call,
    episode: ProgramEpisode,
    engine: EngineClient,
    renderer: Renderer,
    sampling: dict[str, Any],
) -> AsyncIterator[Piece]:
    ask = call.ask
    prompt = await _prompt(call, episode, renderer)
    room = await engine.context() - len(prompt)
    if room < 1:
        raise CallError(
            400,
            f"The model's maximum context length is {await engine.context()} tokens, and the "
            f"prompt has {len(prompt)}.",
            "context",
        )
    ask.max_tokens = min(room, ask.max_tokens or room, ask.budget or room)
    if ask.options.get("tool_choice", "auto") != "auto":
        call.record.changes.append("tool_choice is not enforced in the mode 'continue'")
    parser = parser_of(episode.options.parser, call.record.id, thinks=episode.options.thinks)
    call.prompt_ids = prompt
    async for piece in engine.complete(prompt, ask, sampling):
        if piece.prompt_ids is not None and piece.prompt_ids != prompt:
            raise CallError(502, "The engine sampled from other tokens than it was sent.", "engine")
        events: list[Event] = []
        for event in piece.events:
            if isinstance(event, Text):
                events += parser.feed(event.text)
            elif isinstance(event, Finish):
                events += parser.end()
                events.append(_finish(event, has_calls=parser.has_calls))
        yield piece._replace(events=events)


def _finish(event: Finish, *, has_calls: bool) -> Finish:
    return event._replace(reason="tool_calls") if has_calls and event.reason == "stop" else event


async def _prompt(call: Call, episode: ProgramEpisode, renderer: Renderer) -> list[int]:
    """Return the prompt: the tokens of the call that it continues, and the rest; or the whole."""
    earlier = call.recalled.message_parent
    if earlier is None or not earlier.ids or not earlier.prompt_tokens:
        return await renderer.whole(call.ask)
    rest = await renderer.rest(
        earlier.reply, earlier.ids, call.ask.messages[call.recalled.position :]
    )
    return [*episode.records.full(earlier.id), *rest]
