"""Runs to look at: real games and sums, played by an agent that errs, and synthetic tokens.

``python plugins/gem-eval/tests/view/samples.py FOLDER`` writes two runs there.
"""

import json
import math
import random
import re
import sys
from pathlib import Path

from gem_core import Reply, make, make_agent
from gem_core.agent import BaseAgent, Generation
from gem_rollout import Trajectory, TrajectoryFile, collect
from gem_rollout.records.runs import Run
from gem_tasks.task_source import ListedTasks
from gem_terminal.env import TerminalEnv
from gem_terminal.task import TerminalTask
from gem_workers.machine import MachineSpec

ENVS = (
    "game:GuessTheNumber-v0-easy",
    "game:Mastermind-v0-easy",
    "game:TowerofHanoi-v0-easy",
    "game:Hangman-v0-easy",
    "rg:leg_counting",
)


class ErringAgent(BaseAgent):
    """Plays as the oracle, or at random with a chance that falls as the run goes on.

    Args:
        name: What the model is called.
        skill: Chance of the oracle's move.
        rng: Decides.
    """

    def __init__(self, name, skill, rng):
        self.name, self.skill, self.rng = name, skill, rng

    def reset(self, env):
        self.players = [make_agent("random"), make_agent("oracle")]
        for player in self.players:
            player.reset(env)
        self.started = False
        if self.rng.random() < 0.012:
            self.players[0].act = self.fail

    def fail(self, observation, info):
        raise ConnectionError("the endpoint closed the connection after 3 attempts")

    def act(self, observation, info):
        moves = [player.act(observation, info) for player in self.players]
        is_sure = self.rng.random() < self.skill
        thought = "I narrow it down and take the middle." if is_sure else "Perhaps this one?"
        text = f"{thought} The next move is {moves[is_sure]}"
        tokens = re.findall(r"\s*\w{1,6}|\s*[^\w\s]|\s+", text)
        logprobs = [-self.rng.expovariate(7 if is_sure else 1.6) for _ in tokens]
        prompt = len(str(observation)) // 4
        started, self.started = self.started, True
        return Reply(
            text,
            Generation(
                messages=[{"role": "user", "content": str(observation)}],
                reply={"role": "assistant", "content": text},
                extends=started,
                model=self.name,
                finish_reason="stop",
                prompt_tokens=prompt,
                completion_tokens=len(tokens),
                prompt_ids=[self.rng.randrange(32_000) for _ in range(min(prompt, 40))],
                token_ids=[self.rng.randrange(32_000) for _ in tokens],
                tokens=tokens,
                logprobs=logprobs,
                queue_seconds=self.rng.expovariate(20),
                model_seconds=0.2 + len(tokens) * 0.012,
            ),
        )


def make_run(folder, name, skill, *, episodes=40, envs=ENVS, gain=0.0, seed=0):
    """Write a run of ``episodes`` episodes for each environment, four of each task."""
    rng = random.Random(f"{name}{seed}")
    run = Run.create(folder, command=["eval"], config={}, envs=envs, agents=[name])
    stories = {env: _play(env, name, skill, gain, episodes, seed, rng) for env in envs}
    order = [env for env in envs for _ in range(episodes)]
    rng.shuffle(order)
    with TrajectoryFile(run.trajectories_path) as file:
        for place, env in enumerate(order):
            trajectory = next(stories[env])
            trajectory.started_at = 1_790_000_000.0 + place
            file.append(trajectory)
    return run.path


def _play(env_id, name, skill, gain, episodes, seed, rng):
    agent = ErringAgent(name, skill, rng)
    for index in range(episodes):
        agent.skill = min(0.98, skill + gain * index / episodes)
        found = collect(
            lambda: make(env_id),
            lambda: agent,
            episodes=[index // 4],
            seed=seed,
            concurrency=1,
            agent_name=name,
        )
        (trajectory,) = list(found)
        trajectory.index, trajectory.group, trajectory.sample = index, index // 4, index % 4
        _spend_time(trajectory, rng)
        yield trajectory


def _spend_time(trajectory, rng):
    """Give times as a real model has them, and an advantage for each token."""
    trajectory.setup_seconds += rng.expovariate(8)
    centre = trajectory.episode_return - 0.5
    for turn in trajectory.turns:
        turn.env_seconds += rng.expovariate(60)
        generation = turn.generation
        if generation is not None:
            turn.agent_seconds += generation.queue_seconds + generation.model_seconds
            turn.info = {
                **turn.info,
                "advantages": [round(centre + rng.gauss(0, 0.25), 4) for _ in generation.tokens],
            }


TERMINAL_TURNS = (
    "Let me look around.\n```bash\nls -l\ncat names.txt\n```",
    "```bash\nmkdir -p out && cd out\nseq 1 4000 | sed 's/^/line /'\n```",
    '```bash\npython3 -c \'name = input("name? "); print("hello", name)\'\n```',
    "```bash\nAda\n```",
    "There is no such file, I think.\n```bash\ncat missing.txt\n```",
    "```bash\ncd ..\nsort names.txt > out/sorted.txt\n```",
    "```bash\necho >> old.txt\nrm draft.txt\ntouch re.py\n```",
    "All is done.\n```bash\nfinish\n```",
)
"""What a person would do in a terminal: look, print a lot, type into a program, fail, finish."""


class ScriptedAgent(BaseAgent):
    """Gives the answers of ``TERMINAL_TURNS``."""

    def reset(self, env):
        self.turns = iter(TERMINAL_TURNS)

    def act(self, observation, info):
        return next(self.turns)


def terminal_trajectory():
    """Play an episode at a real terminal.

    Raises:
        MachineError: No machine can be started.
    """
    task = TerminalTask(
        id="names",
        instruction="Sort names.txt into out/sorted.txt.",
        machine=MachineSpec(
            workdir="/app",
            files={f"/app/{name}.txt": b"Grace\nAda\n" for name in ("names", "old", "draft")},
        ),
        tests={"test.sh": _GRADE.encode()},
    )
    rollout = collect(
        lambda: TerminalEnv(tasks=ListedTasks([task]), command_timeout=3.0, output_limit=2000),
        ScriptedAgent,
        episodes=1,
        seed=0,
        agent_name="scripted",
    )
    (trajectory,) = rollout
    return trajectory


_GRADE = """
echo '2 passed, 1 failed'
echo '{"sorted": 1.0, "tidy": 0.5}' > /logs/verifier/reward.json
"""


def write_many(path, count, *, turns=3, envs=20, seed=0):
    """Write ``count`` episodes that nobody played, quickly; return the path."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for index in range(count):
            won = rng.random() < 0.4
            error = None
            if index % 50 == 7:
                error = {"boundary": "tool", "type": "E", "message": "m", "traceback": ""}
            file.write(
                json.dumps(
                    {
                        "env_id": f"many:Env{index % envs:02}",
                        "agent": f"agent-{index // envs % 2}",
                        "index": index,
                        "seed": index * 7919,
                        "turns": [
                            {
                                "agent": "a",
                                "observation": f"turn {turn} of {index}: " + "x y z " * 60,
                                "action": f"move {rng.randrange(1000)}",
                                "reward": float(won) if turn == turns - 1 else 0.0,
                                "terminated": turn == turns - 1,
                                "truncated": False,
                                "info": {"n": turn},
                                "agent_seconds": rng.random(),
                                "env_seconds": rng.random() / 100,
                            }
                            for turn in range(turns)
                        ],
                        "reset_info": {},
                        "final_observation": "done",
                        "success": None if error else won,
                        "error": error,
                        "setup_seconds": 0.01,
                        "group": index // (2 * envs),
                        "sample": 0,
                        "attempts": 1,
                        "failures": [],
                        "started_at": float(index),
                    }
                )
                + "\n"
            )
    return path


def odd_trajectory(text="x", **fields):
    """Return an episode of one turn, with ``text`` wherever a text can be."""
    generation = Generation(
        messages=[{"role": text, "content": text, text: text}],
        reply={"role": "assistant", "content": text, text: text},
        model=text,
        finish_reason=text,
        token_ids=[1, 2],
        tokens=[text, text],
        prompt_ids=[3],
        logprobs=[-0.1, -math.inf],
    )
    call = {"tool": text, "function": text, "arguments": {text: text, "b": 1}, "id": text}
    call |= {"ok": False, "output": text, "seconds": 0.1, "info": {}}
    command = {"tool": "terminal", "function": text, "arguments": {"command": text}, "ok": True}
    command |= {"output": text, "exit_status": text, "prompt": text, "directory": text}
    info = {text: text, "tool_calls": [call, command], "advantages": [0.5, -1.0]}
    info |= {"rewards": {text: 0.5}, "left_behind": [text], "verifier_output": text}
    info |= {"changed_files": {"new": [text], "changed": [text], "deleted": [text]}}
    error = {"boundary": text, "type": text, "message": text, "traceback": text}
    turn = {
        "agent": text,
        "observation": {text: text, "images": [text, "javascript:alert(1)"]},
        "action": text,
        "reward": 0.5,
        "terminated": True,
        "truncated": False,
        "info": info,
        "generation": generation.to_dict(),
    }
    return Trajectory.from_dict(
        {
            "env_id": text,
            "agent": text,
            "index": 0,
            "seed": 1,
            "turns": [turn],
            "reset_info": {text: text},
            "final_observation": text,
            "error": error,
            "failures": [error],
            **fields,
        }
    )


def odd_dialogue(text="x", **fields):
    """Return a dialogue of one turn, with ``text`` wherever a text can be."""
    call = {"tool": "database", "function": text, "arguments": {text: text}, "id": text}
    call |= {"ok": True, "output": text, "kind": "write"}
    change = {"table": text, "id": text, "path": text, "before": text, "after": {text: text}}
    info = {"tool_calls": [call], "ended_by": text, "db_diff": [change, {**change, "path": ""}]}
    info |= {"rewards": {"db": 0.0, text: 1.0}}
    info |= {"reward_details": {"db": [{**change, "path": "else"}], text: [text, call]}}
    turn = {"agent": text, "observation": text, "action": text, "reward": 0.0}
    turn |= {"terminated": True, "truncated": False, "info": info}
    fields = {"index": 0, "seed": 1, "turns": [turn], "final_observation": text, **fields}
    reset_info = {"task_id": text, "prefix": text, "user": {"id": text}}
    return Trajectory.from_dict({"env_id": text, "agent": text, "reset_info": reset_info, **fields})


if __name__ == "__main__":
    target = Path(sys.argv[1])
    make_run(target / "before", "small-model", 0.45, gain=0.1)
    make_run(target / "after", "small-model", 0.62, gain=0.33)
