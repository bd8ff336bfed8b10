"""Plays an environment of ``gem-core serve`` with Python's standard library alone.

For trainers in a Python that gem-core does not support, such as Oat's 3.10. Copy it, and change
``act``. Start a server, then run it:

    gem-core serve game:GuessTheNumber-v0-easy
    python remote_client.py 127.0.0.1:8000 game:GuessTheNumber-v0-easy --episodes 8

It prints a line of JSON for each episode. Each call has a number, so a call that is sent again
after a lost connection is not played twice.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

TRIES = 20


class ServerError(Exception):
    """The server refused a call; the message begins with the kind of error."""


class RemoteEnvironment:
    """An environment on a server.

    Args:
        address: ``HOST:PORT``.
        name: Name of the environment on the server.
        token: The server's token; empty if it has none.
    """

    def __init__(self, address: str, name: str, token: str = "") -> None:
        self._address = address
        self._headers = {"Authorization": "Bearer " + token} if token else {}
        self._session = secrets.token_urlsafe(24)
        self._number = 0
        self._connection = http.client.HTTPConnection(address, timeout=60)
        self._post("open", {"env": name})

    def reset(self, seed: int) -> dict[str, Any]:
        """Start an episode; the reply has ``observation`` and ``info``."""
        return self._call("reset", {"seed": seed})

    def step(self, action: str) -> dict[str, Any]:
        """Take an action; the reply also has ``reward``, ``terminated`` and ``truncated``."""
        return self._call("step", {"action": action})

    def close(self) -> None:
        """End the session."""
        self._post("close", {})
        self._connection.close()

    def _call(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        return self._post(op, {"number": self._number, **fields})

    def _post(self, op: str, fields: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps({"session": self._session, **fields})
        for left in reversed(range(TRIES)):
            try:
                self._connection.request("POST", "/gem/" + op, body, self._headers)
                reply: dict[str, Any] = json.loads(self._connection.getresponse().read())
            except (OSError, http.client.HTTPException, ValueError):
                if not left:
                    raise
                self._connection.close()  # the next request connects again
                time.sleep(0.1)
                continue
            error = reply.get("error")
            if error is None:
                return reply
            if "retry_after" not in error or not left:
                raise ServerError(error["type"] + ": " + error["message"])
            time.sleep(error["retry_after"])
        raise AssertionError("the last try returns or raises")


def act(observation: str, turn: int) -> str:
    """Return the action; a model takes this function's place."""
    return "\\boxed{" + str((len(observation) + turn) % 10) + "}"


def play(address: str, name: str, seed: int) -> dict[str, Any]:
    """Play an episode; return its seed, its actions and its rewards."""
    env = RemoteEnvironment(address, name, os.environ.get("GEM_SERVE_TOKEN", ""))
    actions: list[str] = []
    rewards: list[float] = []
    reply, ended = env.reset(seed), False
    while not ended:
        actions.append(act(reply["observation"], len(actions)))
        reply = env.step(actions[-1])
        rewards.append(reply["reward"])
        ended = reply["terminated"] or reply["truncated"]
    env.close()
    return {"seed": seed, "actions": actions, "rewards": rewards}


def main() -> None:
    """Play the episodes of the command line, several at the same time."""
    parser = argparse.ArgumentParser(description="Play an environment of gem-core serve.")
    parser.add_argument("address", help="HOST:PORT")
    parser.add_argument("name", help="name of the environment on the server")
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--concurrency", type=int, default=8)
    options = parser.parse_args()
    with ThreadPoolExecutor(options.concurrency) as pool:
        seeds = range(options.episodes)
        for episode in pool.map(lambda seed: play(options.address, options.name, seed), seeds):
            print(json.dumps(episode), flush=True)


if __name__ == "__main__":
    main()
