"""The whole way, as a user goes it: a model behind an endpoint, three families, two agents."""

import json
import subprocess
import sys

import pytest

from gem_agents.testing.endpoint_server import EndpointServer

FAMILIES = "envs=[game:GuessTheNumber-v0-easy,math:Sample,logic:Sample]"
NAMES = ["game:GuessTheNumber-v0-easy", "logic:Sample", "math:Sample"]


def reply(body):
    """Answer as a weak model would: each question in the form that it asks for."""
    asked = str(body["messages"][-1]["content"])
    return r"\boxed{True}" if "True or False" in asked else r"\boxed{5}"


def process(*words, cwd):
    """Run gem-core as a process of its own, and return what it prints."""
    command = [sys.executable, "-m", "gem_core", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_a_model_is_evaluated_over_three_families_and_compared(tmp_path, ok):
    with EndpointServer(reply, faults={"429": 0.05, "500": 0.05}) as server:
        model = ["agent=openai", "agent.model=scripted", f"agent.base_url={server.url}"]
        shown = ok("eval", FAMILIES, *model, "episodes=12", "out=model", cwd=tmp_path)
        assert server.met
    for name in (*NAMES, "all episodes", "mean over environments"):
        assert name in shown
    metrics = json.loads((tmp_path / "model" / "metrics.json").read_text())
    overall = next(row for row in metrics["rows"] if row["scope"] == "pooled")
    assert overall["episodes"] == 36
    assert overall["errors"] == {}
    assert overall["total_tokens"] > 0
    assert 0 < overall["success"]["value"] < 1
    assert overall["seconds"]["model"] > 0

    ok("eval", FAMILIES, "agent=oracle", "episodes=12", "out=oracle", cwd=tmp_path)
    shown = ok("compare", "model", "oracle", cwd=tmp_path)
    assert "oracle is better than model: success 100.0%" in shown.replace("openai", "model")
    plain = json.loads(process("compare", "model", "oracle", "--format", "json", cwd=tmp_path))
    assert plain["pairings"][0]["shared"] == 36
    assert [row["name"] for row in plain["comparisons"][1:4]] == NAMES

    assert "Nothing changes: all 36 episodes" in process("replay", "model", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["budget.tokens=2000", "budget.cost=0.002"])
def test_a_limit_of_tokens_or_cost_ends_a_run_that_goes_on_at_another_address(tmp_path, gem, limit):
    base = ["eval", "env=logic/Sample", "agent=openai", "agent.model=scripted", "out=run"]
    base += ["agent.prices={input: 1, output: 2}", "concurrency=2", "progress=off"]
    with EndpointServer(reply) as server:
        done = gem(*base, f"agent.base_url={server.url}", "episodes=30", limit, cwd=tmp_path)
    assert f"The limit {limit.partition('=')[0]} leaves no room" in done.stderr
    first = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert 0 < first["missing"] < 30
    with EndpointServer(reply) as server:
        address = f"agent.base_url={server.url}"
        more = ["episodes=30", "resume=true", "preflight=false"]
        gem(*base, address, *more, cwd=tmp_path)
        assert server.requests == first["missing"]
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["missing"], metrics["rows"][0]["episodes"]) == (0, 30)
    assert metrics["rows"][0]["cost"] > 0.002


@pytest.mark.slow
def test_a_budget_is_not_exceeded_by_episodes_that_begin_together(tmp_path, gem):
    """Each has about 900 tokens, and 30 of them may be in flight."""
    base = ["eval", "env=logic/Sample", "agent=openai", "agent.model=scripted", "out=run"]
    base += ["concurrency=30", "progress=off", "episodes=30", "budget.tokens=3000"]
    with EndpointServer(reply, latency=0.05) as server:
        gem(*base, f"agent.base_url={server.url}", cwd=tmp_path)
    (row, *_) = json.loads((tmp_path / "run" / "metrics.json").read_text())["rows"]
    assert row["total_tokens"] <= 4000
    lines = (tmp_path / "run" / "trajectories.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["index"] for line in lines) == [0, 1, 2]


LONGER = ["game:GuessTheNumber-v0-easy", "math:Sample"]


def evaluate(gem, server, folder, *words):
    model = ["agent=openai", "agent.model=scripted", f"agent.base_url={server.url}"]
    return gem("eval", *LONGER, *model, "out=run", *words, cwd=folder)


@pytest.mark.slow
def test_a_first_prompt_that_is_too_long_is_refused_before_the_run(tmp_path, gem):
    """The model says its context; the game has some 500 tokens, and the problem half of it."""
    with EndpointServer(reply, context=400) as server:
        done = evaluate(gem, server, tmp_path, "episodes=9")
        assert done.returncode == 1
        assert "agent.openai in game:GuessTheNumber-v0-easy: its first prompt has" in done.stderr
        assert "context has 400" in done.stderr
        assert "math:Sample" not in done.stderr
        assert server.requests == 2
        assert not (tmp_path / "run" / "run.json").exists()
        done = evaluate(gem, server, tmp_path, "episodes=2", "preflight=false")
        assert done.returncode == 0
        server.context = 100_000
        asked = server.requests
        evaluate(gem, server, tmp_path, "episodes=2", "resume=true")
        assert server.requests == asked  # nothing is missing, so nothing is checked
        evaluate(gem, server, tmp_path, "episodes=3", "resume=true")
        assert server.asked[asked]["max_tokens"] == 1


@pytest.mark.slow
def test_the_environments_take_turns_and_the_samples_of_a_task_stay_together(tmp_path, gem):
    words = ["agent=oracle", "episodes=3", "samples=2", "out=run", "concurrency=1"]
    gem("eval", *LONGER, *words, "fork_groups=true", cwd=tmp_path)
    lines = (tmp_path / "run" / "trajectories.jsonl").read_text().splitlines()
    ids = [json.loads(line)["env_id"] for line in lines]
    assert ids == [name for _ in range(3) for name in LONGER for _ in range(2)]


@pytest.mark.slow
def test_a_key_is_written_nowhere(tmp_path, ok):
    with EndpointServer(reply) as server:
        model = ["agent=openai", "agent.model=scripted", f"agent.base_url={server.url}"]
        ok(
            "eval",
            "env=logic/Sample",
            *model,
            "agent.api_key=sk-secret",
            "episodes=1",
            cwd=tmp_path,
        )
        assert "sk-secret" in server.headers
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == 3
    assert not any("sk-secret" in path.read_text() for path in written)
