"""verifiers plays our environments: its own ``run_eval``, with an endpoint on this machine."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "verifiers.v1", reason="verifiers is not installed: pip install 'gem-adapters[verifiers]'"
)

from aiohttp import web
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from gem_core.agent import BaseAgent
from gem_core.errors import ConfigError, UnknownIdError, UnknownKwargError
from gem_core.observation import visible_text
from gem_rollout import RowEnvs, env_rows

pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # verifiers and its packages warn about themselves

GAME = "conformance:Game"


def reply_to(conversation: list[str]) -> str:
    """Return the scripted reply: a digit that the conversation decides."""
    return f" {sum(map(len, conversation)) % 10}\n"


class Endpoint:
    """An OpenAI-compatible endpoint with a scripted model."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.fails_in_turn = 0

    async def reply(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        texts = [message["content"] for message in body["messages"] if message["role"] != "system"]
        if self.fails_in_turn and len(texts) >= 2 * self.fails_in_turn - 1:
            return web.json_response({"error": {"message": "no such model"}}, status=400)
        message = {"role": "assistant", "content": reply_to(texts)}
        return web.json_response(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
            }
        )


class Scripted(BaseAgent):
    """Plays the replies of the endpoint."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def act(self, observation: Any, info: Any) -> str:
        self.said.append(visible_text(observation, info))
        text = reply_to(self.said)
        self.said.append(text)
        return text


class Played:
    """Runs evaluations of verifiers in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.endpoint = Endpoint()

    def __call__(
        self,
        *,
        count: int = 1,
        rollouts: int = 1,
        agent: dict[str, Any] | None = None,
        **taskset: Any,
    ) -> list[Any]:
        return asyncio.run(self._run(count, rollouts, agent or {}, taskset))

    async def _run(
        self, count: int, rollouts: int, agent: dict[str, Any], taskset: dict[str, Any]
    ) -> list[Any]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self.endpoint.reply)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            config = EvalConfig.model_validate(
                {
                    "env": {"taskset": {"id": "gem-adapters", **taskset}, "agent": agent},
                    "model": "scripted",
                    "client": {
                        "base_url": f"http://127.0.0.1:{runner.addresses[0][1]}/v1",
                        "api_key_var": "SCRIPTED_KEY",
                    },
                    "select": {"limit": count},
                    "num_rollouts": rollouts,
                    "output_dir": self.folder,
                    "push": False,
                    "rich": None,
                }
            )
            return await run_eval(config)
        finally:
            await runner.cleanup()


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    monkeypatch.setenv("SCRIPTED_KEY", "any")
    monkeypatch.setenv("VF_RUN_ID", "")
    return Played(tmp_path)


def record_of(episode: Any) -> Any:
    return episode.traces[0].info["gem"]


@pytest.mark.parametrize("env", [GAME, "conformance:Turns", "conformance:Asynchronous"])
def test_the_rewards_of_16_episodes_are_those_of_our_own_loop(evaluate: Played, env: str) -> None:
    found = evaluate(env=env, seed=3, count=16)
    assert len(found) == 16
    envs = RowEnvs()
    for episode in found:
        index = episode.traces[0].task.data.index
        row = env_rows(env, 16, seed=3)[index]
        expected = asyncio.run(envs.play(row, Scripted()))
        record = record_of(episode)
        assert episode.ok
        assert record["rewards"] == [turn.reward for turn in expected.turns]
        assert record["terminated"] == expected.turns[-1].terminated
        assert record["truncated"] == expected.turns[-1].truncated
        assert episode.traces[0].reward == pytest.approx(expected.episode_return)
        assert episode.traces[0].metrics["turns"] == len(expected.turns)


def test_the_samples_of_a_task_have_the_same_start(evaluate: Played) -> None:
    found = evaluate(env=GAME, count=2, rollouts=3)
    openings: dict[int, set[str]] = {}
    for episode in found:
        (trace,) = episode.traces
        openings.setdefault(trace.task.data.index, set()).add(trace.messages[0].content)
    assert [len(texts) for texts in openings.values()] == [1, 1]
    assert len(set.union(*openings.values())) == 2


@pytest.mark.parametrize("reward", ["sum", "discounted", "last"])
def test_the_reward_of_an_episode_can_be_chosen(evaluate: Played, reward: str) -> None:
    task = {"reward": reward, "gamma": 0.5}
    (episode,) = evaluate(env="conformance:Turns", task=task)
    rewards = record_of(episode)["rewards"]
    expected = {
        "sum": sum(rewards),
        "discounted": sum(value * 0.5**turn for turn, value in enumerate(rewards)),
        "last": rewards[-1],
    }
    assert episode.traces[0].reward == pytest.approx(expected[reward])


def test_wrappers_are_composed(evaluate: Played) -> None:
    (episode,) = evaluate(env=GAME, config=["wrappers=[concat]"])
    users = [one.content for one in episode.traces[0].messages if one.role == "user"]
    assert len(users) > 1
    assert users[0].splitlines()[0] in users[1]


def test_a_system_message_reaches_the_model(evaluate: Played, tmp_path: Path) -> None:
    file = tmp_path / "system.txt"
    file.write_text("Play well.")
    evaluate(env=GAME, system_prompt=str(file))
    for asked in evaluate.endpoint.asked:
        systems = [one["content"] for one in asked["messages"] if one["role"] == "system"]
        assert systems == ["Play well."]


def test_the_limit_of_verifiers_truncates_an_episode(evaluate: Played) -> None:
    (episode,) = evaluate(env="conformance:Turns", agent={"max_turns": 2})
    record = record_of(episode)
    assert (len(record["rewards"]), record["truncated"], record["terminated"]) == (2, True, False)
    assert episode.ok
    assert episode.traces[0].reward == pytest.approx(sum(record["rewards"]))


class TestFaults:
    def test_an_error_of_the_environment_is_an_error_of_the_episode(self, evaluate: Played) -> None:
        found = evaluate(env="conformance:Failing", count=3)
        for episode in found:
            assert not episode.ok
            assert "The environment failed in turn 2." in episode.errors[-1].message
            assert episode.traces[0].rewards == {}

    def test_a_missed_deadline_is_an_error_of_the_episode(self, evaluate: Played) -> None:
        (episode,) = evaluate(env="conformance:Hanging", turn_deadline=1.0)
        assert not episode.ok
        assert "DeadlineError" in episode.errors[-1].message

    @pytest.mark.parametrize("turn", [1, 2])
    def test_an_error_of_the_endpoint_is_an_error_of_the_episode(
        self, evaluate: Played, turn: int
    ) -> None:
        evaluate.endpoint.fails_in_turn = turn
        (episode,) = evaluate(env="conformance:Turns")
        assert not episode.ok
        assert episode.traces[0].errors

    @pytest.mark.parametrize(
        ("taskset", "error", "words"),
        [
            ({}, ConfigError, "No environment"),
            ({"env": "conformance:Gane"}, UnknownIdError, "conformance:Gane"),
            ({"env": GAME, "env_kwargs": {"labbel": ""}}, UnknownKwargError, "labbel"),
            ({"env": GAME, "config": ["tools=[pyton]"]}, ConfigError, "pyton"),
            ({"env": "conformance:TwoAgents"}, ConfigError, "several agents"),
        ],
    )
    def test_bad_input_is_an_error_before_the_first_request(
        self, evaluate: Played, taskset: Any, error: type[Exception], words: str
    ) -> None:
        with pytest.raises(error, match=words):
            evaluate(**taskset)
        assert evaluate.endpoint.asked == []


def test_the_package_imports_no_framework() -> None:
    code = "import sys, gem_adapters; sys.exit('verifiers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
