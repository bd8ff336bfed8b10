"""``gem-core eval --again RUN``: the folder of a run is enough to repeat it."""

import json
import subprocess
from pathlib import Path

import pytest

from gem_agents.testing.endpoint_server import EndpointServer
from gem_rollout import read_trajectories
from gem_rollout.records.runs import Run

GUESS = "game:GuessTheNumber-v0-easy"
pytestmark = pytest.mark.slow

OWN = """
from gem_core import BaseEnv, Step


class Echo(BaseEnv):
    def start(self):
        return "Say {word}.", {{}}

    def step(self, action):
        return Step("", float(action == "{word}"), True, False, {{}})

    def sample_random_action(self):
        return self.action_rng.choice(["yes", "no"])
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def course(folder):
    """Return what happened in each episode of a run, without times."""
    return {
        (one.component, one.agent, one.index): [
            (turn.observation, turn.action, turn.reward, turn.terminated) for turn in one.turns
        ]
        for one in read_trajectories(f"{folder}/trajectories.jsonl")
    }


def info_of(folder):
    """Return what the run.json of a folder says."""
    return Run.open(folder).info()


def change(folder, **keys):
    """Change keys of a run's run.json, as if it had been made elsewhere."""
    Run(Path(folder)).note(**keys)


@pytest.fixture
def run(ok, tmp_path):
    """Return the folder of a run."""
    ok("eval", GUESS, "agent=random", "env.max_turns=3", "episodes=4", "samples=2", "out=run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    "words",
    [
        ["game:Guess*-easy", "math:Sample", "agent=[random,oracle]", "wrappers=[concat]",
         "seed=5"],
        ["envs=[{id: math:Sample, shuffle: false}, rg:gcd]", "+agent@agent.box=scripted",
         r"agent.box.actions=['\boxed{4} \${x}']"],
        [f"mixture.a.id={GUESS}", "mixture.b.id=math:Sample", "mixture.b.weight=3", "agent=random"],
    ],
)  # fmt: skip
def test_a_repeated_run_has_equal_episodes(ok, words):
    ok("eval", *words, "episodes=3", "samples=2", "out=run")
    ok("eval", "--again", "run", "out=same")
    assert course("same") == course("run")
    assert len(course("same")) >= 6


def test_what_decides_the_episodes_is_recorded(ok, run):
    (run.parent / "rows.jsonl").write_text('{"problem": "1 + 1", "answer": "2"}\n')
    ok("eval", "math:Custom", "env.data=rows.jsonl", "agent=oracle", "episodes=1", "out=math")
    info = info_of("math")
    assert {"gem-core", "gem-math", "gem-tasks", "math-verify", "sympy"} <= info["versions"].keys()
    assert "gem-rg" not in info["versions"]
    assert info["data"]["math:Custom"]["name"] == "rows.jsonl"
    assert info["data"]["math:Custom"]["version"].startswith("sha256:")
    assert info["parameters"]["math:Custom"]["answer_key"] == "answer"
    assert info["command"].startswith("gem-core eval env=math/Custom ")


def test_the_commit_of_the_working_directory_is_recorded(ok):
    def git(*words):
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(["git", *name, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    words = ["eval", GUESS, "agent=random", "episodes=1"]
    ok(*words, "out=before")
    git("init")
    Path("notes.txt").write_text("one")
    git("add", ".")
    git("commit", "-m", "One")
    ok(*words, "out=clean")
    Path("notes.txt").write_text("two")
    ok(*words, "out=dirty")
    commit = git("rev-parse", "HEAD")
    found = [info_of(name).get("git") for name in ("before", "clean", "dirty")]
    dirty = {"commit": commit, "dirty": True}
    assert found == [None, {"commit": commit, "dirty": False}, dirty]


def test_words_change_what_is_repeated(ok, run, gem):
    ok("eval", "--again", run, "episodes=6", "env.max_turns=1", "out=more")
    assert {key[2] for key in course("more")} == set(range(12))
    assert {len(turns) for turns in course("more").values()} == {1}
    ok("eval", "--again", run, "rg:gcd", "agent=[oracle,random]", "tools=[python]", "out=other")
    assert {key[:2] for key in course("other")} == {("rg:gcd", "oracle"), ("rg:gcd", "random")}
    done = gem("eval", "--again", run, "env.max_turn=1")
    assert "Did you mean 'max_turns'?" in done.stderr


def test_the_folder_decides_and_not_the_defaults_of_today(gem, ok, run):
    """A recorded value is used although it is neither typed nor a default."""
    config = info_of(run)["config"]
    config["env"]["max_turns"], config["confidence"] = 1, 0.5
    change(run, config=config | {"of_before": 3})
    done = gem("eval", "--again", run, "out=same")
    assert f"Not as in {run}: there is no key 'of_before'." in done.stderr
    assert {len(turns) for turns in course("same").values()} == {1}
    assert json.loads(Path("same/metrics.json").read_text())["confidence"] == 0.5
    ok("eval", f"envs=[{GUESS}]", "agent=random", "episodes=1", "out=listed")
    parameters = info_of("listed")["parameters"]
    parameters[GUESS]["max_turns"] = 1
    change("listed", parameters=parameters)
    ok("eval", "--again", "listed", "out=listed-again")
    assert {len(turns) for turns in course("listed-again").values()} == {1}


def test_what_differs_now_is_said_in_a_line_each(gem, ok, tmp_path):
    for name, word in (("own.py", "yes"), ("rows.jsonl", "1")):
        (tmp_path / name).write_text(OWN.format(word=word) if name == "own.py" else row(word))
    envs = "envs=[./own.py:Echo,{id: math:Custom, data: rows.jsonl}]"
    ok("eval", envs, "agent=random", "episodes=1", "out=run")
    assert "Not as in" not in gem("eval", "--again", "run", "out=same").stderr
    versions = info_of("run")["versions"] | {"math-verify": "0.1"}
    change("run", python="3.9.0", versions=versions)
    (tmp_path / "own.py").write_text(OWN.format(word="no"))
    (tmp_path / "rows.jsonl").write_text(row("2"))
    done = gem("eval", "--again", "run", "out=other")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("Not as in run: ")]
    starts = ["Python: 3.9.0 -> ", "math-verify: 0.1 -> ", "./own.py:Echo: ", "data of math:Custom"]
    assert len(lines) == len(starts)
    assert all(any(start in line for line in lines) for start in starts), lines
    shown = ok("compare", "same", "other", "--format", "json")
    (pairing,) = json.loads(shown)["pairings"]
    assert any("own.py" in line for line in pairing["config"])
    assert any(line.startswith("data of math:Custom") for line in pairing["config"])


def test_a_run_that_goes_on_with_other_data_says_so_once(gem, ok, tmp_path):
    (tmp_path / "rows.jsonl").write_text(row("1"))
    words = ["eval", "math:Custom", "env.data=rows.jsonl", "agent=random", "out=run"]
    ok(*words, "episodes=1")
    before = info_of("run")["data"]
    (tmp_path / "rows.jsonl").write_text(row("2"))
    done = gem(*words, "episodes=3", "resume=true")
    assert done.stderr.count("Not as in the earlier episodes: data of math:Custom: sha256:") == 1
    assert info_of("run")["data"] == before


def row(answer):
    return json.dumps({"problem": "1", "answer": answer}) + "\n"


def test_a_run_that_cannot_be_repeated_is_a_clear_error(gem, ok, run, subtests, monkeypatch):
    ok("run", GUESS, "episodes=1", "out=played")
    ok("run", "--again", "played", "out=played-again")
    change("played", config=None)
    (run.parent / "bare").mkdir()
    (run.parent / "bare" / "trajectories.jsonl").touch()
    expected = {
        "nowhere": "There is no run at nowhere",
        "played-again": "gem-core eval cannot repeat played-again, which 'gem-core run' made.",
        "bare": "bare cannot be repeated: it has no configuration in run.json.",
    }
    for path, message in expected.items():
        with subtests.test(path):
            done = gem("eval", "--again", path)
            assert (done.returncode, message in done.stderr) == (1, True), done.stderr
    monkeypatch.setattr("gem_core.known.known_ids", lambda: {("environment", "acme"): "gem-acme"})
    change(run, config={**info_of(run)["config"], "env": {"id": "acme:Env"}})
    done = gem("eval", "--again", run)
    assert (done.returncode, "pip install gem-acme" in done.stderr) == (1, True), done.stderr


def test_a_secret_comes_from_the_environment_or_is_given_again(gem, ok, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with EndpointServer(r"\boxed{3}") as server:
        words = ["agent=openai", "agent.model=any", f"agent.base_url={server.url}"]
        ok("eval", GUESS, *words, "agent.api_key=sk-planted", "episodes=1", "out=run")
        assert info_of("run")["models"] == {"openai": ["scripted (fp_scripted)"]}
        done = gem("eval", "--again", "run", "out=again")
        assert done.returncode == 1
        key = "agent.openai.api_key"
        assert f"give {key}=VALUE, or set OPENAI_API_KEY." in done.stderr
        ok("eval", "--again", "run", "agent.api_key=sk-planted", "out=given")
        assert "authorization: bearer sk-planted" in server.headers.lower()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-elsewhere")
        server.model = "newer"
        done = gem("eval", "--again", "run", "out=set")
        assert "authorization: bearer sk-elsewhere" in server.headers.lower()
    line = "model of openai: scripted (fp_scripted) -> newer (fp_scripted)"
    assert f"Not as in run: {line}" in done.stderr
    for file in tmp_path.rglob("*.json*"):
        assert "sk-" not in file.read_text()
