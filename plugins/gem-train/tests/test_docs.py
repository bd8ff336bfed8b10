"""The code in the documentation of training is the code of the package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from needs import needs
from plays import played

from gem_train.algorithm import ALGORITHMS

PLUGIN = Path(__file__).parents[1]
DOCS = PLUGIN.parents[1] / "docs" / "training"
PAGES = sorted(DOCS.glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SOURCE = "".join(path.read_text() for path in sorted((PLUGIN / "gem_train").rglob("*.py")))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"])
def test_code_beside_an_equation_is_that_of_the_package(page):
    blocks = BLOCK.findall(page.read_text())
    assert blocks or page.name in {"curves.md", "running.md"}
    for block in blocks:
        assert block in SOURCE, block


def test_the_commands_of_a_run_work_as_they_are_shown(tmp_path):
    """From a new model to a resumed run; the numbers are too small to learn anything."""
    needs("torch")
    lines = re.findall(r"^\$ (.*)$", (DOCS / "running.md").read_text(), re.MULTILINE)
    assert len(lines) == 4
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
    assert "Trained 5 steps: runs/rebn/model" in done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_algorithm_has_its_page():
    table = (DOCS / "README.md").read_text()
    assert [name for name in ALGORITHMS if f"| [`{name}`](" not in table] == []


def test_the_way_from_episodes_to_gradients_is_as_shown():
    torch = needs("torch")

    from gem_train.losses import token_logprobs

    (block,) = BLOCK.findall((DOCS / "README.md").read_text())
    names = {}
    exec(block, names)  # noqa: S102 - our own page
    weight = torch.zeros(256, 256, requires_grad=True)
    names["learn"](played(episodes=60), lambda batch: token_logprobs(weight[batch.ids], batch.ids))
    assert weight.grad.isfinite().all()
    sampled, never = ord("b"), ord("@")
    assert weight.grad[ord("\\"), sampled] != 0
    assert not weight.grad[never].any()
