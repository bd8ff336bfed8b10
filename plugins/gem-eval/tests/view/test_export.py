"""Runs as tables for other programs."""

import json

import pytest
from click.testing import CliRunner
from view_samples import odd_trajectory, write_many

from gem_eval.view.export import export
from gem_rollout import TrajectoryFile


def run_export(*arguments):
    return CliRunner().invoke(export, [str(argument) for argument in arguments])


def read(path):
    import duckdb

    reader = {".parquet": "read_parquet", ".csv": "read_csv", ".jsonl": "read_json"}[path.suffix]
    options = ", all_varchar = true" if path.suffix == ".csv" else ""
    with duckdb.connect() as database:
        found = database.execute(f"SELECT * FROM {reader}('{path}'{options})")  # noqa: S608
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_tables_of_every_kind_have_a_row_for_each_episode_and_each_turn(tmp_path, kind):
    """What was played can be read back with the order kept."""
    path = write_many(tmp_path / "trajectories.jsonl", 40, turns=3)
    result = run_export(tmp_path, "--to", kind, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "40 rows" in result.output
    assert "120 rows" in result.output
    episodes = read(tmp_path / "out" / f"episodes.{kind}")
    turns = read(tmp_path / "out" / f"turns.{kind}")
    assert [int(row["index"]) for row in episodes] == list(range(40))
    assert [(int(row["index"]), int(row["turn"])) for row in turns[:4]] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
    ]
    played = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["action"] for row in turns] == [t["action"] for e in played for t in e["turns"]]
    returns = [sum(turn["reward"] for turn in episode["turns"]) for episode in played]
    assert [float(row["return"]) for row in episodes] == returns
    assert sorted(item.name for item in (tmp_path / "out").iterdir()) == [
        f"episodes.{kind}",
        f"turns.{kind}",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_texts_come_back_as_they_were(tmp_path, kind):
    """Quotes, line ends, commas, NUL and what looks like a formula."""
    text = "=1+1,\"quoted\"\r\n'x'\n\u202e😀 ; \\ \t"
    path = tmp_path / "run.jsonl"
    with TrajectoryFile(path) as file:
        file.append(odd_trajectory(text))
    assert run_export(path, "--to", kind).exit_code == 0
    (turn,) = read(tmp_path / f"turns.{kind}")
    assert turn["action"] == text
    assert json.loads(turn["info"])["tool_calls"][0]["output"] == text
    assert json.loads(turn["generation"])["logprobs"] == [-0.1, "-Infinity"]


@pytest.mark.slow
def test_a_line_of_many_megabytes_is_exported_whole(tmp_path):
    path, long = tmp_path / "run.jsonl", odd_trajectory("x")
    long.turns[0].action = "x" * 20_000_000
    with TrajectoryFile(path) as file:
        file.append(long)
    assert run_export(path).exit_code == 0
    (turn,) = read(tmp_path / "turns.parquet")
    assert len(turn["action"]) == 20_000_000


@pytest.mark.slow
def test_an_empty_run_gives_tables_without_rows(tmp_path):
    (tmp_path / "run.jsonl").touch()
    assert run_export(tmp_path / "run.jsonl").exit_code == 0
    assert read(tmp_path / "episodes.parquet") == []


def test_a_run_is_never_written_over(tmp_path):
    """Tables of JSON lines have other names than the run."""
    path = write_many(tmp_path / "episodes.jsonl", 3)
    before = path.read_bytes()
    result = run_export(path, "--to", "jsonl")
    assert result.exit_code != 0
    assert path.read_bytes() == before
