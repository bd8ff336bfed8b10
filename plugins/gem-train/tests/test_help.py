"""The help of the commands: quick, because it does not import torch, and complete."""

import json
import textwrap

import pytest
from needs import needs

from gem_core.plugins import default_registry
from gem_rollout.commands.signatures import parameters_of
from gem_train.specs import ALGORITHMS, CURRICULA, FILTERS, LOSSES, SHAPERS

FILES = {
    "stranger_plugin.py": """
        from gem_core import hookimpl
        from gem_core import Spec
        from gem_train.specs import ALGORITHMS

        @hookimpl
        def gem_register(registry):
            where = "stranger_algorithm:Stranger"
            registry.add(
                Spec(kind=ALGORITHMS, id="stranger", entry_point=where, description="a test")
            )
        """,
    "stranger_algorithm.py": """
        from dataclasses import dataclass

        import torch

        from gem_train.algorithms.grpo import GRPO

        @dataclass(frozen=True)
        class Stranger(GRPO):
            shift: float = 0.25

            def of_episodes(self, R_E: torch.Tensor, group_E: torch.Tensor) -> torch.Tensor:
                return super().of_episodes(R_E, group_E) + self.shift
        """,
    "stranger-1.0.dist-info/entry_points.txt": "[gem]\nstranger = stranger_plugin\n",
    "stranger-1.0.dist-info/METADATA": "Metadata-Version: 2.4\nName: stranger\nVersion: 1.0\n",
}
CODE = """
import json, sys
from click.testing import CliRunner
from gem_core.cli import commands

pages = [["train", "--help"], ["train", "sft", "--help"], ["make-model", "--help"]]
outputs = [CliRunner().invoke(commands, page).output for page in pages]
print(json.dumps([outputs, "torch" in sys.modules, "transformers" in sys.modules]))
"""


@pytest.mark.slow
def test_help_shows_the_parameters_of_all_parts_without_importing_torch(tmp_path, run_python):
    (tmp_path / "stranger-1.0.dist-info").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    pages, torch, transformers = json.loads(run_python(CODE, PYTHONPATH=str(tmp_path)))
    train, sft, make_model = (" ".join(page.split()) for page in pages)
    assert "clip Ratios to the old policy, clipped. clip_low=0.2, clip_high=0.2" in train
    assert "stranger A test. normalise=false, epsilon=1e-09, unbiased=false, shift=0.25" in train
    assert "Train a model on what oracles play" in sft
    assert "Make a small model" in make_model
    assert not torch
    assert not transformers


@pytest.mark.parametrize("kind", [ALGORITHMS, CURRICULA, FILTERS, LOSSES, SHAPERS])
def test_the_parameters_that_help_shows_are_those_of_the_objects(kind):
    needs("torch")
    for spec in default_registry().list(kind):
        assert list(parameters_of(spec).items()) == list(spec.parameters().items())
