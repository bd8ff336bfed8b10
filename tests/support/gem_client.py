"""Has ``gem_server.py`` run a command: ``python -IS gem_client.py ADDRESS FOLDER ...``.

FOLDER is the one of the program ``gem-core``, or empty for ``python -m gem_core``. The real command
is run instead at a terminal, with a closed stream, and if a variable differs that the interpreter
itself reads.
"""

import json
import os
import signal
import socket
import sys

STREAMS = (0, 1, 2)
READ_BY_PYTHON = ("PYTHON", "LANG", "LC_", "LD_")


def main(address: str, folder: str, *words: str) -> None:
    """Run a command as the server's child, and exit as it does."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        like_server = of_interpreter() == json.loads(receive(connection))
        if not like_server or not all(map(is_plain, STREAMS)):
            connection.close()
            run_really(folder, words)
        request = {"words": words, "folder": folder, "cwd": os.getcwd(), "env": dict(os.environ)}
        socket.send_fds(connection, [b"*"], list(STREAMS))
        connection.sendall(json.dumps(request).encode() + b"\n")
        status = int(receive(connection))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def of_interpreter() -> dict[str, str]:
    """Return the variables that the interpreter reads when it starts."""
    found = os.environ.items()
    read = {name: value for name, value in found if name.startswith(READ_BY_PYTHON)}
    folders = read.pop("PYTHONPATH", "").split(os.pathsep)  # the server can do this itself
    customized = any(os.path.exists(f"{folder}/sitecustomize.py") for folder in folders)
    return {**read, "sitecustomize": "yes"} if customized else read


def is_plain(stream: int) -> bool:
    """Return whether a stream is open and not a terminal."""
    try:
        os.fstat(stream)
    except OSError:
        return False
    return not os.isatty(stream)


def receive(connection: socket.socket) -> bytes:
    """Read a line."""
    with connection.makefile("rb") as lines:
        return lines.readline()


def run_really(folder: str, words: tuple[str, ...]) -> None:
    """Become the command."""
    start = [f"{folder}/gem-core"] if folder else [sys.executable, "-m", "gem_core"]
    os.execv(start[0], [*start, *words])


if __name__ == "__main__":
    main(*sys.argv[1:])
