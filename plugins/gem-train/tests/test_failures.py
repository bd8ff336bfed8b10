"""What goes wrong in a run is seen: errors, memory, signs of a broken policy, checkpoints."""

import io
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from models import batch_for as batch_of_policy
from models import generator, learner_of, trainer_of, weights_of
from needs import needs
from plays import episode_of, turn_of
from rich.console import Console

from gem_core.agent import BaseAgent
from gem_rollout import read_trajectories
from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.records.format_errors import quote_of
from gem_rollout.records.runs import Run
from gem_train import checkpoint as checkpoints
from gem_train.checkpoint import CheckpointWriter, checkpoint_steps, load_checkpoint
from gem_train.errors import TooManyErrorsError
from gem_train.health import Health
from gem_train.metrics import read_metrics
from gem_train.policy import Policy
from gem_train.train_command import _summarise


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


class FailingAgent(BaseAgent):
    """Fails in some episodes, by their number of calls; else asks the trainer's own agent."""

    def __init__(self, agent, fails):
        self._agent, self._fails = agent, fails

    def seed_episode(self, seed):
        self._agent.seed_episode(seed)

    def reset(self, env):
        self._agent.reset(env)

    def act(self, observation, info):
        return self._act(observation, info)

    async def _act(self, observation, info):
        if self._fails():
            raise ValueError("no reply")
        return await self._agent.act(observation, info)

    def close(self):
        self._agent.close()


def failing(trainer, share, *, once=False):
    """Let the agents of every n-th episode fail; with ``once`` not in their second attempt."""
    make, count = trainer._collector._make_agent, 0

    def make_failing():
        nonlocal count
        count += 1
        is_bad = count % round(1 / share) == 0
        return FailingAgent(make(), lambda: is_bad)

    trainer._collector._make_agent = make_failing


def text_of(trainer):
    trainer._console.file.flush()
    return trainer._console.file.getvalue()


def shown(trainer):
    trainer._console = Console(file=io.StringIO(), width=400, color_system=None)
    return trainer


@pytest.mark.slow
def test_too_many_errors_end_the_run_before_it_learns_from_the_rest(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, rollout={"retries": 0}, checkpoint={"every": 1})
    before = weights_of(trainer.policy)
    failing(trainer, 1 / 2)
    with pytest.raises(TooManyErrorsError, match=r"(?s)50% of .*max_error_share is 10%.*no reply"):
        trainer.train()
    assert all(torch.equal(before[name], one) for name, one in weights_of(trainer.policy).items())
    failed = list(read_trajectories(tmp_path / "failed.jsonl"))
    assert len(failed) == 4
    assert all(one.error is not None for one in failed)
    assert trainer_of(folder, tmp_path, resume=True).train()


@pytest.mark.slow
def test_a_few_errors_are_printed_counted_and_written(folder, tmp_path):
    trainer = shown(
        trainer_of(
            folder,
            tmp_path,
            rollout={"retries": 0, "max_error_share": 0.3},
            progress="lines",
        )
    )
    failing(trainer, 1 / 4)
    assert trainer.train()
    assert trainer.metrics["rollout/errors"] == 0.25
    assert text_of(trainer).count("2 of 8 episodes ended with an error") == 1
    assert "errors 25.0%" in text_of(trainer)
    assert len(list(read_trajectories(tmp_path / "failed.jsonl"))) == 2


def test_an_episode_that_fails_once_is_played_again(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, steps=1)
    failing(trainer, 1 / 6)  # the first attempts are agents 1 to 8, the second one agent 9
    assert trainer.train()
    assert trainer.metrics["rollout/errors"] == 0
    assert trainer.metrics["rollout/retried"] == 1 / 8


@pytest.mark.slow
def test_a_lack_of_memory_in_sampling_makes_the_batch_smaller_and_loses_no_episode(
    folder, tmp_path
):
    trainer = trainer_of(folder, tmp_path, steps=2, rollout={"concurrency": 8})

    def check(_model, _args, kwargs):
        if torch.is_inference_mode_enabled() and len(kwargs["input_ids"]) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    trainer.policy.model.register_forward_pre_hook(check, with_kwargs=True)
    assert trainer.train()
    assert trainer.metrics["rollout/errors"] == 0
    assert trainer.metrics["sampler/memory_errors"] > 0
    assert trainer.metrics["sampler/rows"] <= 3


@pytest.mark.slow
def test_concurrency_is_the_number_of_rows_of_the_sampler(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, steps=1, rollout={"episodes": 12, "concurrency": 5})
    widths = []
    trainer.policy.model.register_forward_pre_hook(
        lambda _, __, kwargs: widths.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    trainer.train()
    assert trainer._sampling.engine.sampler.limits.rows == 5
    assert max(widths) == 5


@pytest.mark.slow
def test_what_shows_a_broken_run_is_in_the_table_and_the_line_by_default(folder, tmp_path):
    loss = {"entropy": 1e-9}  # without it, equal returns make no update
    trainer = shown(trainer_of(folder, tmp_path, progress="lines", loss=loss))
    trainer.train()
    found = read_metrics(tmp_path / "metrics.csv")
    for name in (
        "train/entropy",
        "train/grad_norm",
        "train/clipped",
        "rollout/response_tokens",
        "rollout/errors",
    ):
        assert len(found[name][1]) == 4
    assert 4 < found["train/entropy"][1][0] < 6  # of random weights: almost log 400
    line = text_of(trainer).splitlines()[-1]
    for part in ("entropy ", "gradient norm ", "clipped 0.0%", "response tokens ", "errors 0.0%"):
        assert part in line


GOOD = {
    "train/grad_norm": 0.5,
    "train/entropy": 2.0,
    "rollout/response_tokens": 100.0,
    "rollout/equal_groups": 0.5,
    "rollout/cut": 0.1,
    "rollout/format_errors": 0.5,
    "rollout/success": 0.3,
}


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"train/grad_norm": 0.0}, "gradient has been 0"),
        ({"rollout/equal_groups": 1.0}, "every group have had the same return"),
        ({"train/entropy": 0.05}, "entropy has collapsed"),
        ({"rollout/response_tokens": 5.0}, "responses have collapsed"),
        ({"rollout/cut": 1.0}, "been cut"),
        ({"rollout/format_errors": 0.6}, "do not have the form"),
    ],
)
def test_a_sign_of_a_broken_run_is_reported_once_when_it_lasts(bad, text):
    health = Health(3)
    assert health.notes(GOOD) == []
    found = [health.notes({**GOOD, **bad}) for _ in range(2)]
    again = Health(3)
    again.load_state_dict(health.state_dict())  # as after a checkpoint
    found += [again.notes({**GOOD, **bad}) for _ in range(4)]
    assert [len(one) for one in found] == [0, 0, 1, 0, 0, 0]
    assert text in found[2][0]
    assert again.notes(GOOD) == []
    assert [len(again.notes({**GOOD, **bad})) for _ in range(3)] == [0, 0, 1]


def test_equal_groups_of_different_returns_are_something_to_learn_from():
    """As with algo=rebn, whose advantages are those of the whole batch."""
    health = Health(1)
    for spread, count in ((0.0, 1), (1.0, 0)):
        metrics = {**GOOD, "rollout/equal_groups": 1.0, "train/advantage_std": spread}
        assert len(health.notes(metrics)) == health.equal_steps == count


def test_a_warning_about_responses_quotes_what_the_model_wrote_and_names_keys_of_training():
    turns = [turn_of([1], [2], [-0.1], 0.0, extends=False, **how) for how in
             ({}, {"cut": True}, {"formatted": False})]  # fmt: skip
    for turn, text in zip(turns, ("fine", "and " * 40 + "so", "I say 5."), strict=True):
        turn.generation.reply = {"role": "assistant", "content": text}
    for name, quote, key in (
        ("cut", "'..." + ("and " * 40 + "so")[-60:] + "'", "sampling.max_new_tokens"),
        ("format_errors", "'I say 5.'", "sampling.system"),
    ):
        (note,) = Health(1).notes({f"rollout/{name}": 1.0}, [episode_of(turns)])
        assert key in note
        assert note.endswith(f"For example: {quote}")


def test_a_policy_that_succeeds_may_be_certain_and_no_patience_means_no_reports():
    health, silent = Health(2), Health(0)
    for metrics in (GOOD, *[{**GOOD, "train/entropy": 0.01, "rollout/success": 0.95}] * 5):
        assert health.notes(metrics) == []
        assert silent.notes({**metrics, "train/grad_norm": 0.0}) == []


@pytest.mark.slow
def test_the_advice_of_an_evaluation_names_keys_of_training_and_quotes_the_model(folder, tmp_path):
    trainer = shown(
        trainer_of(folder, tmp_path, progress="lines", steps=1, eval={"every": 1, "episodes": 2})
    )
    trainer.train()
    said = text_of(trainer)
    written = [one.turns[-1] for one in Run(tmp_path / "eval/000000").trajectories()]
    assert any(f"for example: {quote_of(one)!r}." in said for one in written)
    assert "raise sampling.max_new_tokens." in said
    assert all(one.action != one.generation.reply["content"] for one in written)


@pytest.mark.slow
def test_gradients_of_zero_are_reported_in_the_run(folder, tmp_path):
    trainer = shown(
        trainer_of(folder, tmp_path, progress="lines", log={"warn_after": 2}, optim={"lr": 1e-9})
    )
    learn = trainer._learner.learn

    def learn_nothing(batch, random):
        batch.reward[:] = 0
        return learn(batch, random)

    trainer._learner.learn = learn_nothing
    trainer.train()
    assert text_of(trainer).count("The gradient has been 0") == 1


@pytest.mark.slow
def test_a_run_ends_when_there_has_been_nothing_to_learn_from_for_long_enough(folder, tmp_path):
    """As at its last step, it evaluates, writes the episodes and saves the model."""
    trainer = shown(
        trainer_of(
            folder,
            tmp_path,
            steps=9,
            stop_after=2,
            progress="lines",
            algo={"id": "grpo"},
            eval={"every": 9, "episodes": 2},
            sampling={"max_new_tokens": 1},  # every response is cut, and has the same reward
        )
    )
    assert trainer.train()
    assert trainer.step == 2
    assert "nothing to learn from for stop_after=2 steps" in text_of(trainer)
    assert trainer.metrics["train/updates"] == 0
    assert [one.name for one in sorted((tmp_path / "eval").iterdir())] == ["000000", "000002"]
    assert (tmp_path / "model").is_dir()


@pytest.mark.parametrize("steps", [[], [3]])
def test_a_run_without_a_checkpoint_does_not_say_that_it_has_one(tmp_path, steps):
    for step in steps:
        (tmp_path / "checkpoints" / f"{step:06d}").mkdir(parents=True)
        (tmp_path / "checkpoints" / f"{step:06d}" / "state.pt").touch()
    console = Console(file=io.StringIO(), width=400)
    _summarise(console, Run(tmp_path), 5, "stopped")
    text = console.file.getvalue()
    assert ("There is no checkpoint" in text) == (not steps)
    assert ("newest checkpoint is that of step 3" in text) == bool(steps)
    assert ("resume=true" in text) == bool(steps)


@pytest.mark.slow
def test_a_checkpoint_is_written_while_the_run_goes_on(folder, tmp_path, monkeypatch):
    goes_on, was_on = threading.Event(), []
    save = torch.save

    def save_slowly(*args, **options):
        was_on.append(goes_on.wait(60))
        save(*args, **options)

    monkeypatch.setattr(checkpoints.torch, "save", save_slowly)
    trainer = trainer_of(
        folder,
        tmp_path,
        steps=3,
        checkpoint={"every": 1},
        after_step=lambda _, step: step == 2 and goes_on.set(),
    )
    assert trainer.train()
    assert was_on[0]
    assert checkpoint_steps(tmp_path) == [2, 3]


@pytest.mark.slow
def test_a_checkpoint_has_the_weights_of_its_step_and_has_them_once(folder, tmp_path):
    trainer = trainer_of(folder, tmp_path, steps=1, loss={"kl": 0.1})
    trainer.train()
    [written] = (tmp_path / "checkpoints").iterdir()
    weights = sum(one.numel() * 4 for one in trainer.policy.parameters())
    sizes = {one.name: one.stat().st_size for one in written.iterdir()}
    assert weights <= sizes["model.safetensors"] < 1.1 * weights
    assert sizes["state.pt"] < 2.2 * weights  # two moments
    kept = weights_of(Policy.load(written, device="cpu"))
    assert all(torch.equal(kept[name], one) for name, one in weights_of(trainer.policy).items())


@pytest.mark.slow
def test_a_full_disk_is_reported_and_training_goes_on(folder, tmp_path, monkeypatch):
    trainer = shown(trainer_of(folder, tmp_path, checkpoint={"every": 1}, progress="lines"))
    save, count = torch.save, 0

    def fill_disk(*args, **options):
        nonlocal count
        count += 1
        if count > 2:
            raise RuntimeError("PytorchStreamWriter failed writing file: No space left on device")
        save(*args, **options)

    monkeypatch.setattr(checkpoints.torch, "save", fill_disk)
    assert trainer.train()
    assert trainer.step == 4
    assert text_of(trainer).count("A checkpoint was not written") == 2
    assert "No space left" in text_of(trainer)
    assert checkpoint_steps(tmp_path) == [1, 2]
    assert [one.name for one in (tmp_path / "checkpoints").iterdir() if one.name[0] == "."] == []


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_writes_leaves_the_last_whole_checkpoint(
    folder, tmp_path
):
    code = f"""
import os, sys, torch
from pathlib import Path
from gem_train import checkpoint
from gem_train.checkpoint import CheckpointWriter
from gem_train.policy import Policy

policy = Policy.load({str(folder)!r}, device="cpu")
writer = CheckpointWriter(Path({str(tmp_path)!r}), 2)
writer.save(1, policy, {{"moments": torch.arange(1000)}})
writer.wait()
save = torch.save

def be_killed(state, path):
    save(state, path)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)
    os.kill(os.getpid(), 9)

checkpoint.torch.save = be_killed
writer.save(2, policy, {{"moments": torch.arange(1000)}})
writer.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    assert checkpoint_steps(tmp_path) == [1]
    state = load_checkpoint(tmp_path / "checkpoints" / "000001")
    assert torch.equal(state["moments"], torch.arange(1000))
    writer = CheckpointWriter(Path(tmp_path), 2)
    writer.save(2, Policy.load(folder, device="cpu"), state)
    assert writer.wait() is None
    assert sorted(one.name for one in (tmp_path / "checkpoints").iterdir()) == ["000001", "000002"]


@pytest.mark.slow
def test_a_disk_that_does_not_answer_is_reported_and_later_checkpoints_are_left_out(
    folder, tmp_path, monkeypatch
):
    answers, save = threading.Event(), torch.save

    def wait_for_the_disk(state, path):
        answers.wait(60)
        save(state, path)

    monkeypatch.setattr(torch, "save", wait_for_the_disk)
    policy = Policy.load(folder, device="cpu")
    writer = CheckpointWriter(tmp_path, 2, patience=0.01)
    assert writer.save(1, policy, {}) is None
    for error in (writer.save(2, policy, {}), writer.wait()):
        assert "000001: it is still being written after 0.01 seconds" in str(error)
    answers.set()
    while writer.wait() is not None:
        pass
    assert checkpoint_steps(tmp_path) == [1]
    assert writer.save(3, policy, {}) is None
    while writer.wait() is not None:
        pass
    assert checkpoint_steps(tmp_path) == [1, 3]


@pytest.mark.slow
def test_adamw_in_8_bits_learns_nearly_the_same_and_is_saved(folder, tmp_path, monkeypatch):
    needs("torchao")
    # Its step is compiled, which takes most of a minute on a CPU and changes nothing.
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)

    def learned(kind, state=None, steps=2):
        policy = Policy.load(folder, device="cpu")
        learner = learner_of(policy, optim={"kind": kind})
        if state is not None:
            learner.load_state_dict(state)
        for _ in range(steps):
            learner.learn(batch_of_policy(policy), generator())
        return learner, torch.cat([one.flatten() for one in weights_of(policy).values()])

    start = torch.cat(
        [one.flatten() for one in weights_of(Policy.load(folder, device="cpu")).values()]
    )
    short, found = learned("adamw8bit")
    _, expected = learned("adamw")
    similarity = torch.nn.functional.cosine_similarity(found - start, expected - start, dim=0)
    assert similarity > 0.95
    torch.save(checkpoints._copy(short.state_dict()), tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    learned("adamw8bit", state, steps=1)
