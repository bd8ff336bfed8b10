"""The code in the documentation of training is the code of the package."""

import dataclasses
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from needs import needs
from omegaconf import OmegaConf
from plays import played

from gem_core.plugins import default_registry
from gem_rollout.records.redaction import typed
from gem_train.health import _SIGNS
from gem_train.sft_command import SFTKeys
from gem_train.sft_command import command as sft_command
from gem_train.specs import ALGORITHMS, LOSSES
from gem_train.train_command import TrainKeys, command

PLUGIN = Path(__file__).parents[2]
DOCS = PLUGIN.parents[1] / "docs" / "training"
PAGES = sorted(DOCS.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SMALLER = {
    "episodes=4000": "episodes=16",
    "steps=500": "steps=2",
    "steps=120": "steps=3 rollout.episodes=8",
    "steps=140": "steps=4",
    "eval.every=60": "eval.every=3",
    "eval.episodes=200": "eval.episodes=4",
    "000120": "000003",
}
"""Numbers of the first page's commands, and those that the test runs them with."""
SOURCE = "".join(path.read_text() for path in sorted((PLUGIN / "gem_train").rglob("*.py")))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "own-algorithm.md"])
def test_code_beside_an_equation_is_that_of_the_package(page):
    for block in BLOCK.findall(page.read_text()):
        assert block in SOURCE, block


def test_the_commands_of_the_first_page_work_as_they_are_shown(tmp_path):
    """From a new model to a resumed run; the numbers are too small to learn anything."""
    needs("torch")
    pytest.importorskip("gem_eval", reason="gem-core compare is of gem-eval")
    text = (DOCS / "README.md").read_text()
    for number, smaller in SMALLER.items():
        assert number in text
        text = text.replace(number, smaller)
    lines = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    assert [line.split()[1] for line in lines] == [
        "make-model",
        "train",
        "train",
        "compare",
        "train",
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert "Trained 4 steps: runs/rebn/model" in done.stderr


def _commands():
    """Return the words of each ``gem-core train`` that a page shows, which is not run elsewhere."""
    shown = re.compile(r"^    gem-core train ((?:.*\\\n)*.*)$", re.MULTILINE)
    for page in [*PAGES, DOCS.parent / "multimodal.md", DOCS.parent / "rewards.md"]:
        for text in shown.findall(page.read_text()):
            words = shlex.split(text.replace("\\\n", " "))
            if not {"resume=true", "-m"} & set(words):
                name = f"{page.stem}: {' '.join(words)[:50]}"
                yield pytest.param([word for word in words if word != "..."], id=name)


@pytest.mark.parametrize("words", list(_commands()))
def test_every_command_that_is_shown_is_one_that_the_command_takes(words, tmp_path, monkeypatch):
    needs("torch")
    for page in ("own-algorithm.md", "../rewards.md"):
        for block in BLOCK.findall((DOCS / page).read_text()):
            if classes := re.findall(r"^class (LeaveBest|SoftClip|PerTurn)\b", block, re.MULTILINE):
                name = re.sub(r"(?<=.)(?=[A-Z])", "_", classes[0]).lower()
                (tmp_path / f"{name}.py").write_text(block)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    is_sft = words[0] == "sft"
    keys, one = (SFTKeys, sft_command) if is_sft else (TrainKeys, command)
    words = words[1:] if is_sft else words
    given = [word.partition("=")[0] for word in words]
    if "model" not in given:
        words = [*words, "model=NAME"]
    if not is_sft and not any(re.match(r"env$|\+env@|\w+:[\w-]+$", word) for word in given):
        words = [*words, "env=game/GuessTheNumber-v0-easy"]
    result = CliRunner().invoke(one, [*words, "--cfg", "job"], catch_exceptions=False)
    config = OmegaConf.create(result.output)
    own = {name for name in keys.model_fields if name in config and name != "out"}
    keys.model_validate(OmegaConf.to_container(OmegaConf.masked_copy(config, sorted(own))))


def test_an_algorithm_and_a_loss_of_one_s_own_work_as_shown(tmp_path, monkeypatch):
    needs("torch")

    from models import batch_for, generator, learner_of, weights_of

    from gem_rollout.models.tiny_model import save_tiny_model
    from gem_train.checks import check_algorithm, check_loss, example_batch
    from gem_train.parts import make_algorithm
    from gem_train.policy import Policy

    blocks = BLOCK.findall((DOCS / "own-algorithm.md").read_text())[:2]
    for name, block in zip(("leave_best", "soft_clip"), blocks, strict=True):
        (tmp_path / f"{name}.py").write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    check_algorithm("leave_best:LeaveBest").raise_for_findings()
    check_loss("soft_clip:SoftClip").raise_for_findings()

    algorithm, batch = make_algorithm("leave_best:LeaveBest", scale=0.5), example_batch()
    returns = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]  # of two groups of three
    expected = [
        0.5 * (own - max(one for k, one in enumerate(returns[first : first + 3]) if k != place))
        for first in (0, 3)
        for place, own in enumerate(returns[first : first + 3])
    ]
    found = algorithm.advantages(batch).tolist()
    assert found == [expected[episode] for episode in batch.episode.tolist()]

    policy = Policy.load(save_tiny_model(tmp_path / "tiny"), device="cpu")
    before = weights_of(policy)
    learner = learner_of(
        policy, "leave_best:LeaveBest", loss={"id": "soft_clip:SoftClip", "k": 4.0}
    )
    learner.learn(batch_for(policy), generator())
    after = weights_of(policy)
    assert any(not (after[name] == before[name]).all() for name in before)


def _ours(kind):
    specs = default_registry().list(kind)
    return [one for one in specs if one.entry_point.startswith("gem_train.")]


ROW = re.compile(r"^\| (`(?:algo|loss)\.[^|]*)(?: \| [^|]+)? \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
"""A row of a table: keys, perhaps whose they are, defaults, and a meaning."""


def _defaults_in(page):
    """Return the defaults of the keys in a page's tables, as they are typed."""
    found = {}
    for keys, defaults in ROW.findall(page.read_text()):
        found |= zip(re.findall(r"`([\w.]+)`", keys), defaults.split(", "), strict=False)
    return found


@pytest.mark.parametrize(
    ("kind", "prefix"), [(ALGORITHMS, "algo"), (LOSSES, "loss")], ids=["algorithm", "loss"]
)
def test_every_parameter_of_an_algorithm_and_a_loss_is_in_their_page(kind, prefix):
    needs("torch")
    shown = _defaults_in(DOCS / "algorithms.md")
    for spec in _ours(kind):
        for field in dataclasses.fields(spec.load()):
            assert shown.get(f"{prefix}.{field.name}") == typed(field.default).replace("e-0", "e-")


def test_every_warning_of_a_broken_run_is_explained():
    section = (DOCS / "README.md").read_text().partition("## If the reward")[2]
    _, *rows = re.findall(r"^\| ([^-|].*?) \|", section, re.MULTILINE)
    assert len(rows) == len(_SIGNS)


def test_every_algorithm_is_explained():
    page = (DOCS / "algorithms.md").read_text()
    assert [one.id for one in _ours(ALGORITHMS) if f"| [`{one.id}`](" not in page] == []


def test_the_way_from_episodes_to_gradients_is_as_shown():
    torch = needs("torch")

    from gem_train.objective import token_logprobs

    block = BLOCK.findall((DOCS / "own-algorithm.md").read_text())[2]
    names = {}
    exec(block, names)  # noqa: S102 - our own page
    weight = torch.zeros(256, 256, requires_grad=True)
    names["learn"](played(episodes=60), lambda batch: token_logprobs(weight[batch.ids], batch.ids))
    assert weight.grad.isfinite().all()
    sampled, never = ord("b"), ord("@")
    assert weight.grad[ord("\\"), sampled] != 0
    assert not weight.grad[never].any()
