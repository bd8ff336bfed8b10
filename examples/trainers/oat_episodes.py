"""Episodes for Oat: a program for Python 3.11 or newer that an actor of Oat starts.

``oat_actor.py`` is that actor, and samples the replies. Each line is a JSON value::

    actor:    {"seed": 1}
    program:  {"prompts": [[1, 2], [1, 3]], "rooms": [16, 16]}
    actor:    [{"ids": [5, 6], "logprobs": [-0.1, -0.2], "is_complete": true}, ...]
    program:  {"prompts": ...}
    ...
    program:  {"episodes": [[{"prompt_ids": [1, 2], "response_ids": [5, 6], ...}, ...], ...]}

The argument is the path of the model, whose tokenizer is used::

    pip install gem-adapters gem-games gem-tools transformers
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from gem_core.extras import needed_by_script

with needed_by_script("pip install gem-adapters gem-games gem-tools transformers"):
    from transformers import AutoTokenizer

    from gem_adapters.oat import transitions
    from gem_rollout import Limits, Prompt, RowEnvs, Sampled, env_rows, play_batch

ENV = "game:Mastermind-v0-easy"
EPISODES = 8
LIMITS = Limits(turn_tokens=256, context=4096)


class Actor:
    """The actor at the other end of stdin and stdout."""

    def __init__(self) -> None:
        self._output, sys.stdout = sys.stdout, sys.stderr  # what environments print goes elsewhere

    def tell(self, value: Any) -> None:
        """Write a line."""
        print(json.dumps(value), file=self._output, flush=True)

    def sample(self, prompts: Sequence[Prompt]) -> list[Sampled]:
        """Let the actor sample a reply to each prompt."""
        self.tell({"prompts": [one.ids for one in prompts], "rooms": [one.room for one in prompts]})
        return [Sampled(**reply) for reply in json.loads(sys.stdin.readline())]


def main(path: str) -> None:
    """Play a batch for each line of the actor."""
    actor, envs = Actor(), RowEnvs(["tools=[python]"])
    tokenizer = AutoTokenizer.from_pretrained(path)
    for line in iter(sys.stdin.readline, ""):
        rows = env_rows(ENV, EPISODES, seed=json.loads(line)["seed"])
        sessions = [
            envs.session(row, tokenizer, limits=LIMITS, one_sequence="split") for row in rows
        ]
        played = asyncio.run(play_batch(sessions, actor.sample))
        episodes = [transitions(one, dict[str, Any], tokenizer) for one in played]
        actor.tell({"episodes": [one for one in episodes if one]})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python oat_episodes.py MODEL (a name or folder); oat_actor.py starts it")
    main(sys.argv[1])
