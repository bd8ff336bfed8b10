"""Promises to users: files of other versions, ids instead of functions, bare protocols."""

import json
import random
from pathlib import Path
from typing import Any, Self

import pytest

import gem_core
import gem_rollout
from gem_core.agent import Generation, RandomAgent, SilentAgent
from gem_core.errors import ConfigError, UnknownIdError
from gem_rollout import Trajectory, TrajectoryFile, Turn, collect, read_trajectories
from gem_rollout.records.store import read_keys

GAME = "game:GuessTheNumber-v0-easy"


def trajectory(index: int = 0) -> Trajectory:
    turn = Turn("agent", "start", "go", 1.0, True, False, {"seed": 2**63})
    turn.generation = Generation(token_ids=[1], logprobs=[-0.5])
    return Trajectory("test:Env-v0", "agent", index, 7, [turn], component="easy")


def write_lines(path: Path, *lines: dict[str, Any], **options: Any) -> None:
    path.write_text("".join(json.dumps(line, **options) + "\n" for line in lines))


class TestATrajectoryFile:
    def test_every_line_of_a_trajectory_file_has_a_version(self, tmp_path: Path) -> None:
        for name in "ab":
            with TrajectoryFile(tmp_path / name) as file:
                file.append(trajectory(ord(name)))
        both = tmp_path / "both"
        both.write_bytes((tmp_path / "a").read_bytes() + (tmp_path / "b").read_bytes())
        assert [json.loads(line)["version"] for line in both.read_text().splitlines()] == [2, 2]
        with TrajectoryFile(both) as file:
            file.append(trajectory(0))
        assert [one.index for one in read_trajectories(both)] == [ord("a"), ord("b"), 0]

    @pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
    def test_a_trajectory_file_without_versions_is_read_and_continued(
        self, tmp_path: Path, separators: tuple[str, str]
    ) -> None:
        fields = trajectory().to_dict()
        del fields["version"]
        fields["source"] = fields.pop("component")
        path = tmp_path / "old"
        write_lines(path, fields, separators=separators)
        with TrajectoryFile(path) as file:
            file.append(trajectory(1))
        assert list(read_trajectories(path)) == [trajectory(0), trajectory(1)]
        assert [key.component for key in read_keys(path)] == ["easy", "easy"]

    def test_a_trajectory_file_of_a_newer_version_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "new"
        write_lines(path, {**trajectory().to_dict(), "version": 3})
        for read in (read_trajectories, read_keys):
            with pytest.raises(ConfigError, match=r"line 1.*version 3.*upgrade gem-rollout"):
                list(read(path))
        before = path.read_bytes()
        with pytest.raises(ConfigError, match="upgrade gem-rollout"):
            TrajectoryFile(path)
        assert path.read_bytes() == before

    def test_a_trajectory_keeps_fields_of_other_versions(self, tmp_path: Path) -> None:
        fields = trajectory().to_dict()
        fields["weather"] = {"rain": [1]}
        fields["extra"] = "a field of this name"
        fields["turns"][0]["mood"] = "good"
        fields["turns"][0]["generation"]["entropy"] = [0.5]
        path = tmp_path / "file"
        write_lines(path, fields)
        (one,) = read_trajectories(path)
        assert one.extra == {"weather": {"rain": [1]}, "extra": "a field of this name"}
        with TrajectoryFile(tmp_path / "copy") as file:
            file.append(one)
        assert json.loads((tmp_path / "copy").read_text()) == fields

    @pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (",  ", " :")])
    def test_a_trajectory_file_may_have_its_keys_in_any_order_and_any_spaces(
        self, tmp_path: Path, separators: tuple[str, str]
    ) -> None:
        long = trajectory()
        long.turns[0].info = {"integer": 2**70, "negative": -(2**63) - 1, "large": 2**64 - 1}
        fields = dict(reversed(long.to_dict().items()))
        path = tmp_path / "file"
        write_lines(path, fields, separators=separators)
        with TrajectoryFile(path) as file:
            file.append(trajectory(1))
        assert list(read_trajectories(path)) == [long, trajectory(1)]
        assert [key.index for key in read_keys(path)] == [0, 1]


class TestCollect:
    @pytest.mark.parametrize("agent", ["random", RandomAgent])
    def test_collect_takes_ids_specs_and_functions(self, agent: Any) -> None:
        expected = list(collect(lambda: gem_core.make(GAME), RandomAgent, episodes=2, seed=3))
        for env in (GAME, gem_core.spec(GAME), lambda: gem_core.make(GAME)):
            found = list(collect(env, agent, episodes=2, seed=3))
            assert [[turn.action for turn in one.turns] for one in found] == [
                [turn.action for turn in one.turns] for one in expected
            ]
            assert [one.env_id for one in found] == [GAME] * 2

    def test_collect_suggests_near_names_for_unknown_ids(self) -> None:
        with pytest.raises(UnknownIdError, match="GuessTheNumber-v0-easy"):
            collect("game:GuesTheNumber-v0-easy", "random", episodes=1)
        with pytest.raises(UnknownIdError, match="'random'"):
            collect(GAME, "randm", episodes=1)

    def test_collect_refuses_an_agent_or_an_environment_instead_of_a_function(self) -> None:
        with pytest.raises(ConfigError, match=r"lambda: MyAgent\(\)"):
            collect(GAME, SilentAgent(), episodes=1)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"lambda: MyEnv\(\)"):
            collect(gem_core.make(GAME), "random", episodes=1)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"consists of gem_rollout\.Component"):
            collect([GAME], "random", episodes=1)  # type: ignore[list-item]


class BareEnv:
    """Just the members of the ``Env`` protocol."""

    spec = None
    blocking = False

    def __init__(self) -> None:
        self.left = 0

    @property
    def unwrapped(self) -> Any:
        return self

    def reset(self, *, seed: int | None = None, **options: Any) -> tuple[str, dict[str, Any]]:
        self.left = random.Random(seed).randint(2, 5)
        return f"{self.left} left", {}

    def step(self, action: Any) -> gem_core.Step:
        self.left -= 1
        return gem_core.Step(f"{self.left} left", 1.0, self.left == 0, False, {})

    def sample_random_action(self) -> str:
        return "go"

    def snapshot(self) -> bytes:
        return bytes([self.left])

    def restore(self, snapshot: bytes) -> None:
        (self.left,) = snapshot

    def fork(self) -> Self:
        twin = type(self)()
        twin.left = self.left
        return twin

    def spawn(self, *, seed: int | None = None, same_state: bool = False) -> Self:
        return self.fork() if same_state else type(self)()

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class BareAgent:
    """Just the members of the ``Agent`` protocol."""

    def reset(self, env: gem_core.Env) -> None:
        self.env = env

    def act(self, observation: Any, info: dict[str, Any]) -> Any:
        return self.env.sample_random_action()

    def close(self) -> None:
        pass


class TestBareProtocols:
    def test_classes_without_optional_members_satisfy_the_protocols(self) -> None:
        assert isinstance(BareEnv(), gem_core.Env)
        assert isinstance(BareAgent(), gem_core.Agent)

    @pytest.mark.parametrize("options", [{}, {"episodes_per_group": 2, "fork_groups": True}])
    def test_collect_needs_no_optional_members_of_protocols(self, options: dict[str, Any]) -> None:
        found = list(collect(BareEnv, BareAgent, episodes=4, **options))
        assert [one.error for one in found] == [None] * 4
        assert all(one.turns[-1].terminated for one in found)

    @pytest.mark.slow
    def test_worker_processes_need_no_optional_members_of_the_protocols(self) -> None:
        from gem_rollout.episodes.processes import in_processes

        found = list(collect(in_processes(BareEnv), BareAgent, episodes=3, episodes_per_group=3))
        assert [one.error for one in found] == [None] * 3

    def test_a_mixture_needs_no_optional_members_of_the_protocols(self) -> None:
        from gem_core.mixture import MixtureEnv

        def make() -> gem_core.Env:
            return MixtureEnv({"bare": gem_rollout.Component(BareEnv)})

        found = list(collect(make, BareAgent, episodes=4, episodes_per_group=2))
        assert [one.error for one in found] == [None] * 4

    @pytest.mark.slow
    @pytest.mark.parametrize("executor", ["serial", "threads", "processes"])
    def test_make_vec_needs_no_optional_members_of_the_protocols(self, executor: str) -> None:
        spec = gem_core.EnvSpec(id="test:Bare-v0", entry_point=BareEnv)
        with gem_core.make_vec(spec, num_envs=1, executor=executor, seed=1) as vector:
            vector.reset(seed=3)
            batch = vector.step(vector.sample_random_actions())
            assert batch.rewards == [1.0]
            vector.restore(vector.snapshot())
