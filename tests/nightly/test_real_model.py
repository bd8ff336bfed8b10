"""The page of the real model: made from the figures; a unit runs, stops in time and goes on."""

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli import gem
from needs import needs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True, scope="module")
def _benchmarks_are_importable() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield
    sys.path.remove(str(ROOT / "benchmarks"))


def load(name: str) -> Any:
    return importlib.import_module(f"real_model.{name}")


def test_the_page_is_that_of_the_figures() -> None:
    files = sorted((ROOT / "benchmarks" / "results" / "real_model").glob("*.json"))
    page = load("page").page([json.loads(file.read_text(encoding="utf-8")) for file in files])
    assert (ROOT / "docs" / "real-model.md").read_text(encoding="utf-8") == page


def test_another_model_does_not_take_the_runs_of_the_first(tmp_path: Path) -> None:
    units = load("units")
    unit = units.Unit("guess", "rebn", 0)
    outs = [
        {command.out for _, command in load("commands").commands(unit, units.FRACTION, *rest)}
        for rest in (("smollm2", "cpu", tmp_path), ("other/model", "cpu", tmp_path))
    ]
    assert not outs[0] & outs[1]


def test_training_that_was_stopped_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    command = load("commands").Command(tmp_path / "run", ("train", "algo=rebn"))
    command.out.mkdir()
    (command.out / "run.json").write_text("{}")
    assert not command.can_resume
    (command.out / "checkpoints" / "000020").mkdir(parents=True)
    assert command.can_resume


def test_a_unit_that_is_stopped_goes_on_and_is_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("torch")
    monkeypatch.chdir(tmp_path)
    made = gem("make-model", "game:GuessTheNumber-v0-easy", "out=model", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    suite = load("suite")
    tiny = replace(suite.FRACTION, eval_episodes=2, supervised_steps=1, steps=1, episodes=4)
    monkeypatch.setattr(suite, "FRACTION", tiny)
    words = [f"--model={tmp_path / 'model'}", "--device=cpu", "--minutes"]
    options = _options(suite, tmp_path, *words, "0")
    with pytest.raises(SystemExit) as stopped:
        suite.run(options)
    assert stopped.value.code == 3
    suite.run(_options(suite, tmp_path, *words, "inf"))
    file = tmp_path / "out" / "real_model" / "cpu-guess-rebn-0.json"
    found = json.loads(file.read_text(encoding="utf-8"))
    stages = {row["stage"] for row in found["evaluations"]}
    assert stages == {"random", "constant", "oracle", "base", "supervised", "trained"}
    assert len(found["evaluations"]) == len(stages) * 3
    assert found["curves"]["step"] == [1.0]
    assert "1 steps of 4 episodes" in (tmp_path / "out" / "real-model.md").read_text()
    changed = file.stat().st_mtime_ns
    suite.run(_options(suite, tmp_path, *words, "inf"))
    assert file.stat().st_mtime_ns == changed


def _options(suite: Any, folder: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    suite.add_arguments(parser)
    return parser.parse_args([*words, "--output", str(folder / "out")])
