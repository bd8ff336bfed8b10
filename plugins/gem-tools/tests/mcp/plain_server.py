"""A server on its standard streams without the SDK, so that it starts fast.

``plain_server.py [FOLDER]``. Like many servers it also prints a line that is not a message.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

cancelled: dict[Any, threading.Event] = {}
writing = threading.Lock()


def pid(call: Any) -> str:
    """Tell the process."""
    return str(os.getpid())


def touch(call: Any, note: str) -> str:
    """Make a file in the folder."""
    Path(sys.argv[1], note).touch()
    return "made"


def hang(call: Any, note: str) -> None:
    """Never answer; write to a file that the call has begun, and that it is cancelled."""
    Path(note).write_text("begun")
    if cancelled[call].wait(3600):
        Path(note).write_text("cancelled")


def freeze(call: Any) -> None:
    """Hang with the whole server."""
    with writing:
        time.sleep(3600)


def die(call: Any) -> None:
    """End the server in mid-call."""
    os._exit(3)


def die_once(call: Any, note: str) -> str:
    """End the server in mid-call, unless the file is there."""
    if Path(note).exists():
        return "survived"
    Path(note).touch()
    os._exit(3)


def pay_and_die(call: Any, note: str) -> None:
    """Write a line, then end the server; must not be called twice."""
    with Path(note).open("a") as file:
        file.write("paid\n")
    os._exit(3)


TOOLS: dict[str, Any] = {
    tool.__name__: tool for tool in (pid, touch, hang, freeze, die, die_once, pay_and_die)
}


def listing() -> list[dict[str, Any]]:
    """Return the tools as a client is told."""
    return [
        {
            "name": name,
            "description": tool.__doc__,
            "inputSchema": {
                "type": "object",
                "properties": {"note": {"type": "string"}}
                if "note" in tool.__annotations__
                else {},
            },
            "annotations": {"idempotentHint": name != "pay_and_die", "readOnlyHint": False},
        }
        for name, tool in TOOLS.items()
    ]


def send(number: Any, **answer: Any) -> None:
    """Answer a request."""
    with writing:
        print(json.dumps({"jsonrpc": "2.0", "id": number, **answer}), flush=True)


def call(number: Any, name: str, arguments: dict[str, Any]) -> None:
    """Call a tool, and answer with what it returns."""
    text = TOOLS[name](number, **arguments)
    if text is not None:
        send(number, result={"content": [{"type": "text", "text": text}]})


print("Welcome to the server!", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    number, given = message.get("id"), message.get("params", {})
    match message["method"]:
        case "initialize":
            about = {"name": "plain", "version": "1"}
            known = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}}
            send(number, result={**known, "serverInfo": about})
        case "tools/list":
            send(number, result={"tools": listing()})
        case "tools/call":
            cancelled[number] = threading.Event()
            words = number, given["name"], given.get("arguments") or {}
            threading.Thread(target=call, args=words, daemon=True).start()
        case "notifications/cancelled":
            cancelled[given["requestId"]].set()
        case _ if number is not None:
            send(number, error={"code": -32601, "message": "Method not found"})
