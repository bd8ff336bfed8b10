"""What the progress of an evaluation says of cost, retries, and the time that is left."""

import io
import re
import time

import pytest
from rich.console import Console

from gem_agents.testing.endpoint_server import EndpointServer
from gem_core.agent import Generation
from gem_eval.progress import Progress, Tally


def lines(tallies, episodes, elapsed):
    """Return the lines about episodes that were played in some seconds."""
    written = io.StringIO()
    with Progress(Console(file=written, width=200), tallies, "lines", 0.95) as progress:
        progress._started = time.monotonic() - elapsed
        for tally, one in episodes:
            progress.add(tally, one)
    return written.getvalue().splitlines()


@pytest.fixture
def played(episode):
    """Return a function that makes an episode of some seconds."""

    def make(env_id, index, seconds, **fields):
        one = episode(env_id=env_id, group=index, generation=Generation(**fields))
        one.env_seconds = one.setup_seconds = one.agent_seconds = one.queue_seconds = 0.0
        one.model_seconds = seconds
        return one

    return make


def test_the_time_left_is_that_of_the_environments_that_are_left(played):
    """Four of 1 s have ended, and two of 10 s; four of 10 s are left: 40 s, and not 16."""
    fast, slow = Tally("fast", "a", 4), Tally("slow", "a", 6)
    episodes = [(slow, played("slow", index, 10.0)) for index in range(2)]
    episodes += [(fast, played("fast", index, 1.0)) for index in range(4)]
    (line,) = lines([fast, slow], episodes, 24.0)
    assert re.search(r"fast a: 4/4 episodes.* 0:00:(39|40) left", line)


def test_what_was_played_before_counts_for_the_length_and_not_for_the_speed(played):
    tally = Tally("slow", "a", 8)
    for index in range(4):
        tally.add(played("slow", index, 10.0))
    others = Tally("fast", "a", 2)
    episodes = [(others, played("fast", index, 1.0)) for index in range(2)]
    (line,) = lines([tally, others], episodes, 1.0)  # two at the same time
    assert re.search(r" 0:00:(19|20) left", line)


def test_cost_and_retries_are_summed(played):
    tally = Tally("x", "a", 2)
    episodes = [(tally, played("x", index, 1.0, cost=0.0125, attempts=3)) for index in range(2)]
    (line,) = lines([tally], episodes, 1.0)
    assert "cost 0.025, 4 retries" in line


@pytest.mark.slow
def test_the_calls_in_flight_are_shown(tmp_path, gem):
    with EndpointServer(r"\boxed{5}", latency=0.05) as server:
        words = ["agent=openai", "agent.model=m", f"agent.base_url={server.url}", "concurrency=4"]
        envs = [f"game:GuessTheNumber-v0-{level}" for level in ("easy", "hard")]
        done = gem("eval", *envs, *words, "episodes=5", cwd=tmp_path)
    assert re.search(r"5/5 episodes.* [1-4] calls? in flight", done.stderr)
