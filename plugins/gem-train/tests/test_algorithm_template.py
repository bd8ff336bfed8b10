"""A stranger's algorithms, installed as a wheel in a virtual environment, train from outside."""

import csv
import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from needs import needs

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "templates" / "gem-algorithm"
ENV = "env=game/GuessTheNumber-v0-easy"
SMALL = [
    "rollout.episodes=8",
    "rollout.group_size=4",
    "sampling.max_new_tokens=6",
    "optim.lr=1e-3",
    "device=cpu",
    "threads=1",
    "progress=off",
    "log.plot=false",
]
pytestmark = pytest.mark.slow
SHAPER = """
from gem_train.shapers import RewardShaper


class Odd(RewardShaper):
    def __init__(self, *, scale: float = 1.0):
        self.scale = scale

    def shape_rewards(self, batch):
        is_odd = (batch.turn_of >= 0) & (batch.ids % 2 == 1)
        return batch.reward + self.scale * batch.to_turns(is_odd.float())
"""


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A virtual environment with the wheel; torch and gem-train are those of this one."""
    needs("torch")
    from gem_rollout.models.tiny_model import save_tiny_model

    folder = tmp_path_factory.mktemp("stranger")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, TEMPLATE]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", wheel]
    subprocess.run(install, check=True, capture_output=True)
    scheme = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", scheme="venv", vars=scheme))
    ours = sysconfig.get_path("purelib")
    (site / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    save_tiny_model(folder / "tiny")
    (folder / "my_rewards.py").write_text(SHAPER)

    def run(*words):
        done = subprocess.run(
            [python, "-m", "gem_core", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.folder = folder
    return run


def metrics_of(run):
    with (run / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def test_installed_algorithms_are_listed_and_checked_with_their_parameters(stranger):
    listed = stranger("list", "cispo", "--kind", "losses", "--long")
    assert "clip_low=1.0 clip_high=0.28" in listed
    assert "acme-rl" in listed
    assert "0 with problems" in stranger("check", "acme-rl")


def test_help_offers_installed_algorithms(stranger):
    shown = " ".join(stranger("train", "--help").split())
    assert "cispo log-probabilities, weighted by clipped ratios" in shown
    assert "gspo GRPO's advantages with GSPO's loss" in shown
    assert "clip_low" in stranger("show", "cispo", "--kind", "losses")


@pytest.mark.parametrize("name", ["cispo", "gspo"])
def test_installed_algorithms_train_with_their_own_loss(stranger, name):
    out = stranger.folder / name
    words = [f"algo={name}", "algo.epsilon=1e-4", "loss.clip_high=0.5", "optim.epochs=2", *SMALL]
    words += ["shapers=[my_rewards:Odd]", "shapers.my_rewards_Odd.scale=0.5"]
    stranger("train", *words, "model=tiny", ENV, "steps=2", f"out={name}")
    config = json.loads((out / "run.json").read_text())["config"]
    assert config["algo"]["epsilon"] == 1e-4
    assert (config["loss"]["id"], config["loss"]["clip_high"]) == (name, 0.5)
    rows = metrics_of(out)
    assert [int(row["step"]) for row in rows] == [1, 2]
    assert all(float(row["train/grad_norm"]) > 0 for row in rows)
    assert all("train/clipped" in row for row in rows)


def test_the_template_s_own_tests_pass(stranger):
    done = subprocess.run(
        [stranger.folder / "venv" / "bin" / "python", "-m", "pytest", "-q", "tests"],
        cwd=TEMPLATE,
        env={"PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
