"""Training runs: their files, resuming bit for bit, and early ends."""

import csv
import math
import signal
import subprocess
import sys
import time

import pytest
import torch
from commands import Command
from models import GUESS, trainer_of, weights_of

from gem_agents.local import LocalAgent
from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_rollout import collect, read_trajectories
from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.records.runs import Run
from gem_train.checkpoint import latest_checkpoint, load_checkpoint
from gem_train.errors import DivergedError, NoEpisodesError
from gem_train.policy import Policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def rows(out):
    with (out / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def figures(out):
    """The metrics of a run, except for times."""
    return [
        {
            name: value
            for name, value in row.items()
            if not name.startswith(("time/", "speed/", "memory/"))
        }
        for row in rows(out)
    ]


def played(out):
    return [
        (one.component, one.index, [turn.generation.token_ids for turn in one.turns])
        for one in read_trajectories(out / "trajectories.jsonl")
    ]


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_a_run_leaves_metrics_episodes_evaluations_and_a_model(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, eval={"every": 2, "episodes": 6}, log={"plot": True})
    assert trainer.train()
    found = rows(tmp_path)
    assert [int(row["step"]) for row in found] == [0, 1, 2, 3, 4]
    for name in (
        "rollout/return",
        "train/loss",
        "train/grad_norm",
        "time/sample",
        "memory/peak_gib",
    ):
        assert all(math.isfinite(float(row[name])) for row in found[1:])
    assert [bool(row["eval/success"]) for row in found] == [True, False, True, False, True]
    assert len(played(tmp_path)) == 8 * 3
    written = list(read_trajectories(tmp_path / "trajectories.jsonl"))
    assert [one.training_step for one in written] == [1] * 8 + [2] * 8 + [4] * 8
    last = written[-1]
    assert all(math.isfinite(turn.info["advantage"]) for turn in last.turns)
    runs = sorted((tmp_path / "eval").iterdir())
    assert [one.name for one in runs] == ["000000", "000002", "000004"]
    tasks = [sorted(one.seed for one in Run.open(run).trajectories()) for run in runs]
    assert tasks[0] == tasks[1] == tasks[2]
    assert not set(tasks[0]) & {
        one.seed for one in read_trajectories(tmp_path / "trajectories.jsonl")
    }
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    assert same(
        weights_of(Policy.load(tmp_path / "model", device="cpu")), weights_of(trainer.policy)
    )


def test_sampler_and_learner_agree_on_every_token(folder, tmp_path):
    algo = {"id": "reinforce"}  # learns from equal returns too
    trainer = trainer_of(folder, tmp_path, steps=1, algo=algo, sampling={"temperature": 0.8})
    trainer.train()
    assert trainer.metrics["train/sampler_gap"] < 1e-5


def test_tokens_have_the_version_of_the_policy_and_a_sampler_that_lags_is_stale(folder, tmp_path):
    """The other sampler gets the weights of every second step."""
    learns = {"algo": {"id": "reinforce"}, "log": {"trajectories_every": 1}}  # from equal returns
    own = trainer_of(folder, tmp_path / "own", steps=2, **learns)
    own.train()
    played = list(read_trajectories(tmp_path / "own" / "trajectories.jsonl"))
    for step, episodes in enumerate((played[:8], played[8:])):
        for turn in (turn for one in episodes for turn in one.turns):
            assert turn.generation.versions == [step] * len(turn.generation.token_ids)
    for row in rows(tmp_path / "own"):
        assert (float(row["train/staleness"]), float(row["train/max_staleness"])) == (0, 0)
        assert float(row["train/effective_sample_size"]) == pytest.approx(1, abs=1e-5)

    copied = Policy.load(folder, device="cpu")
    agent = LocalAgent(
        model=copied.model, tokenizer=copied.tokenizer, max_new_tokens=6, scaled_logprobs=True
    )

    def send(policy, step):
        if step % 2 == 0:
            copied.load_trained_state(policy.trained_state())
            agent.sampler.version = step

    def make_agent():
        return LocalAgent(model=agent.sampler, max_new_tokens=6, scaled_logprobs=True)

    moves = {"loss": {"entropy": 0.1}, "optim": {"lr": 1e-2}, "sampling": {"max_gap": None}}
    trainer_of(folder, tmp_path / "lags", **moves, make_agent=make_agent, after_step=send).train()
    found = rows(tmp_path / "lags")
    assert [float(row["train/max_staleness"]) for row in found] == [0, 1, 0, 1]
    assert [float(row["train/staleness"]) for row in found] == [0, 1, 0, 1]
    sizes = [float(row["train/effective_sample_size"]) for row in found]
    assert min(sizes[::2]) > 0.9999 > max(sizes[1::2])
    assert min(sizes) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"algo": {"id": "ppo", "gamma": 0.9}, "optim": {"epochs": 2, "minibatches": 2}},
        {"algo": {"id": "grpo"}, "loss": {"kl": 0.1}, "rollout": {"group_size": 4}},
        {"rollout": {"turns": 10}, "optim": {"schedule": "cosine", "warmup_steps": 2}},
        {
            "envs": (GUESS, "game:Mastermind-v0-easy"),
            "curriculum": {"id": "learning_progress"},
        },
    ],
    ids=["rebn", "ppo", "grpo", "constant batch", "curriculum"],
)
def test_a_run_that_was_ended_goes_on_bit_for_bit(folder, tmp_path, config, monkeypatch):
    """Ctrl-C arrives while the episodes of the third step are played."""
    whole = trainer_of(folder, tmp_path / "whole", steps=3, **config)
    whole.train()
    part = trainer_of(folder, tmp_path / "part", steps=3, **config, checkpoint={"every": 2})

    def collect_or_end(*args, **options):
        rollout = collect(*args, **options)
        if part.step == 2:
            next(rollout)
            rollout.close()
            raise KeyboardInterrupt
        return rollout

    monkeypatch.setattr("gem_train.collector.collect", collect_or_end)
    assert not part.train()
    monkeypatch.undo()
    again = trainer_of(folder, tmp_path / "part", steps=3, **config, resume=True)
    assert again.step == 2
    assert again.train()
    assert same(weights_of(whole.policy), weights_of(again.policy))
    assert figures(tmp_path / "part") == figures(tmp_path / "whole")
    assert played(tmp_path / "part") == played(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_from_the_last_checkpoint(folder, tmp_path):
    """Steps after the checkpoint are repeated, and appear in the files once."""
    whole = trainer_of(folder, tmp_path / "whole")
    whole.train()
    code = f"""
import os, sys
sys.path[:] = {sys.path!r}
from pathlib import Path
from models import trainer_of
trainer = trainer_of({str(folder)!r}, Path({str(tmp_path / "part")!r}), checkpoint={{"every": 1}})
trainer._save_checkpoint = lambda save=trainer._save_checkpoint: trainer.step < 2 and save()
take = trainer._take_step
trainer._take_step = lambda: os.kill(os.getpid(), 9) if trainer.step == 3 else take()
trainer.train()
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert [int(row["step"]) for row in rows(tmp_path / "part")] == [1, 2, 3]
    again = trainer_of(folder, tmp_path / "part", resume=True)
    assert again.step == 1
    again.train()
    assert same(weights_of(whole.policy), weights_of(again.policy))
    assert figures(tmp_path / "part") == figures(tmp_path / "whole")
    assert played(tmp_path / "part") == played(tmp_path / "whole")


@pytest.mark.slow
def test_a_loss_that_is_not_finite_leaves_a_checkpoint_from_before(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, algo={"id": "reinforce"})
    learn = trainer._learner.learn

    def learn_from_nan(batch, generator):
        if trainer.step == 2:
            batch.reward[:] = math.nan
        return learn(batch, generator)

    trainer._learner.learn = learn_from_nan
    with pytest.raises(DivergedError, match=r"optim\.lr"):
        trainer.train()
    state = load_checkpoint(latest_checkpoint(tmp_path))
    assert state["step"] == 2
    kept = weights_of(Policy.load(latest_checkpoint(tmp_path), device="cpu"))
    assert all(torch.isfinite(one).all() for one in kept.values())
    assert trainer_of(folder, tmp_path, algo={"id": "reinforce"}, resume=True).train()


@pytest.mark.slow
def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, checkpoint={"every": 1})
    (tmp_path / "checkpoints").write_text("a file where a folder should be")
    assert trainer.train()
    assert (tmp_path / "model").is_dir()


@pytest.mark.slow
def test_old_checkpoints_are_deleted(folder, tmp_path):
    trainer_of(folder, tmp_path, checkpoint={"every": 1, "keep": 2}).train()
    assert sorted(one.name for one in (tmp_path / "checkpoints").iterdir()) == ["000003", "000004"]


@pytest.mark.slow
def test_a_checkpoint_of_the_same_step_takes_the_place_of_the_old_one(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, steps=1)
    trainer.train()
    trainer._save_checkpoint()
    assert trainer._checkpoints.wait() is None
    assert [one.name for one in (tmp_path / "checkpoints").iterdir()] == ["000001"]
    assert load_checkpoint(latest_checkpoint(tmp_path))["step"] == 1


@pytest.mark.slow
def test_every_update_has_as_many_turns_as_asked_for(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, rollout={"episodes": 4, "turns": 11})
    trainer.train()
    assert all(float(row["train/turns"]) == 11 for row in rows(tmp_path))


def test_a_step_without_an_episode_is_reported_with_the_reason(folder, tmp_path):
    long = save_tiny_model(tmp_path / "short-sighted", context=16)
    with pytest.raises(NoEpisodesError, match=r"(?s)Every episode failed.*tokens"):
        trainer_of(long, tmp_path / "run").train()


@pytest.mark.parametrize(
    ("config", "error", "text"),
    [
        ({"algo": {"id": "rebnn"}}, UnknownIdError, "rebn"),
        ({"algo": {"id": "rebn", "gama": 1}}, UnknownKwargError, "gamma"),
        ({"algo": {"id": "rebn", "gamma": 2}}, ConfigError, "between 0 and 1"),
        ({"algo": {"id": "grpo"}, "rollout": {"episodes": 12}}, ConfigError, "multiple"),
        ({"curriculum": {"id": "level"}}, UnknownIdError, "levels"),
        ({"resume": True}, ConfigError, "no checkpoint"),
        ({"log": {"writers": ["cvs"]}}, UnknownIdError, "csv"),
    ],
)
def test_an_invalid_configuration_is_reported_before_anything_is_trained(
    folder, tmp_path, config, error, text
):
    with pytest.raises(error, match=text):
        trainer_of(folder, tmp_path, **config).train()


@pytest.mark.slow
def test_a_checkpoint_of_other_environments_is_refused(folder, tmp_path):
    trainer_of(folder, tmp_path, steps=1).train()
    with pytest.raises(ConfigError, match="was made with"):
        trainer_of(folder, tmp_path, envs=["game:Mastermind-v0-easy"], resume=True)


@pytest.mark.slow
def test_a_checkpoint_that_was_cut_is_refused(folder, tmp_path):
    trainer_of(folder, tmp_path, steps=1).train()
    state = latest_checkpoint(tmp_path) / "state.pt"
    state.write_bytes(state.read_bytes()[:1000])
    with pytest.raises(ConfigError, match="cannot be read"):
        trainer_of(folder, tmp_path, resume=True)


@pytest.mark.slow
def test_a_response_that_was_cut_is_an_invalid_action(folder, tmp_path):
    trainer_of(folder, tmp_path, steps=1, sampling={"max_new_tokens": 2}).train()
    cut = [
        turn
        for one in read_trajectories(tmp_path / "trajectories.jsonl")
        for turn in one.turns
        if turn.generation.finish_reason == "length"
    ]
    assert cut
    assert all("INVALID_ACTION" in turn.action for turn in cut)
    assert not any("INVALID_ACTION" in turn.generation.reply["content"] for turn in cut)


@pytest.mark.slow
def test_ctrl_c_and_sigterm_end_a_command_with_a_checkpoint_and_it_goes_on(folder, tmp_path):
    out = tmp_path / "run"
    command = [sys.executable, "-m", "gem_core", "train", f"out={out}"]
    options = [
        f"model={folder}",
        "env=game/GuessTheNumber-v0-easy",
        "steps=100000",
        "rollout.episodes=8",
        "sampling.max_new_tokens=6",
        "log.writers=[csv]",
        "log.plot=false",
        "device=cpu",
        "threads=1",
    ]
    metrics, steps = out / "metrics.csv", 0
    for how, more in ((signal.SIGINT, options), (signal.SIGTERM, ["resume=true"])):
        process = Command([*command, *more], stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 120
        while not (metrics.is_file() and len(metrics.read_text().splitlines()) > steps + 2):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(how)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "resume=true" in errors
        before, steps = steps, load_checkpoint(latest_checkpoint(out))["step"]
        assert steps >= before + 2

    again = subprocess.run(
        [*command, "resume=true", f"steps={steps + 2}"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert [int(row["step"]) for row in rows(out)] == list(range(1, steps + 3))
