"""The runner: starts programs, enforces their limits, and removes everything that they leave.

It serves one request after another. For each it forks a monitor, which reads the request, runs the
program in a new interpreter, answers, and exits: so nothing of a run stays in memory where a later
one could see it. Then the runner kills the processes that are left, empties the folders that the
program could write to, and only then reports that it is clean.

As process 1 of a container, the runner and its monitors have another user id than the programs. As
a plain child of the host they have the same one, and the runner kills its whole tree of processes.

When standard input ends, the runner ends everything and exits.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from typing import Any

from gem_sandbox.guest.folders import empty, lay_out, reset_times, with_user
from gem_sandbox.guest.messages import receive, send
from gem_sandbox.guest.processes import (
    adopt_orphans,
    end_all,
    end_tree,
    raise_priority,
    wait_for,
)
from gem_sandbox.guest.run import ProgramRun, SessionRun

__all__ = ["main"]

SERVED, GONE = 0, 3
RUNS = {"run": ProgramRun, "session": SessionRun}


def main(configuration: str) -> None:
    """Serve requests until the input ends.

    Args:
        configuration: A JSON object. ``command``: the command that starts an interpreter.
            ``cells``: the source of the loop of sessions. ``folders``: the folders to empty after
            each run; programs work in the first one, or in a temporary folder if there are none.
            ``user``: the user and group id of programs; null for the runner's own. ``filters``:
            the allowed system calls by kind of processor; if empty, all are allowed.
    """
    config = json.loads(configuration)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which programs would inherit
    if os.getpid() != 1:
        adopt_orphans()
    raise_priority()
    status = SERVED
    while status != GONE:
        if config["user"] is not None:
            reset_times(config["folders"])
        send({"clean": True, "killed": status < 0})
        monitor = os.fork()
        if monitor == 0:
            serve(config)
        status = wait_for(monitor)
        if os.getpid() == 1:
            end_all()
        else:
            end_tree()  # the monitor does this too, unless it was killed
        for folder in config["folders"]:
            with_user(config["user"], empty, folder)


def serve(config: dict[str, Any]) -> None:
    """Be a monitor: serve one request, or the requests of one session, and exit."""
    status = 1
    raise_priority()
    try:
        request = receive()
        if request is None:
            status = GONE
        else:
            send({"begun": True})
            status = SERVED if serve_request(config, request) else GONE
    except BrokenPipeError:
        status = GONE
    except BaseException as error:  # noqa: BLE001 - reported to the host
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        sys.stderr.flush()
        os._exit(status)


def serve_request(config: dict[str, Any], request: dict[str, Any]) -> bool:
    """Serve a request in a new folder; return whether the host is still there."""
    if os.getppid() != 1:
        adopt_orphans()
    top = config["folders"][0] if config["folders"] else tempfile.mkdtemp(prefix="gem-sandbox-")
    folder = os.path.join(top, "work")
    run = None
    try:
        with_user(config["user"], lay_out, folder, request["files"])
        if request["sitecustomize"]:
            site = {"sitecustomize.py": request["sitecustomize"]}
            with_user(config["user"], lay_out, folder + "-site", site)
        run = RUNS[request["do"]](config, request, folder)
        return run.serve()
    finally:
        if run is not None and run.process is not None:
            end_tree(run.process.pid)
        if not config["folders"]:
            empty(top)
            os.rmdir(top)
