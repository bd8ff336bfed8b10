"""gem-llm 0.1.0 with a connection of the standard library for each environment.

This is the cheapest client for threads; it handles neither retries nor errors.
"""
# mypy: ignore-errors
# gem-llm is not installed where mypy runs.

import http.client
import json
import urllib.parse

from rollouts.engines.gem_llm import Asker, play_with
from rollouts.workload import Message, Workload

__all__ = ["play"]


def play(workload: Workload) -> None:
    """Play episodes until the process is killed."""
    play_with(workload, [_asker(workload.url) for _ in range(workload.concurrency)])


def _asker(url: str) -> Asker:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)

    def ask(messages: list[Message]) -> Message:
        body = json.dumps({"model": "scripted", "messages": messages})
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"{parts.path}/chat/completions", body, headers)
        answer = json.loads(connection.getresponse().read())
        return answer["choices"][0]["message"]

    return ask
