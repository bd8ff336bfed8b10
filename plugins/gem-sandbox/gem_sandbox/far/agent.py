"""The agent: starts programs, keeps their limits, and leaves nothing of them.

It serves one request after the other. For each it forks a keeper, which reads the request, runs the
program as a fresh interpreter, answers, and exits: so nothing of a run stays in memory that a later
one could see. Then the agent ends whatever is left of the run, empties the folders that it could
write to, and only then says that it is clean.

As process 1 of a container, the agent and its keepers have another user id than the programs. As a
plain child of the host it has no such means, and just ends the whole tree of what it started.

The end of the input ends everything.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from typing import Any

from gem_sandbox.far.folders import empty, lay_out, with_user
from gem_sandbox.far.messages import receive, send
from gem_sandbox.far.processes import adopt_orphans, come_first, end_all, end_tree, wait_for
from gem_sandbox.far.run import ProgramRun, SessionRun

__all__ = ["main"]

SERVED, GONE = 0, 3
RUNS = {"run": ProgramRun, "session": SessionRun}


def main(configuration: str) -> None:
    """Serve requests until the input ends.

    Args:
        configuration: JSON of an object. ``command``: how to start an interpreter. ``cells``:
            source of the loop of sessions. ``folders``: what to empty after each run, and to work
            in; a private temporary folder if there are none. ``user``: user and group id of
            programs; null for the agent's own. ``filters``: by processor, which system calls
            programs may make; none for all.
    """
    config = json.loads(configuration)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which programs would inherit
    if os.getpid() != 1:
        adopt_orphans()
    come_first()
    status = SERVED
    while status != GONE:
        send({"clean": True, "killed": status < 0})
        keeper = os.fork()
        if keeper == 0:
            serve(config)
        status = wait_for(keeper)
        if os.getpid() == 1:
            end_all()
        else:
            end_tree()  # a keeper that was killed has left it to us
        for folder in config["folders"]:
            with_user(config["user"], empty, folder)


def serve(config: dict[str, Any]) -> None:
    """Be a keeper: take one request, or the requests of one session, and exit."""
    status = 1
    come_first()
    try:
        request = receive()
        if request is None:
            status = GONE
        else:
            send({"begun": True})
            status = SERVED if keep(config, request) else GONE
    except BrokenPipeError:
        status = GONE
    except BaseException as error:  # noqa: BLE001 - the host reads it
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        sys.stderr.flush()
        os._exit(status)


def keep(config: dict[str, Any], request: dict[str, Any]) -> bool:
    """Serve a request in a folder of its own; return whether the host is still there."""
    if os.getppid() != 1:
        adopt_orphans()
    top = config["folders"][0] if config["folders"] else tempfile.mkdtemp(prefix="gem-sandbox-")
    folder = os.path.join(top, "work")
    run = None
    try:
        with_user(config["user"], lay_out, folder, request["files"])
        if request["customize"]:
            customize = {"sitecustomize.py": request["customize"]}
            with_user(config["user"], lay_out, folder + "-site", customize)
        run = RUNS[request["do"]](config, request, folder)
        return run.serve()
    finally:
        if run is not None and run.process is not None:
            end_tree(run.process.pid)
        if not config["folders"]:
            empty(top)
            os.rmdir(top)
