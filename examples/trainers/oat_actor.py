"""Environments in Oat: an actor that samples the replies of episodes played by another program.

Oat needs Python 3.10, and gem-core Python 3.11 or newer. This file runs in Oat's environment and
starts ``oat_episodes.py`` with the Python that ``GEM_PYTHON`` names. Give ``Actor`` to Oat as the
actor of a run with ``PPOMultiTurnLearner``.
"""

import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from oat.algorithms.ppo_multiturn import PPOMultiTurnActor
from oat.types import Transition

PROGRAM = Path(__file__).with_name("oat_episodes.py")


class Actor(PPOMultiTurnActor):  # type: ignore[misc]
    """Plays episodes until there are transitions for a batch."""

    def init(self, actor_id: int, save_path: str) -> None:
        """Start the program that plays."""
        super().init(actor_id, save_path)
        self.seeds = itertools.count(actor_id * 10**6)
        self.program: Any = subprocess.Popen(  # noqa: S603 - a program of ours
            [os.environ["GEM_PYTHON"], str(PROGRAM), self.args.pretrain],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def collect_experience(self) -> tuple[list[list[Transition]], dict[str, Any]]:
        """Return episodes with at least as many transitions as the learner takes."""
        episodes: list[list[Transition]] = []
        while sum(map(len, episodes)) < self.args.rollout_batch_size_per_device:
            answer = self.ask({"seed": next(self.seeds)})
            while "episodes" not in answer:
                answer = self.ask(self.sampled(**answer))
            episodes += [[Transition(**fields) for fields in one] for one in answer["episodes"]]
        return episodes, {}

    def ask(self, value: Any) -> dict[str, Any]:
        """Send a line to the program, and return its next one."""
        print(json.dumps(value), file=self.program.stdin, flush=True)
        line = self.program.stdout.readline()
        if not line:
            raise RuntimeError(f"{PROGRAM} ended with the status {self.program.wait()}.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def sampled(self, prompts: list[list[int]], rooms: list[int]) -> list[dict[str, Any]]:
        """Sample a reply to each prompt with vLLM."""
        params = [self.sampling_params.clone() for _ in rooms]
        for one, room in zip(params, rooms, strict=True):
            one.n, one.max_tokens = 1, room
        replies = [output.outputs[0] for output in self.generate(prompts, params)]
        return [
            {
                "ids": list(reply.token_ids),
                "logprobs": [
                    found[token].logprob
                    for token, found in zip(reply.token_ids, reply.logprobs, strict=True)
                ],
                "is_complete": reply.finish_reason == "stop",
            }
            for reply in replies
        ]
