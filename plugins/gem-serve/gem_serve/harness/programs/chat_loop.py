"""A small agent program: chat completions, with nothing but the standard library."""

import json
import os
import subprocess
import sys
import urllib.request

PARAMETERS = {
    "type": "object",
    "properties": {"command": {"type": "string", "description": "The command."}},
    "required": ["command"],
}
SHELL = {"name": "shell", "description": "Run a command in bash.", "parameters": PARAMETERS}


def ask(messages):
    body = {
        "model": os.environ["OPENAI_MODEL"],
        "messages": messages,
        "tools": [{"type": "function", "function": SHELL}],
    }
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
        },
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def run(call):
    try:
        command = json.loads(call["function"]["arguments"])["command"]
    except (ValueError, KeyError, TypeError) as error:
        return f"The arguments are not an object with a command: {error!r}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, errors="replace")
    return f"{done.stdout}{done.stderr}[exit status {done.returncode}]"


def main(task, turns):
    messages = [
        {"role": "system", "content": "You do tasks in bash with the function shell."},
        {"role": "user", "content": task},
    ]
    for _ in range(turns):
        reply = ask(messages)
        messages.append(reply)
        for call in reply.get("tool_calls") or []:
            result = {"role": "tool", "tool_call_id": call["id"], "content": run(call)}
            messages.append(result)
        if not reply.get("tool_calls"):
            print(reply["content"])
            return


main(sys.argv[1], int(sys.argv[2]))
