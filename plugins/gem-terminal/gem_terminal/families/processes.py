"""A server that does not start any more is started again."""

import json
from random import Random

from gem_terminal.families.draft import Draft
from gem_terminal.families.words import WORDS, sentence

__all__ = ["draw"]

_SERVER = '''\
"""Serves one text; needs PORT and MESSAGE_FILE in its environment."""
import http.server
import json
import os

with open(os.environ["MESSAGE_FILE"]) as file:
    MESSAGE = json.load(file)["message"]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        found = self.path == "/PATH"
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write((MESSAGE if found else "no").encode())

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
'''
_START = """\
#!/bin/bash
# Starts the server in the background, and returns.
cd /app
. ./service.conf
export PORT MESSAGE_FILE
if [ -e run/server.pid ] && kill -0 "$(cat run/server.pid)" 2>/dev/null; then
  echo "already running" >&2
  exit 1
fi
mkdir -p run
setsid python3 server.py >run/server.log 2>&1 </dev/null &
echo $! >run/server.pid
"""
_FAULTS = {
    "export": ("export PORT MESSAGE_FILE", "export PORT"),
    "stale": (' && kill -0 "$(cat run/server.pid)" 2>/dev/null; then', "; then"),
    "foreground": (" </dev/null &\n", " </dev/null\n"),
    "folder": ("mkdir -p run\n", ""),
    "name": ("python3 server.py", "python3 sever.py"),
}


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: one fault in the script that starts a server; if hard, three and wrong data."""
    port, path = random.randint(20_000, 40_000), random.choice(WORDS)
    message, name = sentence(random, 8), f"{random.choice(WORDS)}.json"
    faults = random.sample(sorted(_FAULTS), 3 if hard else 1)
    start = _START
    for fault in faults:
        start = start.replace(*_FAULTS[fault])
    config = f"PORT={port + 1 if hard else port}\nMESSAGE_FILE=data/{name}\n"
    data = json.dumps({"text" if hard else "message": message})
    files = {
        "/app/server.py": _SERVER.replace("PATH", path),
        "/app/start.sh": start,
        "/app/service.conf": config,
        f"/app/data/{name}": data + "\n",
        "/app/run/server.pid": "999999\n",
    }
    if "folder" in faults:
        del files["/app/run/server.pid"]
    return Draft(
        instruction=(
            f"`bash /app/start.sh` should start the server /app/server.py in the background and "
            f"end with status 0, also after a restart of the machine, when old files may be left "
            f"in /app/run. Then http://127.0.0.1:{port}/{path} should answer with this text:\n\n"
            f"    {message}\n\nIt does not work. Repair it: change what is needed in /app, but "
            f"keep server.py as it is. All processes are ended before start.sh is tested."
        ),
        files={at: text.encode() for at, text in files.items()},
        checks=[
            {"kind": "text", "path": "/app/server.py", "text": files["/app/server.py"]},
            {
                "kind": "serves",
                "command": ["bash", "/app/start.sh"],
                "url": f"http://127.0.0.1:{port}/{path}",
                "body": message,
            },
        ],
        solution=(
            f"cat > /app/start.sh <<'END'\n{_START}END\n"
            f"sed -i 's/^PORT=.*/PORT={port}/' /app/service.conf\n"
            f'sed -i \'s/"text":/"message":/\' /app/data/{name}\n'
        ),
        other_user=True,
    )
