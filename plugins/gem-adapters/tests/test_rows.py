"""Datasets of episodes for trainers."""

import json

import pytest

from gem_adapters.rows import LAYOUTS, rows
from gem_adapters.rows_command import command
from gem_core.errors import ConfigError, UnknownIdError
from gem_rollout import env_rows, row_of

GAME = "game:GuessTheNumber-v0-easy"


def carried(row, layout):
    """Return what a framework hands back to its adapter of a row."""
    if layout == "trl":
        return json.loads(row["prompt"][0]["content"])
    if layout == "verl":
        return row["extra_info"]
    if layout == "slime":
        return row["metadata"]
    return json.loads(row["label"]) if layout == "openrlhf" else row


def test_each_layout_carries_the_row(subtests):
    options = {"seed": 5, "env_kwargs": {"max_turns": 4}}
    expected = list(map(row_of, env_rows(GAME, 3, **options)))
    for layout in LAYOUTS:
        with subtests.test(layout):
            found = rows(GAME, 3, layout=layout, **options)
            assert [row_of(carried(row, layout)) for row in found] == expected


@pytest.mark.parametrize("ending", ["jsonl", pytest.param("parquet", marks=pytest.mark.slow)])
def test_a_file_has_the_rows_of_each_layout(tmp_path, ending, subtests):
    if ending == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
    for layout in LAYOUTS:
        file = tmp_path / layout / f"rows.{ending}"
        file.parent.mkdir()
        with subtests.test(layout):
            found = rows(GAME, 3, layout=layout, path=file)
            if ending == "jsonl":
                read = [json.loads(line) for line in file.read_text().splitlines()]
            else:
                read = parquet.read_table(file).to_pylist()
            assert read == found
            assert list(file.parent.iterdir()) == [file]


def test_bad_input_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"no layout 'verk'. Did you mean 'verl'"):
        rows(GAME, 1, layout="verk")
    with pytest.raises(ConfigError, match=r"must end in \.jsonl or \.parquet"):
        rows(GAME, 1, path=tmp_path / "rows.csv")
    with pytest.raises(ConfigError, match="positive int"):
        rows(GAME, 0)
    with pytest.raises(UnknownIdError):
        rows("game:No", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command_writes_a_file_and_says_how_many_rows(tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    words = [GAME, "episodes=4", "layout=openrlhf", f"file={file}", "env.max_turns=3"]
    assert command.main(words, standalone_mode=False) == 0
    assert capsys.readouterr().out == f"4 rows in {file}\n"
    labels = [json.loads(json.loads(line)["label"]) for line in file.read_text().splitlines()]
    assert [one["env_kwargs"] for one in labels] == [{"max_turns": 3}] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([GAME, "layout=verk"], "no layout 'verk'. Did you mean 'verl'"),
        ([GAME, "file=/dev/null/rows.jsonl"], "cannot be written"),
        ([GAME, "tools=[python]"], "tools and wrappers are the trainer's"),
        (["game:*-easy"], "rows takes one environment"),
    ],
)
def test_the_command_explains_bad_input(tmp_path, capsys, words, message):
    out = [f"file={tmp_path / 'rows.jsonl'}"]
    assert command.main(out + words, standalone_mode=False) == 1
    assert message in capsys.readouterr().err
