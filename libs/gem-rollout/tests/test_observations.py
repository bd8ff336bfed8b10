"""What a trajectory keeps of observations: all of them, and what they share only once."""

import copy
import json
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_core.agent import BaseAgent
from gem_core.content import Image
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError
from gem_core.observation import Action, Info, Observation
from gem_core.wrappers import HistoryWrapper
from gem_rollout import Trajectory, TrajectoryFile, Turn, play_agents, play_episode
from gem_rollout import read_trajectories as read
from gem_rollout.multi_agent.env import AgentSelector, MultiAgentEnv
from gem_rollout.records.observations import Observations

PIECES = st.builds(
    lambda piece, times: piece * times,
    st.text("ab\n\N{GRINNING FACE}\u00e9\ud800", max_size=4),
    st.sampled_from([1, 1, 90, 300]),
)
IMAGES = st.sampled_from([Image(bytes([number]) * 300, "image/png") for number in range(3)])


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[str, Observation]]:
    """Draw the turns' agents and observations: texts that grow, shrink, move on or are new."""
    text, images, found = "", list[Any](), list[tuple[str, Observation]]()
    for _ in range(draw(st.integers(1, 9))):
        left = draw(st.sampled_from([0, 0, 0, 1, 300]))
        right = len(text) - draw(st.sampled_from([0, 0, 1, 30, 300, 10_000]))
        text = text[left : max(left, right)] + draw(PIECES)
        images = images[draw(st.integers(0, 1)) :] + draw(st.lists(IMAGES, max_size=2))
        page = {"text": text, "images": images, 7: text[::-1], "page": {"text": text, "n": 3}}
        one: Observation = draw(st.sampled_from([text, text, page, page, images, None, [1, "a"]]))
        found.append((draw(st.sampled_from("aab")), one))
    return found


def as_json(value: Any) -> Any:
    """Return a value as it is in a file."""
    return json.loads(json.dumps(value, default=Image.to_json))


def write(path: Path, trajectory: Trajectory) -> Path:
    path.unlink(missing_ok=True)
    with TrajectoryFile(path) as file:
        file.append(trajectory)
    return path


def observations_of(trajectory: Trajectory) -> list[Observation]:
    return [turn.observation for turn in trajectory.turns]


class Shows(BaseEnv):
    """Shows these observations one after another; each has the suffix ``Your turn:``."""

    def __init__(self, observations: list[Observation]) -> None:
        self.observations = observations

    def start(self) -> tuple[Observation, Info]:
        self.turn = 0
        return self.observations[0], {"suffix": "Your turn:"}

    def step(self, action: Action) -> Step:
        self.turn += 1
        is_last = self.turn == len(self.observations) - 1
        return Step(self.observations[self.turn], 0.0, is_last, False, {"suffix": "Your turn:"})


class Watches(BaseAgent):
    """Remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Observation] = []

    def act(self, observation: Observation, info: Info) -> Action:
        self.shown.append(observation)
        return f"move {len(self.shown)}"


class Diaries(MultiAgentEnv):
    """Two agents act in turn, and each sees all its own actions."""

    possible_agents = ("a", "b")

    def __init__(self) -> None:
        super().__init__()
        self.agent_selector = AgentSelector(self.possible_agents)

    def start(self) -> None:
        self.turns, self.diaries = 0, {name: f"Diary of {name}\n" * 20 for name in self.agents}

    def observe(self, agent: str) -> Observation:
        return self.diaries[agent]

    def process_actions(self, actions: dict[str, Action]) -> Any:
        self.turns += 1
        for name, action in actions.items():
            self.diaries[name] += f"{self.turns} {action}\n"
        flags = dict.fromkeys(self.agents, self.turns == 200)
        return {}, dict.fromkeys(self.agents, 0.0), flags, {}, {}


def long_episode(turns: int = 300) -> tuple[Trajectory, list[Observation]]:
    """Return an episode with the whole history in each turn, and what its agent was shown."""
    lines = [
        f"{turn}: " + "a line of what was seen \N{GRINNING FACE} " * 2 for turn in range(turns)
    ]
    agent = Watches()
    env = HistoryWrapper(Shows([*lines, "end"]), include_action=True)
    return play_episode(env, agent, seed=0), agent.shown


class TestAnyObservations:
    """A window, a suffix, a text that shrinks, dicts, lists, several agents."""

    @pytest.mark.slow
    @settings(max_examples=500 if thorough() else 40)
    @given(sequences())
    def test_a_trajectory_has_them_unchanged_here_in_copies_and_in_files(
        self, tmp_path_factory: pytest.TempPathFactory, shown: list[tuple[str, Observation]]
    ) -> None:
        kept: dict[str, Observations] = defaultdict(Observations)
        turns = [
            Turn(name, kept[name].keep(copy.deepcopy(one)), "go", 0.0, False, False, {})
            for name, one in shown
        ]
        trajectory = Trajectory("test:Env-v0", "a", 0, 7, turns)
        expected = [one for _, one in shown]
        assert observations_of(trajectory) == expected
        for twin in (pickle.loads(pickle.dumps(trajectory)), copy.deepcopy(trajectory)):  # noqa: S301
            assert observations_of(twin) == expected
            assert twin == trajectory
        path = write(tmp_path_factory.getbasetemp() / "observations.jsonl", trajectory)
        (found,) = read(path)
        assert observations_of(found) == as_json(expected)
        again = write(path.with_suffix(".again"), found)
        assert json.loads(again.read_bytes()) == json.loads(path.read_bytes())
        for name in "ab":
            (part,) = read(write(path, trajectory.of_agent(name)))
            assert observations_of(part) == as_json([one for agent, one in shown if agent == name])

    def test_an_agent_is_shown_what_the_trajectory_has(self) -> None:
        trajectory, shown = long_episode()
        assert observations_of(trajectory) == shown

    def test_a_list_that_the_environment_goes_on_filling_is_kept_as_it_was(self) -> None:
        kept, images = Observations(), [Image(b"1", "image/png")]
        turns = []
        for number in (2, 3):
            turns.append(Turn("a", kept.keep(images), "go", 0.0, False, False, {}))
            images.append(Image(bytes([number]), "image/png"))
        assert [len(turn.observation) for turn in turns] == [1, 2]

    def test_a_list_of_the_first_turn_that_is_changed_changes_no_other_turn(
        self, tmp_path: Path
    ) -> None:
        kept, images = Observations(), [Image(bytes([one]), "image/png") for one in range(4)]
        turns = [
            Turn("a", kept.keep(images[:count]), "go", 0.0, False, False, {}) for count in (2, 3, 4)
        ]
        turns[0].observation.clear()
        trajectory = Trajectory("test:Env-v0", "a", 0, 7, turns)
        assert observations_of(trajectory) == [[], images[:3], images]
        (found,) = read(write(tmp_path / "file", trajectory))
        assert observations_of(found) == as_json([[], images[:3], images])

    def test_two_surrogates_that_json_reads_as_one_character_change_no_other_text(
        self, tmp_path: Path
    ) -> None:
        kept, start = Observations(), "a line\n" * 100
        texts = [start, start + "\ud83d\ude00 one\n", start + "\ud83d\ude00 one\n" + "two\n" * 9]
        turns = [Turn("a", kept.keep(text), "go", 0.0, False, False, {}) for text in texts]
        (found,) = read(write(tmp_path / "file", Trajectory("test:Env-v0", "a", 0, 7, turns)))
        assert observations_of(found) == [json.loads(json.dumps(text)) for text in texts]

    def test_turns_can_be_left_out_and_repeated(self, tmp_path: Path) -> None:
        trajectory, shown = long_episode(30)
        trajectory.turns = [*trajectory.turns[::3], *trajectory.turns]
        (found,) = read(write(tmp_path / "file", trajectory))
        assert observations_of(found) == [*shown[::3], *shown]

    def test_an_observation_can_be_replaced(self, tmp_path: Path) -> None:
        trajectory, shown = long_episode(20)
        trajectory.turns[10].observation = "Something else."
        (found,) = read(write(tmp_path / "file", trajectory))
        assert observations_of(found) == [*shown[:10], "Something else.", *shown[11:]]


class TestALongEpisode:
    """What each turn shares with the turn before is stored once."""

    def test_it_is_as_large_as_what_is_new_in_memory_and_on_disk(self, tmp_path: Path) -> None:
        trajectory, shown = long_episode()
        new, whole = len(shown[-1].encode()), sum(len(one.encode()) for one in shown)
        assert whole > 100 * new
        path = write(tmp_path / "file", trajectory)
        (found,) = read(path)
        for one in (trajectory, found):
            assert len(pickle.dumps(one)) < 10 * new
        assert path.stat().st_size < 10 * new

    def test_a_part_of_a_line_is_not_shared(self) -> None:
        """So a search for words finds them in what is new."""
        kept = Observations()
        texts = ["line\n" * 100 + "You have 1", "line\n" * 100 + "You have 12 left."]
        turns = [Turn("a", kept.keep(text), "go", 0.0, False, False, {}) for text in texts]
        fields = Trajectory("test:Env-v0", "a", 0, 7, turns).to_dict()["turns"][1]
        assert (fields["shares"], fields["observation"]) == (500, "You have 12 left.")

    def test_a_part_of_a_word_is_not_shared(self) -> None:
        kept = Observations()
        texts = ["word " * 100 + "cave 41.", "word " * 100 + "cave 47."]
        turns = [Turn("a", kept.keep(text), "go", 0.0, False, False, {}) for text in texts]
        fields = Trajectory("test:Env-v0", "a", 0, 7, turns).to_dict()["turns"][1]
        assert fields["observation"] == "47."
        with pytest.raises(ValueError, match="by Trajectory"):
            Turn.from_dict(fields)

    def test_short_texts_are_written_whole(self) -> None:
        agent = Watches()
        trajectory = play_episode(Shows(["Room 1", "Room 2", "Room 21", "end"]), agent, seed=0)
        turns = trajectory.to_dict()["turns"]
        assert [turn["observation"] for turn in turns] == agent.shown
        assert not any("shares" in turn for turn in turns)

    def test_an_image_of_a_history_is_written_once(self, tmp_path: Path) -> None:
        pages = [
            {"problem": f"<image> {turn}", "images": [Image(bytes([turn]) * 400, "image/png")]}
            for turn in range(30)
        ]
        agent = Watches()
        trajectory = play_episode(HistoryWrapper(Shows(pages)), agent, seed=0)
        path = write(tmp_path / "file", trajectory)
        final = len(trajectory.final_observation["images"])
        assert path.read_text().count("data:image/png") == len(agent.shown) + final
        (found,) = read(path)
        assert observations_of(found) == as_json(agent.shown)

    def test_each_of_several_agents_has_a_history_of_its_own(self, tmp_path: Path) -> None:
        agents = {"a": Watches(), "b": Watches()}
        trajectory = play_agents(Diaries(), agents, seed=0)
        path = write(tmp_path / "file", trajectory)
        assert path.stat().st_size < 150_000
        (found,) = read(path)
        for name, agent in agents.items():
            assert observations_of(trajectory.of_agent(name)) == agent.shown
            assert observations_of(found.of_agent(name)) == agent.shown


class TestAFile:
    """Version 2 of the format."""

    def fields(self) -> dict[str, Any]:
        return json.loads(json.dumps(long_episode(5)[0].to_dict()))

    def test_a_file_of_version_1_is_read(self, tmp_path: Path) -> None:
        trajectory, _ = long_episode(5)
        turns = [turn.to_dict() for turn in trajectory.turns]
        (tmp_path / "old").write_text(
            json.dumps({**trajectory.to_dict(), "version": 1, "turns": turns}) + "\n"
        )
        assert list(read(tmp_path / "old")) == [trajectory]

    @pytest.mark.parametrize("shares", [-1, 10_000, "300", 1.5, True, {"text": 300}, [1]])
    def test_a_turn_cannot_share_what_the_one_before_does_not_have(
        self, tmp_path: Path, shares: Any
    ) -> None:
        fields = self.fields()
        fields["turns"][-1]["shares"] = shares
        (tmp_path / "file").write_text(json.dumps(fields) + "\n")
        with pytest.raises(ConfigError, match=r"line 1, is not a trajectory: .*cannot share"):
            list(read(tmp_path / "file"))
