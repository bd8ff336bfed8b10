"""Trajectory files: round trips, cut lines, killed writers, full disks."""

import enum
import json
import math
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import Command
from hypothesis import given, settings
from hypothesis import strategies as st
from needs import needs
from selection import thorough

from gem_core.agent import Generation
from gem_core.errors import ConfigError
from gem_rollout import Trajectory, TrajectoryFile, Turn, read_trajectories
from gem_rollout.records.store import EpisodeKey, is_being_written, read_keys

EXAMPLES = 100 if thorough() else 20


# Lone surrogates included, which a model's tokenizer can produce; a pair of them is one character.
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=8).filter(
    lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
INFOS = st.dictionaries(TEXTS, VALUES, max_size=3)
TURNS = st.builds(Turn, TEXTS, VALUES, TEXTS, st.floats(-1, 1), st.booleans(), st.booleans(), INFOS)
TRAJECTORIES = st.builds(
    Trajectory,
    TEXTS,
    TEXTS,
    st.integers(0),
    st.integers(0, 2**63),
    st.lists(TURNS, max_size=3),
    INFOS,
    VALUES,
    st.none() | st.booleans(),
    st.none() | INFOS,
)


class Pair(NamedTuple):
    left: int
    right: int


def trajectory(index: int = 0, **info: Any) -> Trajectory:
    turn = Turn("agent", "start", "go", 1.0, True, False, info)
    return Trajectory("test:Env-v0", "agent", index, 7, [turn], final_observation="end")


def write(path: Path, *trajectories: Trajectory) -> None:
    with TrajectoryFile(path) as file:
        for one in trajectories:
            file.append(one)


def read(path: Path) -> list[Trajectory]:
    return list(read_trajectories(path))


class TestARoundTrip:
    @pytest.mark.slow
    @settings(max_examples=EXAMPLES)
    @given(found=st.lists(TRAJECTORIES, max_size=3))
    def test_a_file_keeps_every_value_that_json_has(
        self, tmp_path_factory: pytest.TempPathFactory, found: list[Trajectory]
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "round_trip.jsonl"
        path.unlink(missing_ok=True)
        write(path, *found)
        assert read(path) == found
        assert path.read_bytes().count(b"\n") == len(found)

    def test_a_writer_makes_the_folder_and_appends_to_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "runs" / "1" / "file.jsonl"
        write(path, trajectory(0))
        write(path, trajectory(1), trajectory(2))
        assert [one.index for one in read(path)] == [0, 1, 2]

    def test_an_empty_file_has_no_trajectories(self, tmp_path: Path) -> None:
        write(tmp_path / "file")
        assert read(tmp_path / "file") == []

    def test_a_reader_sees_each_trajectory_as_soon_as_it_is_appended(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        with TrajectoryFile(path) as file:
            for count in range(1, 4):
                file.append(trajectory(count))
                assert len(read(path)) == count

    def test_values_of_numpy_are_written_as_numbers_and_lists(self, tmp_path: Path) -> None:
        np = needs("numpy")
        info = {
            "scalar": np.int64(3),
            "flag": np.bool_(True),
            "real": np.float32(0.5),
            "array": np.arange(4).reshape(2, 2),
            "complex": np.complex64(1j),
        }
        write(tmp_path / "file", trajectory(**info))
        assert read(tmp_path / "file")[0].turns[0].info == {
            "scalar": 3,
            "flag": True,
            "real": 0.5,
            "array": [[0, 1], [2, 3]],
            "complex": "1j",
        }

    def test_values_that_json_lacks_are_written_as_text(self, tmp_path: Path) -> None:
        lock = threading.Lock()
        write(tmp_path / "file", trajectory(lock=lock, letters={"a"}, pair=(1, 2), raw=b"x"))
        assert read(tmp_path / "file")[0].turns[0].info == {
            "lock": repr(lock),
            "letters": "{'a'}",
            "pair": [1, 2],
            "raw": "b'x'",
        }

    def test_values_that_a_fast_writer_would_change_or_refuse_are_kept(
        self, tmp_path: Path, subtests: pytest.Subtests
    ) -> None:
        values: list[Any] = [
            math.inf,
            -math.inf,
            [1.0, math.inf],
            (1, -math.inf),
            {"a": {"b": [1, "x", math.inf]}},
            2**64,
            -(2**70),
            [2**64],
            "\ud800",
            {"\udfff": 1},
            1e308,
            [1e308] * 20,
            5e-324,
            -0.0,
        ]
        for number, value in enumerate(values):
            with subtests.test(ascii(value)):
                write(tmp_path / str(number), trajectory(value=value))
                expected = list(value) if isinstance(value, tuple) else value
                (one,) = read(tmp_path / str(number))
                assert one.turns[0].info == {"value": expected}

    def test_nan_is_kept(self, tmp_path: Path) -> None:
        np = needs("numpy")
        nans = {"plain": math.nan, "array": np.array([1.0, math.nan])}
        write(tmp_path / "file", trajectory(**nans))
        info = read(tmp_path / "file")[0].turns[0].info
        assert math.isnan(info["plain"])
        assert info["array"][0] == 1.0
        assert math.isnan(info["array"][1])

    def test_subclasses_are_written_like_their_base_classes(self, tmp_path: Path) -> None:
        class Text(str):
            __slots__ = ()

        class Side(enum.Enum):
            LEFT = "left"

        values = {"text": Text("x"), "dict": Counter(a=2), "side": Side.LEFT, "step": Pair(1, 2)}
        for extra in ({}, {"unlike": math.inf}):  # by both writers
            path = tmp_path / f"file-{len(extra)}"
            write(path, trajectory(**values, **extra))
            info = read(path)[0].turns[0].info
            assert info == {"text": "x", "dict": {"a": 2}, "side": "left", "step": [1, 2], **extra}

    def test_the_generation_of_a_model_is_kept(self, tmp_path: Path) -> None:
        one = trajectory()
        one.turns[0].generation = Generation(
            messages=[{"role": "user", "content": "é\u2028"}],
            reply={"role": "assistant", "tool_calls": [{"id": "1"}]},
            token_ids=[1, 2],
            logprobs=[-0.1, -math.inf],
        )
        write(tmp_path / "file", one)
        assert read(tmp_path / "file") == [one]

    def test_keys_that_are_no_text_are_written_as_text(self, tmp_path: Path) -> None:
        board: Any = {(0, 1): "x", None: {2: [{(3,): 4}]}}
        write(tmp_path / "file", trajectory(board=board))
        assert read(tmp_path / "file")[0].turns[0].info == {
            "board": {"(0, 1)": "x", "None": {"2": [{"(3,)": 4}]}}
        }

    def test_a_value_that_contains_itself_can_be_written(self, tmp_path: Path) -> None:
        loop: list[Any] = [1]
        loop.append(loop)
        write(tmp_path / "file", trajectory(loop=loop))
        assert read(tmp_path / "file")[0].turns[0].info == {"loop": [1, "[1, [...]]"]}

    def test_writing_does_not_change_the_trajectory(self, tmp_path: Path) -> None:
        one = trajectory(pair=(1, 2), board={(0, 1): "x"})
        write(tmp_path / "file", one)
        assert one == trajectory(pair=(1, 2), board={(0, 1): "x"})


class TestKeys:
    @pytest.mark.slow
    @settings(max_examples=EXAMPLES)
    @given(found=st.lists(TRAJECTORIES, max_size=3))
    def test_keys_say_which_episodes_a_file_holds(
        self, tmp_path_factory: pytest.TempPathFactory, found: list[Trajectory]
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "keys.jsonl"
        path.unlink(missing_ok=True)
        write(path, *found)
        assert list(read_keys(path)) == [
            EpisodeKey(
                one.env_id, one.agent, one.index, one.seed, one.component, one.error is not None
            )
            for one in found
        ]

    def test_keys_are_not_misled_by_values_that_look_like_turns(self, tmp_path: Path) -> None:
        tricky = trajectory(3)
        tricky.agent = '"turns":['
        tricky.error = {"boundary": "env", "turns": [{"turns": 1}], "message": '},"turns":[]'}
        write(tmp_path / "file", tricky)
        (key,) = read_keys(tmp_path / "file")
        assert (key.agent, key.index, key.failed) == ('"turns":[', 3, True)

    @pytest.mark.parametrize("line", [b"nonsense", b"{}", b'{"env_id":"a","turns":[]}', b"3"])
    def test_read_keys_refuses_lines_of_something_else(self, tmp_path: Path, line: bytes) -> None:
        write(tmp_path / "file", trajectory(0))
        with (tmp_path / "file").open("ab") as file:
            file.write(line + b"\n")
        keys = read_keys(tmp_path / "file")
        assert next(keys).index == 0
        with pytest.raises(ConfigError, match="line 2, is not a trajectory"):
            next(keys)

    def test_reading_keys_leaves_out_a_line_that_was_cut(self, tmp_path: Path) -> None:
        write(tmp_path / "file", trajectory(0), trajectory(1))
        whole = (tmp_path / "file").read_bytes()
        (tmp_path / "file").write_bytes(whole[:-1])
        assert [key.index for key in read_keys(tmp_path / "file")] == [0]


class TestACutFile:
    @pytest.mark.parametrize("missing", [1, 2, 50, 10**9])
    @pytest.mark.parametrize("size", [1, 200_000])
    def test_a_cut_file_loses_its_last_line_and_is_continued(
        self, tmp_path: Path, missing: int, size: int
    ) -> None:
        path = tmp_path / "file"
        write(path, trajectory(0), trajectory(1, text="x" * size))
        whole = path.read_bytes()
        second = whole.index(b"\n") + 1
        path.write_bytes(whole[: max(second + 1, len(whole) - missing)])
        assert [one.index for one in read(path)] == [0]
        write(path, trajectory(2))
        assert read(path) == [trajectory(0), trajectory(2)]

    @pytest.mark.parametrize("kept", [0, 1, 5, 40])
    def test_a_cut_file_with_a_single_line_becomes_empty(self, tmp_path: Path, kept: int) -> None:
        path = tmp_path / "file"
        write(path, trajectory(0))
        path.write_bytes(path.read_bytes()[:kept])
        assert read(path) == []
        write(path, trajectory(1))
        assert read(path) == [trajectory(1)]

    @pytest.mark.parametrize(
        "line",
        [
            b"not json",
            b'{"env_id": "x"}',
            b"[]",
            b"3",
            b"",
            b'{"env_id": "\xff"}',
            b'{"turns": [{"x": 1}]}',
            b'{"turns": 3}',
        ],
    )
    def test_the_error_of_a_corrupt_file_has_the_line(self, tmp_path: Path, line: bytes) -> None:
        path = tmp_path / "file"
        write(path, trajectory(0), trajectory(1))
        path.write_bytes(path.read_bytes() + line + b"\n")
        write(path, trajectory(2))
        lines = read_trajectories(path)
        assert [next(lines), next(lines)] == [trajectory(0), trajectory(1)]
        with pytest.raises(ConfigError, match="line 3, is not a trajectory"):
            next(lines)

    @pytest.mark.parametrize("content", ["a note to myself", "a\nnote\n", '{"a": 1}\n', "\n{}"])
    def test_a_file_of_another_kind_is_not_touched(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "notes.txt"
        path.write_text(content)
        with pytest.raises(ConfigError, match=r"other than trajectories|cannot be appended"):
            TrajectoryFile(path)
        assert path.read_text() == content


WRITER = """
import itertools, sys
from gem_rollout import Trajectory, TrajectoryFile, Turn

with TrajectoryFile(sys.argv[1]) as file:
    for index in itertools.count():
        turn = Turn("agent", "x" * 10_000, "go", 1.0, True, False, {})
        file.append(Trajectory("test:Env-v0", "agent", index, 7, [turn]))
        print(index, flush=True)
"""

FULL = """
import resource, signal, sys
from gem_rollout import Trajectory, TrajectoryFile, Turn

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
with TrajectoryFile(sys.argv[1]) as file:
    index = 0
    try:
        while True:
            turn = Turn("agent", "x" * 10_000, "go", 1.0, True, False, {})
            file.append(Trajectory("test:Env-v0", "agent", index, 7, [turn]))
            index += 1
    except OSError as error:
        print(index, type(error).__name__)
    # Someone makes room.
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    file.append(Trajectory("test:Env-v0", "agent", 1000, 7))
"""


class TestAWriter:
    @pytest.mark.slow
    def test_a_killed_writer_loses_nothing_that_it_had_written(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        process = Command([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(20):
            process.stdout.readline()
        process.kill()
        written = [*range(20), *map(int, process.communicate()[0].split())]
        indices = [one.index for one in read(path)]
        # One more may have been written, but not announced.
        assert indices in (written, [*written, len(written)])
        write(path, trajectory(5000))
        assert [one.index for one in read(path)] == [*indices, 5000]

    @pytest.mark.slow
    def test_a_full_disk_raises_an_error_and_leaves_whole_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        done = subprocess.run(
            [sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True
        )
        assert done.stdout == "4 OSError\n"
        assert [one.index for one in read(path)] == [0, 1, 2, 3, 1000]

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
    def test_a_writer_on_a_full_device_raises_once_and_can_be_closed(self) -> None:
        with TrajectoryFile("/dev/full") as file, pytest.raises(OSError, match="No space"):
            file.append(trajectory())

    def test_other_programs_can_read_one_json_object_a_line(self, tmp_path: Path) -> None:
        write(tmp_path / "file", trajectory(3, text="a\nb\u2028c\r"))
        (line,) = (tmp_path / "file").read_bytes().splitlines()
        fields = json.loads(line)
        assert (fields["env_id"], fields["index"]) == ("test:Env-v0", 3)
        assert fields["turns"][0]["info"] == {"text": "a\nb\u2028c\r"}


@pytest.mark.slow
@pytest.mark.parametrize("depth", [100, 1000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_line_that_is_nested_too_deeply_is_an_error(
    tmp_path: Path, depth: int, opening: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"version": 1, "env_id": ' + opening * depth + "\n")
    for read in (read_trajectories, read_keys):
        with pytest.raises(ConfigError, match="line 1, is not a trajectory"):
            list(read(path))


def test_a_file_that_another_run_writes_is_refused_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "trajectories.jsonl"
    assert not is_being_written(path)
    with TrajectoryFile(path) as file:
        with pytest.raises(ConfigError, match="Another run is writing"):
            TrajectoryFile(path)
        assert is_being_written(path)
        file.append(trajectory())
    assert not is_being_written(path)
    with TrajectoryFile(path) as file:
        file.append(trajectory())
    assert len(list(read_trajectories(path))) == 2
