"""Episodes with real machines and a real gateway, in front of an engine with a scripted model."""

import pytest

from gem_core.errors import ConfigError
from gem_rollout.records.rows import training_rows
from gem_rollout.records.trajectory import Trajectory
from gem_serve.gateway.client import GatewayClient
from gem_serve.gateway.testing.checks import differences
from gem_serve.harness.errors import ProgramMissingError
from gem_serve.harness.player import Player
from gem_serve.harness.recipe import Recipe, find_recipe
from gem_serve.harness.runner import play_episodes

GREET = "echo hello > /app/greeting.txt"


def bash(script):
    return Recipe(program="bash", arguments=("-c", script), dialect="chat")


def asking(*after):
    """Return a recipe of a program that asks once, and then does something else."""
    ask = (
        "import json, os, sys, urllib.request as u\n"
        "body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': 'hello'}]})\n"
        "u.urlopen(u.Request('{api}/chat/completions', body.encode())).read()\n"
    )
    return Recipe(program="python3", arguments=("-c", ask + "\n".join(after)), dialect="chat")


@pytest.fixture
def play(env, gateway):
    def play(recipe="python-loop", **options):
        made = Player(recipe=find_recipe(recipe), gateway=gateway.admin, name="tool", **options)
        return made.play(env, run_seed=3, index=5, group=2, sample=1)

    return play


@pytest.mark.slow
def test_an_episode_has_the_tokens_of_each_call_and_the_reward_of_the_environment(
    env, start_engine, start_gateway
):
    engine = start_engine(GREET, "cat /app/greeting.txt")
    gateway = start_gateway(engine.url)
    player = Player(recipe=find_recipe("python-loop"), gateway=gateway.admin, name="loop")
    trajectory = player.play(env, run_seed=3, index=5, group=2, sample=1)
    assert trajectory.error is None
    assert (trajectory.episode_return, trajectory.success) == (1.0, True)
    assert (trajectory.env_id, trajectory.agent) == ("terminal:Harbor", "loop")
    assert (trajectory.index, trajectory.group, trajectory.sample) == (5, 2, 1)
    assert GREET in trajectory.turns[0].action
    assert trajectory.turns[1].observation == "[exit status 0]"
    assert trajectory.turns[2].observation == "hello\n[exit status 0]"
    assert [turn.reward for turn in trajectory.turns] == [0.0, 0.0, 1.0]
    last = trajectory.turns[-1].info
    assert last["changed_files"]["new"] == ["/app/greeting.txt"]
    assert last["program"]["stdout"] == "The task is done.\n"
    assert last["program"]["status"] == "ended"
    assert trajectory.reset_info["task_id"] == "test/greeting"
    assert differences([trajectory], engine.log) == []
    rows = training_rows(trajectory, one_sequence="split")
    assert [row.reward for row in rows] == [1.0] * len(rows)
    assert sum(map(sum, (row.mask for row in rows))) == sum(len(one.ids) for one in engine.log)
    assert gateway.admin.health()["episodes"] == 0
    assert Trajectory.from_dict(trajectory.to_dict()) == trajectory


@pytest.mark.slow
def test_an_episode_is_one_row_in_the_mode_continue(env, start_engine, start_gateway):
    engine = start_engine(GREET, "ls", "pwd")
    gateway = start_gateway(engine.url)
    player = Player(
        recipe=find_recipe("python-loop"),
        gateway=gateway.admin,
        name="loop",
        options={"mode": "continue"},
    )
    (row,) = training_rows(player.play(env))
    assert sum(row.mask) == sum(len(one.ids) for one in engine.log)


@pytest.mark.slow
def test_a_program_that_fails_after_it_was_answered_is_graded(play):
    trajectory = play(asking(f"os.system({GREET!r})", "sys.exit(3)"))
    assert (trajectory.error, trajectory.episode_return) == (None, 1.0)
    assert trajectory.turns[-1].info["program"]["status"] == "failed"
    assert trajectory.turns[-1].info["program"]["exit_status"] == 3


@pytest.mark.slow
def test_a_program_that_hangs_is_killed_graded_and_truncated(play):
    for seconds in (3, 30):  # a busy machine needs longer until the program asks
        trajectory = play(asking("import time", "time.sleep(1000)"), timeout=seconds)
        if trajectory.error is None:
            break
    assert (trajectory.error, trajectory.episode_return) == (None, 0.0)
    assert trajectory.turns[-1].truncated
    assert trajectory.turns[-1].info["program"]["status"] == "timeout"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "kind", "part"),
    [
        (bash("echo oh no >&2; exit 2"), "NoCallError", "status 2 (failed) without asking"),
        (bash(GREET), "NoCallError", "status 0 (ended) without asking"),
        (bash("head -c 3000 /dev/urandom"), "NoCallError", "It printed at its end"),
        (
            bash("echo garbage > /dev/tcp/127.0.0.1/$(cut -d: -f3 <<< {host} | cut -d/ -f1)"),
            "NoCallError",
            "without asking",
        ),
        (
            Recipe(
                program="python3",
                arguments=("-c", "import urllib.request as u; u.urlopen('{api}/responses', b'no')"),
                dialect="responses",
            ),
            "UnansweredError",
            "all 1 calls failed or were refused",
        ),
    ],
    ids=["fails", "does the task alone", "garbage", "garbage to the gateway", "refused"],
)
def test_a_program_that_is_not_answered_is_an_error_with_what_it_printed(play, recipe, kind, part):
    trajectory = play(recipe)
    assert trajectory.error["type"] == kind
    assert part in trajectory.error["message"]
    assert trajectory.error["boundary"] == "agent"
    assert trajectory.error["program"]["program"] == recipe.program
    assert trajectory.success is False


@pytest.mark.slow
def test_a_program_that_dies_of_the_engines_fault_is_an_error(env, start_engine, start_gateway):
    engine = start_engine(GREET, faults=[None, "503"])
    gateway = start_gateway(engine.url)
    player = Player(recipe=find_recipe("python-loop"), gateway=gateway.admin, name="loop")
    trajectory = player.play(env)
    assert trajectory.error["type"] == "UnansweredError"
    assert "after 1 calls had failed" in trajectory.error["message"]
    assert len(trajectory.turns) == 1
    assert sum(turn.reward for turn in trajectory.turns) == 0


@pytest.mark.slow
def test_a_missing_program_ends_the_run(play):
    with pytest.raises(ProgramMissingError, match="no-such-tool"):
        play(Recipe(program="no-such-tool", dialect="chat"))


def test_a_gateway_that_is_gone_is_an_error(env, engine):
    from gem_serve.gateway.serving import GatewayThread

    with GatewayThread(engine.url) as gateway:
        admin = gateway.admin
    player = Player(recipe=find_recipe("python-loop"), gateway=admin, name="loop")
    trajectory = player.play(env)
    assert trajectory.error["type"] == "GatewayError"
    assert "cannot be reached" in trajectory.error["message"]


@pytest.mark.slow
def test_a_gateway_that_goes_during_the_program_is_an_error(env, gateway):
    class Gone(GatewayClient):
        """Names a port of the programs' server at which nobody listens any more."""

        def create(self, **options):
            import dataclasses
            import socket

            with socket.create_server(("127.0.0.1", 0)) as gone:
                port = gone.getsockname()[1]
            created = super().create(**options)
            return dataclasses.replace(created, url=f"http://127.0.0.1:{port}/e/x")

    gone = Gone(gateway.admin_url, gateway.admin_token)
    player = Player(recipe=find_recipe("python-loop"), gateway=gone, name="loop")
    trajectory = player.play(env)
    assert trajectory.error["type"] == "GatewayLostError"
    assert "The gateway refused 1 connections" in trajectory.error["message"]


@pytest.mark.slow
def test_an_endpoint_without_tokens_has_turns_to_read_and_none_to_train_on(
    env, engine, start_gateway
):
    gateway = start_gateway(engine.url, engine={"kind": "openai"})
    player = Player(recipe=find_recipe("python-loop"), gateway=gateway.admin, name="loop")
    trajectory = player.play(env)
    assert (trajectory.episode_return, len(trajectory.turns)) == (1.0, 2)
    assert trajectory.tokens() == []


def test_an_environment_without_a_machine_is_refused(gateway):
    import gem_core

    player = Player(recipe=find_recipe("python-loop"), gateway=gateway.admin, name="loop")
    env = gem_core.make("game:GuessTheNumber-v0-easy")
    with pytest.raises(ConfigError, match="has no instruction, machine"):
        player.play(env)


@pytest.mark.slow
def test_nothing_leaks_between_episodes_that_run_at_the_same_time(provider, tasks, gateway):
    import gem_core

    look = "import glob; print(glob.glob('/home/*/*'), glob.glob('/app/*')); open('/app/left', 'w')"
    player = Player(recipe=asking(look), gateway=gateway.admin, name="loop")

    def make():
        return gem_core.make("terminal:Harbor", data=str(tasks), machine=provider)

    found = list(play_episodes(player, make, episodes=4, samples=2, jobs=2, seed=1))
    assert sorted((one.index, one.group, one.sample) for one in found) == [
        (index, index // 2, index % 2) for index in range(4)
    ]
    assert {one.turns[-1].info["program"]["stdout"] for one in found} == {"[] []\n"}
    assert len({one.seed for one in found}) == 2


@pytest.mark.slow
def test_the_programs_are_killed_when_the_caller_stops(provider, tasks, gateway):
    import gem_core

    hang = asking("import time", "time.sleep(1000)")
    quick = asking()
    recipes = iter([quick, hang, hang, hang])
    machines = []

    class Some(Player):
        def _run(self, task, episode):
            machines.append(task.machine)
            return Player(recipe=next(recipes), gateway=self.gateway, name="x")._run(task, episode)

    player = Some(recipe=quick, gateway=gateway.admin, name="loop")
    episodes = play_episodes(
        player,
        lambda: gem_core.make("terminal:Harbor", data=str(tasks), machine=provider),
        episodes=4,
        jobs=2,
    )
    next(episodes)
    episodes.close()
    for machine in machines:
        with pytest.raises(Exception, match="closed"):
            machine.processes()


def test_numbers_below_one_are_refused(gateway):
    player = Player(recipe=find_recipe("python-loop"), gateway=gateway.admin, name="loop")
    with pytest.raises(ConfigError, match="jobs must be at least 1; got 0"):
        next(play_episodes(player, lambda: None, episodes=1, jobs=0))
