"""The help of the commands is quick, because it does not import torch."""

import json
import textwrap

import pytest

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
    "stranger_algorithm.py": "import torch",
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
def test_help_shows_the_options_of_all_parts_without_importing_torch(tmp_path, run_python):
    (tmp_path / "stranger-1.0.dist-info").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    pages, torch, transformers = json.loads(run_python(CODE, PYTHONPATH=str(tmp_path)))
    train, sft, make_model = (" ".join(page.split()) for page in pages)
    assert "clip ratios to the old policy, clipped" in train
    assert "stranger a test" in train
    assert "'gem-core show ID --kind losses' lists the parameters" in train
    assert "Train a model on what oracles play" in sft
    assert "Make a small model" in make_model
    assert not torch
    assert not transformers
