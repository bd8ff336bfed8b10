"""Folders of training runs, written quickly: nobody was trained."""

import csv
import json
import random

from gem_rollout import Trajectory, TrajectoryFile

ENV = "game:GuessTheNumber-v0-easy"


def training_run(folder, *, seed=0, steps=20, every=5, episodes=8, **config):
    """Write a training run: metrics, the episodes of every fifth step, and evaluations.

    Returns:
        The folder.
    """
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    config = {"seed": seed, "out": str(folder), "algo": {"id": "rebn"}, **config}
    (folder / "run.json").write_text(json.dumps({"kind": "train", "config": config}))
    rows = [{"step": 0, **_evaluation(folder, 0, 0.25, rng)}]
    with TrajectoryFile(folder / "trajectories.jsonl") as file:
        for step in range(1, steps + 1):
            share = 0.25 + 0.5 * step / steps
            row = {"step": step, "rollout/success": share + rng.uniform(-0.1, 0.1)}
            row |= {"rollout/return": share - 1, "train/loss": rng.gauss(0, 0.01)}
            row |= {"train/entropy": 1 / step, "train/lr": 1e-5, "train/grad_norm": rng.random()}
            row |= {"sampler/rows": 256.0}
            if step % every == 0:
                for index in range(episodes):
                    file.append(_episode(index, rng.random() < share, training_step=step))
                row |= _evaluation(folder, step, share, rng)
            rows.append(row)
    write_metrics(folder, rows)
    return folder


def write_metrics(folder, rows):
    """Write ``metrics.csv``; ``rows`` have ``step`` and metrics."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / "metrics.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def evaluation(folder, step, outcomes):
    """Write the evaluation after a step: whether each of its episodes succeeded."""
    place = folder / "eval" / f"{step:06d}"
    place.mkdir(parents=True, exist_ok=True)
    with TrajectoryFile(place / "trajectories.jsonl") as file:
        for index, won in enumerate(outcomes):
            file.append(_episode(index, won))
    share = sum(outcomes) / len(outcomes)
    return {"eval/success": share, "eval/return": share, "eval/episodes": len(outcomes)}


def _evaluation(folder, step, share, rng):
    return evaluation(folder, step, [rng.random() < share for _ in range(20)])


def _episode(index, won, **more):
    turn = {"agent": "policy", "observation": "Guess.", "action": f"\\boxed{{{index}}}"}
    turn |= {"reward": float(won), "terminated": True, "truncated": False, "info": {}}
    fields = {"env_id": ENV, "agent": "policy", "index": index, "group": index, "seed": index}
    return Trajectory.from_dict({**fields, "success": won, "turns": [turn], **more})
