"""A small agent program: Anthropic's SDK, with a streamed messages API."""

import os
import subprocess
import sys

from anthropic import Anthropic

SHELL = {
    "name": "shell",
    "description": "Run a command in bash.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command."}},
        "required": ["command"],
    },
}


def run(call):
    command = str(call.input.get("command", ""))
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, errors="replace")
    return f"{done.stdout}{done.stderr}[exit status {done.returncode}]"


def main(task, turns):
    client = Anthropic()
    messages = [{"role": "user", "content": task}]
    for _ in range(turns):
        with client.messages.stream(
            model=os.environ["ANTHROPIC_MODEL"], max_tokens=4096, messages=messages, tools=[SHELL]
        ) as stream:
            reply = stream.get_final_message()
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": run(call)} for call in calls
        ]
        if not calls:
            print("".join(block.text for block in reply.content if block.type == "text"))
            return
        messages.append({"role": "user", "content": results})


main(sys.argv[1], int(sys.argv[2]))
