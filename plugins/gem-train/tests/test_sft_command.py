"""``gem-core train sft``, as a user runs it."""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest
from cli import gem
from commands import Command
from omegaconf import OmegaConf
from plays import GAME, played
from transformers import AutoModelForCausalLM, AutoTokenizer

from gem_core.errors import GemError
from gem_core.factory import make_factory
from gem_rollout import TrajectoryFile
from gem_rollout.records.runs import Run
from gem_train.make_model import Size, make_model
from gem_train.metrics import read_metrics
from gem_train.sft_command import command

ENV = "env=game/GuessTheNumber-v0-easy"
pytestmark = pytest.mark.slow
FAST = ("threads=1", "episodes=24", "batch_size=8", "warmup_steps=2", "validate_every=5")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    make_model(folder, [make_factory(GAME)], size=Size(32, 1, 2), episodes=3)
    return folder


def sft(*args, cwd):
    done = gem("train", "sft", *args, cwd=cwd, env={"COLUMNS": "200"})
    return done.returncode, done.stdout + done.stderr


def test_a_warm_start_is_a_run_with_a_model_in_it(tmp_path, model):
    arguments = (f"model={model}", ENV, "skill=[0,1]", "steps=10", "lr=1e-2", *FAST, "out=warm")
    code, shown = sft(*arguments, cwd=tmp_path)
    assert code == 0, shown
    run = Run.open(tmp_path / "warm")
    assert run.info()["envs"] == [GAME]
    assert run.info()["config"]["skill"] == [0, 1]
    assert len(list(run.trajectories())) == 24
    metrics = read_metrics(run.path / "metrics.csv")
    steps, losses = metrics["validation/loss"]
    assert steps == [0, 5, 10]
    assert losses[-1] < losses[0] - 1
    assert metrics["train/loss"][0] == list(range(1, 11))
    assert f"{losses[0]:.4f} before, {losses[-1]:.4f} after" in shown
    next_command = "gem-core train algo=rebn game:GuessTheNumber-v0-easy threads=1"
    assert f"Next: {next_command} model=warm/model optim.lr=1e-3" in shown
    assert AutoModelForCausalLM.from_pretrained(run.path / "model").config.hidden_size == 32
    code, shown = sft(*arguments, cwd=tmp_path)
    assert code == 1
    assert "holds a run: choose another out" in shown


def test_the_next_command_keeps_what_was_set_and_can_be_copied_into_a_shell(tmp_path, model):
    text = 'It\'s a "game": ${x}\n\t$HOME `ls`, \\ and * end'
    (tmp_path / "system.txt").write_text(text)
    words = [ENV, "env.max_turns=3", "sampling.system=@system.txt", "sampling.stop=['; ',x y]"]
    words += ["sampling.template.enable_thinking=false", "sampling.max_new_tokens=600"]
    words += ["precision=bf16", "wrappers=[concat]", "tool_use.max_tool_uses=2"]
    code, shown = sft(f"model={model}", *words, "steps=1", *FAST, "out=a warm one", cwd=tmp_path)
    assert code == 0, shown
    line = shown.partition("Next: ")[2].replace("gem-core train", "printf '%s\\0'", 1)
    typed = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    done = gem("train", *typed.stdout.split("\0")[:-1], "--cfg", "job", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    config = OmegaConf.to_container(OmegaConf.create(done.stdout), resolve=True)
    chosen = {name: config["sampling"][name] for name in ("system", "stop", "max_new_tokens")}
    assert chosen == {"system": text, "stop": ["; ", "x y"], "max_new_tokens": 600}
    assert config["sampling"]["template"] == {"enable_thinking": False}
    assert (config["precision"], config["model"]) == ("bf16", "a warm one/model")
    assert config["env"] == {"id": GAME, "min_number": 1, "max_number": 10, "max_turns": 3}
    assert (list(config["wrappers"]), config["tool_use"]) == (["concat"], {"max_tool_uses": 2})


def test_the_episodes_of_a_run_are_learned_if_they_are_good_enough(tmp_path, model):
    first = (f"model={model}", ENV, "skill=0.3", "steps=1", *FAST, "out=first")
    assert sft(*first, cwd=tmp_path)[0] == 0
    trajectories = list(Run.open(tmp_path / "first").trajectories())
    successes = sum(one.success for one in trajectories)
    assert 0 < successes < 24
    arguments = (f"model={model}", "trajectories=first", "steps=2", *FAST, "only_successes=true")
    code, shown = sft(*arguments, "out=second", cwd=tmp_path)
    assert code == 0, shown
    assert f"Learning from {successes} of 24 episodes: 100% successes" in shown
    assert not list(Run.open(tmp_path / "second").trajectories())
    code, shown = sft(*arguments, "min_return=5", "out=third", cwd=tmp_path)
    assert code == 1
    assert "There is nothing to learn from: of 24 episodes 0 ended with an error" in shown


def test_ctrl_c_leaves_the_model_that_was_learned_so_far(tmp_path, model):
    arguments = (f"model={model}", ENV, "steps=100000", *FAST, "out=warm")
    process = Command(
        [sys.executable, "-m", "gem_core", "train", "sft", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )
    for line in process.stderr:
        if "step 5:" in line:
            break
    process.send_signal(signal.SIGINT)
    shown = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Interrupted. The model is saved as it is now." in shown
    assert "Traceback" not in shown
    AutoModelForCausalLM.from_pretrained(tmp_path / "warm" / "model")
    AutoTokenizer.from_pretrained(tmp_path / "warm" / "model")


def test_training_that_diverges_leaves_a_message_and_a_model(tmp_path, model):
    arguments = (f"model={model}", ENV, "lr=1e36", "warmup_steps=0", "steps=30", *FAST[:3])
    code, shown = sft(*arguments, "out=warm", cwd=tmp_path)
    assert code == 1
    assert "Error: The " in shown
    assert "Lower lr or max_grad_norm. The weights are those before this update." in shown
    assert "Traceback" not in shown
    AutoModelForCausalLM.from_pretrained(tmp_path / "warm" / "model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "model needs a value"),
        (("model=./nowhere", ENV), "There is no folder './nowhere'"),
        (("model=MODEL",), "env"),
        (("model=MODEL", ENV, "stepz=3"), "Did you mean 'steps'"),
        (("model=MODEL", ENV, "lr=-1", "sampling.history=none"), "lr: Input should be greater"),
        (("model=MODEL", ENV, "skill=2"), "skill must be a number in [0, 1]"),
        (("model=MODEL", "env=game/GuesTheNumber-v0"), "Did you mean"),
        (("model=MODEL", "trajectories=nowhere"), "There is no run at nowhere"),
        (("model=MODEL", "trajectories=others.jsonl"), "another tokenizer"),
        (("model=MODEL", ENV, "sampling.max_new_tokens=2"), "raise sampling.max_new_tokens"),
        (("model=MODEL", ENV, "writers=[cvs]"), "Did you mean 'csv'"),
    ],
)
def test_invalid_arguments_are_reported_without_a_traceback(
    tmp_path, model, arguments, message, monkeypatch, capsys
):
    with TrajectoryFile(tmp_path / "others.jsonl") as file:
        for one in played(2):
            one.turns[0].generation.token_ids[0] = 2000
            file.append(one)
    words = [word.replace("MODEL", str(model)) for word in arguments]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gem-core"])
    try:
        assert command.main([*words, *FAST], standalone_mode=False) == 1
        said = capsys.readouterr().err
    except GemError as error:
        said = str(error)
    assert message in said
    assert "Traceback" not in said


def test_help_has_examples_and_all_keys(tmp_path):
    code, shown = sft("--help", cwd=tmp_path)
    assert code == 0
    assert "gem-core train sft model=tiny game:GuessTheNumber-v0-easy skill=0.4" in shown
    assert "validate_every=50" in shown


def test_the_examples_of_help_can_be_typed(tmp_path, subtests):
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    examples = [line for line in lines if line.startswith("gem-core train sft model=")]
    assert examples
    for line in examples:
        with subtests.test(line):
            code, shown = sft(*shlex.split(line)[3:], "--cfg", "job", cwd=tmp_path)
            assert code == 0
            assert "validate_every: 50" in shown


def test_the_configuration_of_a_warm_start_can_be_shown(tmp_path):
    code, shown = sft("model=x", ENV, "--cfg", "job", cwd=tmp_path)
    assert code == 0
    assert "max_turns: 4" in shown
    assert json.dumps(512) in shown
