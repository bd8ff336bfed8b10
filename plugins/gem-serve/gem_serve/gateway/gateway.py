"""The gateway without its HTTP server: episodes, calls, and the pause for new weights."""

import asyncio
import re
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any, Self

from gem_rollout.records.store import TrajectoryFile
from gem_rollout.records.trajectory import Trajectory
from gem_serve.gateway.call import Call, fault
from gem_serve.gateway.engine import EngineClient
from gem_serve.gateway.episode import EpisodeOptions, ProgramEpisode
from gem_serve.gateway.events import Ask, CallError
from gem_serve.gateway.parsers import parser_of
from gem_serve.gateway.sequences import trajectory_of
from gem_serve.gateway.tokens import Renderer, pieces_of

__all__ = ["Gateway"]

_POLL_SECONDS = 0.05
_CLOSED_KEPT = 64
"""Closed episodes that stay in memory, for a request that is sent again."""
_ID = re.compile(r"[0-9a-f]{24}")


class Gateway:
    """Episodes and the engine that answers their calls; use it as an asynchronous context manager.

    Args:
        engine: The engine.
        folder: The folder of the logs and of ``trajectories.jsonl``; None to keep none. Logs that
            are there are read again.

    Attributes:
        episodes: The episodes by id.
        version: Version of the weights.
        counts: Numbers for ``metrics``.
    """

    def __init__(self, engine: EngineClient, folder: Path | None = None) -> None:
        self.engine, self.folder = engine, folder
        self.episodes: dict[str, ProgramEpisode] = {}
        self.version = 0
        self.counts: Counter[str] = Counter()
        self.is_ready = False
        self.draining = False
        self._renderer = Renderer(engine)
        self._open = asyncio.Event()
        self._open.set()
        self._asking = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._file: TrajectoryFile | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed: deque[str] = deque()

    async def __aenter__(self) -> Self:
        await self.engine.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for episode in self.episodes.values():
            for call in list(episode.live.values()):
                call.abort("The gateway is stopped.")
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for episode in self.episodes.values():
            episode.stop()
        if self._file is not None:
            self._file.close()
        await self.engine.__aexit__()

    def load(self) -> None:
        """Read the logs of the folder; until then calls are refused with status 503."""
        if self.folder is not None:
            for path in sorted((self.folder / "log").glob("*.jsonl")):
                episode = ProgramEpisode.read(path)
                if episode is None:
                    continue
                known = [one.version or 0 for one in episode.records.calls.values()]
                self.version = max([self.version, *known])
                if episode.closed is None:
                    self.episodes[episode.id] = episode
        self.is_ready = True

    def playing(self) -> int:
        """Return the number of open episodes that this process has created or answered."""
        return sum(one.closed is None and one.is_played for one in self.episodes.values())

    async def drain(self, seconds: float) -> int:
        """Create no episode any more, and wait until those that are played are closed.

        Args:
            seconds: Most seconds to wait.

        Returns:
            The number of episodes that were not closed in time.
        """
        self.draining = True
        until = time.monotonic() + seconds
        while (  # noqa: ASYNC110 - an end has no event
            left := self.playing()
        ) and time.monotonic() < until:
            await asyncio.sleep(_POLL_SECONDS)
        return left

    def create(self, **options: Any) -> ProgramEpisode:
        """Create an episode; see ``EpisodeOptions``.

        Raises:
            ConfigError: An option is unknown or invalid.
            CallError: The gateway is about to end.
        """
        if self.draining:
            raise CallError(
                503,
                "The gateway is about to end and creates no episode; ask again.",
                "unavailable",
                retry_after="1",
            )
        checked = EpisodeOptions.from_fields(options)
        parser_of(checked.parser, "")
        folder = None if self.folder is None else self.folder / "log"
        episode = ProgramEpisode.create(checked, folder)
        episode.is_played = True
        self.episodes[episode.id] = episode
        self.counts["episodes"] += 1
        return episode

    def find(self, episode_id: str) -> ProgramEpisode:
        """Return an episode.

        Raises:
            CallError: There is none with this id, or the logs are not read yet.
        """
        if not self.is_ready:
            raise CallError(
                503, "The gateway reads its log; ask again.", "unavailable", retry_after="1"
            )
        found = self.episodes.get(episode_id) or self._read_again(episode_id)
        if found is None:
            raise CallError(404, f"Unknown episode {episode_id[:100]!r}.", "missing")
        return found

    def _read_again(self, episode_id: str) -> ProgramEpisode | None:
        """Return a closed episode that left memory; None without a log of it."""
        if self.folder is None or not _ID.fullmatch(episode_id):
            return None
        path = self.folder / "log" / f"{episode_id}.jsonl"
        episode = ProgramEpisode.read(path) if path.is_file() else None
        if episode is not None:
            self.episodes[episode.id] = episode
            self._note_closed(episode)
        return episode

    def _note_closed(self, episode: ProgramEpisode) -> None:
        """Keep the episodes that were closed last in memory, and forget older ones."""
        if episode.id not in self._closed:
            self._closed.append(episode.id)
        while len(self._closed) > _CLOSED_KEPT:
            self.episodes.pop(self._closed.popleft(), None)

    def call(
        self,
        episode: ProgramEpisode,
        ask: Ask,
        dialect: str,
        body_key: str,
        *,
        is_retry: bool = False,
    ) -> Call:
        """Return the call of a request, which runs; see ``ProgramEpisode.open_call``.

        Raises:
            CallError: The episode is closed or over its budget, or does not have this model.
        """
        _check_model(episode, ask)
        self._add_previous(episode, ask)
        call, is_new = episode.open_call(ask, dialect, body_key, is_retry=is_retry)
        episode.is_played = True
        if is_new:
            call.task = asyncio.create_task(self._run(episode, call))
            self._tasks.add(call.task)
            call.task.add_done_callback(self._tasks.discard)
        else:
            self.counts["joined"] += 1
        return call

    async def _run(self, episode: ProgramEpisode, call: Call) -> None:
        self.counts["calls"] += 1
        try:
            await episode.reserve(call)
            await self._enter()
            call.record.version = self.version
            call.begin()
            try:
                await call.run(pieces_of(call, episode, self.engine, self._renderer))
            finally:
                self._leave()
                if call.record.version != self.version:  # of which token, the engine does not say
                    call.record.version = None
        except CallError as error:
            call.refuse(error)
        except asyncio.CancelledError:  # while it waited for new weights, or for its budget
            call.refuse()
        except Exception as error:  # noqa: BLE001 - the clients that follow it must be told
            call.refuse(fault(error))
        try:
            episode.finish(call)
        except Exception as error:  # noqa: BLE001 - such as a full disk; the program must be told
            call.fail(error)
        self.counts[f"calls_{call.record.status}"] += 1
        self.counts["prompt_tokens"] += call.record.prompt_tokens
        self.counts["sampled_tokens"] += len(call.record.ids)
        call.conclude()

    async def _enter(self) -> None:
        while not self._open.is_set():
            await self._open.wait()
        self._asking += 1
        self._idle.clear()

    def _leave(self) -> None:
        self._asking -= 1
        if self._asking == 0:
            self._idle.set()

    async def pause(self, seconds: float | None = None) -> bool:
        """Hold new calls, and wait until the engine has answered those that run.

        Args:
            seconds: Most seconds to wait; None for no limit.

        Returns:
            Whether no call runs.
        """
        self._open.clear()
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def resume(self, version: int | None = None) -> int:
        """Let calls go on, and return the version of the weights.

        Args:
            version: Their version; None for the next number.
        """
        self.version = self.version + 1 if version is None else version
        self._open.set()
        return self.version

    async def close(self, episode: ProgramEpisode, **how: Any) -> Trajectory:
        """Close an episode, and write its trajectory unless an earlier call has written it.

        Args:
            episode: The episode.
            how: ``truncated`` and ``error`` of the trajectory.

        Raises:
            OSError: The trajectory cannot be written, as on a full disk; another call tries again.
        """
        async with episode.closing:
            await episode.close(**how)
            trajectory = trajectory_of(episode)
            if not episode.is_written and self.folder is not None:
                if self._file is None:
                    self._file = TrajectoryFile(self.folder / "trajectories.jsonl")
                self._file.append(trajectory)
                episode.is_written = True
        self._note_closed(episode)
        return trajectory

    def forget(self, episode: ProgramEpisode) -> None:
        """Remove a closed episode from memory; its files stay."""
        if episode.closed is not None:
            self.episodes.pop(episode.id, None)

    async def count_tokens(self, episode: ProgramEpisode, ask: Ask) -> int:
        """Return the number of tokens of a chat's prompt."""
        ask.messages = episode.memory.recall(ask.messages, ask.tools).messages
        return len(await self._renderer.whole(ask))

    def status(self, episode: ProgramEpisode) -> dict[str, Any]:
        """Return the state of an episode as JSON has it."""
        records = episode.records.calls.values()
        return {
            "episode": episode.id,
            "options": {"env_id": episode.options.env_id, "mode": episode.options.mode},
            "age": time.time() - episode.created,
            "calls": dict(episode.states()),
            "sampled_tokens": sum(len(one.ids) for one in records),
            "exact": sum(one.exact for one in records),
            "undelivered": sum(one.status == "done" and not one.sent for one in records),
            "reward": episode.reward,
            "closed": episode.closed is not None,
        }

    def _add_previous(self, episode: ProgramEpisode, ask: Ask) -> None:
        """Put the messages of an earlier response before those of a request that names it."""
        name = ask.dialect.get("previous")
        if not name:
            return
        call_id = name.removeprefix("resp_")
        if call_id not in episode.records.calls:
            raise CallError(
                400,
                f"previous_response_id: the episode has no response {name!r}.",
                field="previous_response_id",
            )
        earlier = episode.records.messages(call_id)
        if ask.dialect.get("instructions") and earlier and earlier[0]["role"] == "system":
            earlier = earlier[1:]
        head = 1 if ask.dialect.get("instructions") else 0
        ask.messages = [*ask.messages[:head], *earlier, *ask.messages[head:]]


def _check_model(episode: ProgramEpisode, ask: Ask) -> None:
    models: list[str] | None = episode.options.models
    if models is not None and ask.model not in models:
        raise CallError(
            404,
            f"model: this episode has the models {', '.join(models)}; got {ask.model!r}.",
            "missing",
            "model",
        )
