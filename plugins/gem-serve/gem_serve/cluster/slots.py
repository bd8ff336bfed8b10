"""The driver's side of an actor that holds environments of a vector."""

import contextlib
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from gem_core.errors import WorkerDiedError
from gem_serve.cluster.actor_set import START_SECONDS
from gem_serve.cluster.actors import GemSlots
from gem_serve.cluster.versions import check_versions, installed_versions
from gem_workers.pickles import dump, load
from gem_workers.slots import Answer, Task

__all__ = ["RaySlots"]


class RaySlots:
    """An actor that holds slots; see ``gem_workers.vector_workers.SlotWorker``.

    Args:
        ray: The package.
        options: Ray's options of the actor, its ``name`` among them.
        title: What the dashboard calls it.
        slots: How many slots it will hold.

    Raises:
        ConfigError: Its machine has other versions.
        WorkerDiedError: It does not start.
    """

    def __init__(self, ray: Any, options: Mapping[str, Any], title: str, slots: int) -> None:
        self._ray = ray
        # Each slot has one task at most; answers and the end are asked for beside them.
        actor = ray.remote(GemSlots).options(**options, max_concurrency=slots + 3)
        self._handle = actor.remote(title)
        try:
            self._greet()
        except BaseException:
            self.kill()
            raise

    def _greet(self) -> None:
        answer: Future[Any] = self._handle.hello.remote(list(filter(None, sys.path))).future()
        try:
            machine, versions = answer.result(START_SECONDS)
        except self._ray.exceptions.RayError as error:
            raise WorkerDiedError(f"Ray cannot start an actor for the vector: {error}") from error
        except TimeoutError:
            said = f"Ray has started no actor for the vector in {START_SECONDS:g} seconds."
            raise WorkerDiedError(said) from None
        check_versions(installed_versions(), versions, machine)

    def _result(self, answer: "Future[Any]") -> Any:
        try:
            return answer.result()
        except self._ray.exceptions.RayError as error:
            reason = str(error).partition("\n")[0]
            raise WorkerDiedError(f"A Ray actor died ({reason})") from error

    def make(self, make_slots: bytes, lost: BaseException | None) -> None:
        """Make the slots, and wait for them."""
        blob = None if lost is None else dump(lost)
        failure = self._result(self._handle.make.remote(make_slots, blob).future())
        if failure is not None:
            error: BaseException = load(failure)
            raise error

    def send(self, tasks: list[Task]) -> None:
        """Begin to call methods of slots."""
        try:
            sent: Future[Any] = self._handle.perform.remote(tasks).future()
        except Exception:  # noqa: BLE001 - in one of Ray's many words: it is gone
            self.kill()
        else:
            sent.add_done_callback(self._check_sent)

    def _check_sent(self, sent: "Future[Any]") -> None:
        """Kill an actor that has not got its tasks, and would never answer them."""
        if sent.cancelled() or sent.exception() is not None:
            # This is Ray's own thread, which must not wait for Ray.
            threading.Thread(target=self.kill, daemon=True).start()

    def receive(self) -> list[Answer]:
        """Wait for answers, and return them."""
        answers: list[Answer] = self._result(self._handle.answers.remote().future())
        if not answers:
            raise WorkerDiedError("A Ray actor has ended")
        return answers

    def finish(self) -> None:
        """Let the actor close its slots; ``receive`` then raises."""
        with contextlib.suppress(Exception):  # it is gone
            self._handle.close.remote()

    def kill(self) -> None:
        """End the actor."""
        with contextlib.suppress(Exception):  # in one of Ray's many words: it is gone
            self._ray.kill(self._handle)
