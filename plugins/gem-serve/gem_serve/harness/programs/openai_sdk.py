"""A small agent program: OpenAI's SDK, with the responses API."""

import json
import os
import subprocess
import sys

from openai import OpenAI

PARAMETERS = {
    "type": "object",
    "properties": {"command": {"type": "string", "description": "The command."}},
    "required": ["command"],
    "additionalProperties": False,
}
SHELL = {
    "type": "function",
    "name": "shell",
    "description": "Run a command in bash.",
    "parameters": PARAMETERS,
    "strict": True,
}


def run(call):
    command = json.loads(call.arguments)["command"]
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, errors="replace")
    return f"{done.stdout}{done.stderr}[exit status {done.returncode}]"


def main(task, turns):
    client = OpenAI()
    items = [{"role": "user", "content": task}]
    for _ in range(turns):
        reply = client.responses.create(
            model=os.environ["OPENAI_MODEL"], input=items, tools=[SHELL], store=False
        )
        items += [item.model_dump(exclude_none=True) for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        for call in calls:
            output = {"type": "function_call_output", "call_id": call.call_id, "output": run(call)}
            items.append(output)
        if not calls:
            print(reply.output_text)
            return


main(sys.argv[1], int(sys.argv[2]))
