"""``gem-core eval until=decided``, run as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gem_core.errors import ConfigError
from gem_core.specs import EnvSpec
from gem_eval.until import SequentialComparison, width_of
from gem_rollout import read_trajectories

GUESS = "game:GuessTheNumber-v0-easy"
TWINS = ["+agent@agent.a=random", "+agent@agent.b=random"]
"""Two agents that play alike."""

pytestmark = pytest.mark.slow


def decision(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())["decision"]
    return found


def test_a_run_stops_once_one_agent_is_better(tmp_path: Path, ok: Callable[..., str]) -> None:
    asked = ["eval", GUESS, "agent=[random,oracle]", "until=decided", "budget=1000", "out=run"]
    shown = ok(*asked, cwd=tmp_path)
    found = decision(tmp_path / "run")
    assert found["verdict"] == "better"
    assert found["difference"]["low"] > 0
    assert "oracle is better than random: success +" in shown
    played = list(read_trajectories(tmp_path / "run" / "trajectories.jsonl"))
    assert 2 * found["pairs"] <= len(played) < 100
    assert "stopped when it was decided" in ok("compare", "run", cwd=tmp_path)
    again = ok(*asked, "resume=true", cwd=tmp_path)
    assert again.splitlines()[-4:] == shown.splitlines()[-4:]
    assert len(list(read_trajectories(tmp_path / "run" / "trajectories.jsonl"))) == len(played)


def test_a_run_that_was_cut_off_ends_as_one_that_was_not(
    tmp_path: Path, ok: Callable[..., str]
) -> None:
    envs = "envs=[game:GuessTheNumber-v0-easy,game:Hangman-v0-easy]"
    asked = ["eval", envs, *TWINS, "until=decided", "difference=0.1", "measure=return"]
    ok(*asked, "budget=2000", "out=whole", cwd=tmp_path)
    shown = ok(*asked, "budget=90", "out=parts", cwd=tmp_path)
    assert "Undecided between b and a" in shown
    assert decision(tmp_path / "parts")["reason"] == "The budget is used up."
    assert len(list(read_trajectories(tmp_path / "parts" / "trajectories.jsonl"))) <= 90
    ok(*asked, "budget=2000", "out=parts", "resume=true", "concurrency=3", cwd=tmp_path)
    whole, parts = decision(tmp_path / "whole"), decision(tmp_path / "parts")
    assert whole == parts
    assert whole["verdict"] == "equivalent"
    ok(*asked, "budget=90", "out=parts", "resume=true", cwd=tmp_path)
    assert decision(tmp_path / "parts")["pairs"] == 45  # those that the budget pays for
    ok(*asked, "budget={tokens: 1, turns: 1}", "out=parts", "resume=true", cwd=tmp_path)
    assert decision(tmp_path / "parts") == whole  # which needs no further episode
    assert set(whole["pairs_by_env"]) == {GUESS, "game:Hangman-v0-easy"}


def test_against_compares_with_the_episodes_of_a_run(
    tmp_path: Path, ok: Callable[..., str], gem: Callable[..., Any]
) -> None:
    ok("eval", GUESS, "agent=random", "episodes=60", "out=base", cwd=tmp_path)
    asked = ["eval", GUESS, "until=decided", "against=base", "budget=500"]
    shown = ok(*asked, "agent=oracle", "out=new", cwd=tmp_path)
    assert "oracle is better than random" in shown
    assert {t.agent for t in read_trajectories(tmp_path / "new" / "trajectories.jsonl")} == {
        "oracle"
    }
    shown = ok(*asked, "agent=random", "difference=0.02", "out=same", cwd=tmp_path)
    assert "Undecided between random and base@random" in shown
    assert f"All 60 tasks of {GUESS} in base were played." in shown
    other = gem(*asked, "agent=oracle", "seed=1", "env.max_turns=9", "out=x", cwd=tmp_path)
    assert other.returncode == 1
    assert "env.max_turns: 4 -> 9" in other.stderr
    assert "seed: 0 -> 1" in other.stderr
    listed = ["+env@envs.own=game/GuessTheNumber-v0-easy", "until=decided", "budget=500", "out=x"]
    other = gem("eval", *listed, "agent=oracle", "against=base", cwd=tmp_path)
    assert "base has other tasks" in other.stderr
    ok("eval", *listed[:1], "agent=random", "out=own", cwd=tmp_path)
    changed = ["envs.own.max_turns=9", "against=own"]
    other = gem("eval", *listed, *changed, "agent=oracle", cwd=tmp_path)
    assert "own.max_turns: 4 -> 9" in other.stderr
    assert not (tmp_path / "x").exists()


def test_against_needs_episodes_in_every_environment(
    tmp_path: Path, ok: Callable[..., str], gem: Callable[..., Any]
) -> None:
    one, both = f"envs=[{GUESS}]", f"envs=[{GUESS},math:Sample]"
    ok("eval", one, "agent=random", "out=base", cwd=tmp_path)
    asked = ["until=decided", "against=base", "budget=500", "out=x", "agent=oracle"]
    other = gem("eval", both, *asked, cwd=tmp_path)
    assert other.returncode == 1
    assert "base has no episodes of random in math:Sample." in other.stderr
    assert not (tmp_path / "x").exists()


def test_it_ends_when_all_tasks_were_played(tmp_path: Path, ok: Callable[..., str]) -> None:
    rows = "+env.data=[{problem: 1+1, answer: '2'}, {problem: 1+2, answer: '3'}]"
    shown = ok(
        "eval", "math:Custom", rows, *TWINS, "until=decided", "budget=200", "out=run", cwd=tmp_path
    )
    assert "All tasks of math:Custom were played." in shown
    assert decision(tmp_path / "run")["pairs"] == 2


def test_the_number_of_episodes_does_not_count(
    tmp_path: Path, ok: Callable[..., str], gem: Callable[..., Any]
) -> None:
    ok("eval", GUESS, "agent=[random,oracle]", "episodes=3", "out=fixed", cwd=tmp_path)
    again = ["--again", "fixed", "until=decided", "budget=200", "out=run"]
    assert "oracle is better than random" in ok("eval", *again, cwd=tmp_path)
    asked = ["suite=games", "agent=[random,oracle]", "until=decided", "budget=8", "out=suite"]
    done = gem("eval", *asked, "episodes=3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "episodes=3 does not count: until=decided plays up to the budget." in done.stderr


def test_a_budget_that_nothing_uses_up_ends_the_run(tmp_path: Path, ok: Callable[..., str]) -> None:
    shown = ok("eval", GUESS, *TWINS, "until=decided", "budget={cost: 1}", "out=x", cwd=tmp_path)
    assert "No agent reports what budget limits (cost): add a number of episodes." in shown
    assert decision(tmp_path / "x")["pairs"] == 16


def test_nothing_is_decided_by_errors(tmp_path: Path, gem: Callable[..., Any]) -> None:
    dead = ["+agent@agent.dead=openai", "agent.dead.model=x", "agent.dead.max_attempts=1"]
    dead += ["agent.dead.base_url=http://127.0.0.1:9/v1", "agent.dead.api_key=none"]
    asked = ["eval", GUESS, "+agent@agent.a=random", *dead, "until=decided", "budget=400"]
    done = gem(*asked, "preflight=false", "abort_after=null", "out=run", cwd=tmp_path)
    assert done.returncode == 1
    assert "Errors ended an episode in 16 of them" in done.stdout
    assert decision(tmp_path / "run")["verdict"] == "undecided"


def test_a_test_that_has_begun_cannot_be_changed(
    tmp_path: Path, ok: Callable[..., str], gem: Callable[..., Any]
) -> None:
    asked = ["eval", GUESS, *TWINS, "until=decided", "budget=32", "out=run"]
    ok(*asked, cwd=tmp_path)
    done = gem(*asked, "resume=true", "difference=0.3", cwd=tmp_path)
    assert done.returncode == 1
    assert "difference: 0.05 -> 0.3" in done.stderr
    ok("eval", "--again", "run", "budget.seconds=60", cwd=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["agent=[random,oracle]", "budget=null"], "until=decided needs a budget"),
        (["agent=[random,oracle]"], "until=decided needs a budget, such as budget=2000"),
        (["agent=random", "budget=10"], "compares two agents"),
        (
            ["env=math/Sample", "env.shuffle=false", "agent=[random,oracle]", "budget=10"],
            "leave out shuffle=false",
        ),
        (["agent=[random,oracle,silent]", "budget=10"], "compares two agents"),
        (["agent=oracle", "budget=10", "against=nothing"], "nothing"),
        (["agent=[random,oracle]", "budget=3", "samples=2"], "A pair needs 4 episodes"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, gem: Callable[..., Any], arguments: list[str], message: str
) -> None:
    env = [] if arguments[0].startswith("env=") else [GUESS]
    done = gem("eval", *env, "until=decided", "out=run", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "run").exists()


def comparison(
    measure: Any = "success", widths: dict[str, float] | None = None, **options: Any
) -> Any:
    return SequentialComparison(
        widths or {"a": 1.0},
        first="one",
        second="two",
        samples=1,
        measure=measure,
        difference=0.05,
        confidence=0.95,
        seed=0,
        **options,
    )


def test_tasks_after_one_that_a_run_did_not_end_are_left_out(episode: Callable[..., Any]) -> None:
    played = [episode(env_id="a", agent="one", group=group) for group in (0, 1, 3, 4)]
    one = comparison(against=played, source="base")
    assert one.block(None, 1) == [("a", 0), ("a", 1)]
    assert one.reason == "All 2 tasks of a in base were played."


def test_returns_outside_of_their_range_are_an_error(episode: Callable[..., Any]) -> None:
    one = comparison("return")
    one.block(100, 1)
    one.add(episode(env_id="a", agent="one", reward=0.0))
    one.add(episode(env_id="a", agent="two", reward=3.0))
    with pytest.raises(ConfigError, match="Returns of a differ by 3, more than the 1"):
        one.take()


def test_an_environment_without_success_is_an_error(episode: Callable[..., Any]) -> None:
    one = comparison()
    one.block(100, 1)
    for agent in ("one", "two"):
        one.add(episode(None, env_id="a", agent=agent))
    with pytest.raises(ConfigError, match="measure=return"):
        one.take()


def test_an_error_is_a_failure_of_its_agent(episode: Callable[..., Any]) -> None:
    one = comparison()
    block = one.block(100, 1)
    for _, group in block:
        one.add(episode(env_id="a", agent="one", group=group))
        broken = episode(env_id="a", agent="two", group=group, error="env", observation="")
        broken.success = None  # of an environment that has no range of returns
        one.add(broken)
    outcome = one.end("")
    assert outcome.decision.pairs == outcome.with_errors == 15
    assert outcome.decision.verdict == "worse"
    assert outcome.other_openings == 0
    assert any("15 pairs have an episode that an error ended" in line for line in outcome.notes())


def test_environments_that_ask_the_same_questions_are_noticed(episode: Callable[..., Any]) -> None:
    one = comparison(widths={"a": 1.0, "b": 1.0})
    for env_id, index in one.block(None, 1):
        for agent in ("one", "two"):
            made = episode(env_id=env_id, agent=agent, group=index)
            made.task_id = f"question {index}"
            one.add(made)
    one.take()
    assert one.reason.endswith("ask the same questions.")


def test_an_unknown_range_of_returns_is_an_error() -> None:
    spec = EnvSpec(id="x:Y", entry_point="x:Y")
    assert width_of("x", spec, "success") == 1.0
    with pytest.raises(ConfigError, match="return_range"):
        width_of("x", spec, "return")
