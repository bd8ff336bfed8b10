"""Faults of the engine, of programs and of their connections."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gem_core.errors import GemError
from gem_rollout import TrajectoryFile, read_trajectories, training_rows
from gem_serve.gateway import call as call_module
from gem_serve.gateway.testing.checks import differences
from gem_serve.gateway.testing.http import opened, post

ASK = [{"role": "user", "content": "What is 0 + 1?"}]
BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": {"model": "m", "messages": ASK},
    "completions": {"model": "m", "prompt": "What is 0 + 1?"},
    "responses": {"model": "m", "input": "What is 0 + 1?"},
    "messages": {"model": "m", "max_tokens": 1000, "messages": ASK},
}
Start = Callable[..., Any]
EACH = pytest.mark.parametrize("kind", ["vllm", pytest.param("sglang", marks=pytest.mark.slow)])
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


def words(_: str) -> str:
    return "some words to say"


def records_of(gateway: Any, episode: Any) -> list[Any]:
    return list(gateway.gateway.episodes[episode.episode].records.calls.values())


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; the time limit of the test ends a wait in vain."""
    while not condition():
        time.sleep(0.01)


@pytest.mark.slow
@EACH
@STREAM
def test_a_refusal_of_the_engine_is_passed_on_in_the_words_of_the_dialect(
    *, stream: bool, play: Any, subtests: pytest.Subtests
) -> None:
    engine, gateway, _ = play()
    for path, body in BODIES.items():
        with subtests.test(path):
            engine.log.clear()
            engine.faults.next[:] = ["503", "429"]
            episode = gateway.admin.create()
            for status in (503, 429):
                answer = post(f"{episode.url}/v1/{path}", {**body, "stream": stream})
                assert answer.status == status
                assert answer.headers["retry-after"] == "0"
                assert f"Scripted status {status}." in answer.json["error"]["message"]
                assert ("type" in answer.json) == (path == "messages")
            assert gateway.admin.status(episode.episode)["calls"]["failed"] == 2
            assert engine.log == []
            assert post(f"{episode.url}/v1/{path}", body).status == 200


@pytest.mark.parametrize("kind", ["vllm"])
def test_a_stream_that_the_engine_breaks_off_has_no_false_end(
    play: Any, subtests: pytest.Subtests
) -> None:
    engine, gateway, _ = play(script=lambda _: "a long reply " * 5)
    for path, body in BODIES.items():
        with subtests.test(path):
            engine.log.clear()
            engine.faults.next[:] = ["cut:3"]
            episode = gateway.admin.create()
            with pytest.raises(ConnectionError, match="broken off"):
                post(f"{episode.url}/v1/{path}", {**body, "stream": True})
            until(lambda: gateway.admin.status(episode.episode)["calls"].get("partial") == 1)  # noqa: B023 - called here
            trajectory = gateway.admin.close(episode.episode)
            assert trajectory.turns == []
            assert trajectory.reset_info["gateway"]["left_out"] == {"partial": 1}
            (record,) = records_of(gateway, episode)
            assert record.ids == engine.log[0].ids[:3]


def test_an_answer_that_the_engine_breaks_off_can_be_asked_for_again(play: Any) -> None:
    engine, gateway, episode = play(faults=["cut"])
    url, body = f"{episode.url}/v1/chat/completions", BODIES["chat/completions"]
    assert post(url, body).status == 502
    assert post(url, body, x_stainless_retry_count="1").status == 200
    assert differences([gateway.admin.close(episode.episode)], engine.log[1:]) == []


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("mode", ["engine", "continue"])
def test_a_context_that_is_too_short_is_told_in_words_that_programs_know(
    mode: str, play: Any, subtests: pytest.Subtests
) -> None:
    _, gateway, _ = play(context=10)
    for path in ("chat/completions", "responses", "messages"):
        with subtests.test(path):
            episode = gateway.admin.create(mode=mode)
            answer = post(f"{episode.url}/v1/{path}", BODIES[path])
            assert answer.status == 400
            error = answer.json["error"]
            if path == "messages":
                assert error["type"] == "invalid_request_error"
                assert error["message"].startswith("prompt is too long")
            else:
                assert error["code"] == "context_length_exceeded"
            (record,) = records_of(gateway, episode)
            assert record.kind == "context"


def test_an_episode_whose_last_call_has_no_room_is_truncated(play: Any) -> None:
    _, gateway, episode = play(context=130)
    url = f"{episode.url}/v1/chat/completions"
    assert post(url, BODIES["chat/completions"]).status == 200
    long = [{"role": "user", "content": "x " * 400}]
    assert post(url, {"model": "m", "messages": long}).status == 400
    (turn,) = gateway.admin.close(episode.episode).turns
    assert turn.truncated
    assert not turn.terminated


@pytest.mark.slow
@EACH
@STREAM
def test_a_reply_without_exact_tokens_is_answered_and_not_trained_on(
    *, stream: bool, play: Any
) -> None:
    problems = {
        "no-ids": "no token ids of the prompt",
        "no-logprobs": "0 log-probabilities",
        "short-logprobs": "log-probabilities",
        "nan": "not a finite number",
    }
    _, gateway, episode = play(faults=list(problems))
    body = {**BODIES["chat/completions"], "stream": stream}
    for _ in problems:
        assert post(f"{episode.url}/v1/chat/completions", body).status == 200
    for record, problem in zip(records_of(gateway, episode), problems.values(), strict=True):
        assert not record.exact
        assert problem in record.problem
    trajectory = gateway.admin.trajectory(episode.episode)
    assert trajectory.turns == []
    assert trajectory.reset_info["gateway"]["left_out"] == {"inexact": 4}
    assert len(gateway.admin.trajectory(episode.episode, inexact="true").turns) == 4


def test_calls_to_other_episodes_are_refused_and_harm_none(play: Any) -> None:
    _, gateway, episode = play(calls=1)
    other = gateway.admin.create()
    url, body = "/v1/chat/completions", BODIES["chat/completions"]
    assert post(f"{gateway.url}/e/nobody{url}", body).status == 404
    assert post(episode.url + url, body).status == 200
    refused = post(episode.url + url, {**body, "max_tokens": 5})
    assert refused.status == 429
    assert "budget of 1 calls" in refused.json["error"]["message"]
    assert refused.headers["x-should-retry"] == "false"
    gateway.admin.close(episode.episode)
    assert post(episode.url + url, body).status == 409
    assert post(other.url + url, body).status == 200
    assert gateway.admin.status(other.episode)["calls"] == {"live": 0, "refused": 0, "done": 1}


@pytest.mark.parametrize("budget", ["tokens", "seconds"])
def test_an_episode_over_its_budget_is_refused(budget: str, play: Any) -> None:
    _, _, episode = play(**{budget: 0})
    answer = post(f"{episode.url}/v1/messages", BODIES["messages"])
    assert answer.status == 429
    assert answer.json["error"]["type"] == "rate_limit_error"


MALFORMED: list[tuple[str, Any, str]] = [
    ("chat/completions", b"{", "not JSON"),
    ("chat/completions", b"[]", "JSON object"),
    ("chat/completions", {}, "messages"),
    ("chat/completions", {"messages": [{"role": "who"}]}, "messages[0].role"),
    ("chat/completions", {"messages": ASK, "n": 2}, "n"),
    ("chat/completions", {"messages": ASK, "tools": [{"type": "web"}]}, "tools[0].type"),
    ("chat/completions", {"messages": ASK, "max_tokens": 0}, "max_tokens"),
    (
        "chat/completions",
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        "messages[0].content[0]",
    ),
    ("completions", {}, "prompt"),
    ("completions", {"prompt": ["a", "b"]}, "prompt"),
    ("responses", {"input": [{"type": "strange"}]}, "input[0].type"),
    ("responses", {"input": "a", "tools": [{"type": "strange"}]}, "tools[0].type"),
    ("responses", {"input": "a", "background": True}, "background"),
    ("responses", {"input": "a", "previous_response_id": "x"}, "previous_response_id"),
    ("messages", {"messages": [{"role": "tool"}]}, "messages[0].role"),
    (
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
        "messages[0].content[0].type",
    ),
    ("messages", {"messages": ASK, "tools": [{"type": "bash_1"}]}, "tools[0].type"),
]


def test_a_malformed_request_is_told_its_field_and_is_recorded(
    play: Any, subtests: pytest.Subtests
) -> None:
    engine, gateway, episode = play()
    for path, body, field in MALFORMED:
        with subtests.test(path, body=body):
            answer = post(f"{episode.url}/v1/{path}", body)
            assert answer.status == 400
            assert field in answer.json["error"]["message"]
    calls = {"live": 0, "refused": len(MALFORMED)}
    assert gateway.admin.status(episode.episode)["calls"] == calls
    assert engine.log == []


def test_models_other_than_the_episodes_are_refused(play: Any) -> None:
    _, _, episode = play(models=["big", "small"])
    answer = post(f"{episode.url}/v1/chat/completions", BODIES["chat/completions"])
    assert answer.status == 404
    assert "big, small" in answer.json["error"]["message"]


class TestAClientThatLeavesEarly:
    def leave(self, engine: Any, episode: Any) -> None:
        """Read the beginning of a stream, and close the connection."""
        engine.held.clear()
        body = {**BODIES["chat/completions"], "stream": True}
        with opened(f"{episode.url}/v1/chat/completions", body) as response:
            assert response.read1()

    def call_of(self, gateway: Any, episode: Any) -> Any:
        (call,) = gateway.gateway.episodes[episode.episode].live.values()
        return call

    def test_a_client_that_leaves_early_ends_its_call_after_a_while(
        self, play: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(call_module, "PATIENCE", 0.01)
        engine, gateway, episode = play(script=words)
        self.leave(engine, episode)
        until(lambda: engine.aborted == 1)
        until(lambda: not gateway.gateway.episodes[episode.episode].live)
        trajectory = gateway.admin.close(episode.episode)
        assert trajectory.reset_info["gateway"]["left_out"] == {"partial": 1}

    @pytest.mark.parametrize("headers", [{"x_stainless_retry_count": "1"}, {}])
    def test_a_client_that_leaves_early_gets_the_same_sample_when_it_comes_back(
        self, headers: dict[str, str], play: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(call_module, "PATIENCE", 60.0)
        engine, gateway, episode = play(script=words)
        self.leave(engine, episode)
        call = self.call_of(gateway, episode)
        until(lambda: call.is_abandoned)
        engine.held.set()
        body = {**BODIES["chat/completions"], "stream": True}
        answer = post(f"{episode.url}/v1/chat/completions", body, **headers)
        assert answer.events[-1] == "[DONE]"
        assert len(engine.log) == 1
        assert differences([gateway.admin.close(episode.episode)], engine.log) == []

    def test_a_client_that_leaves_early_leaves_a_sample_that_is_counted_and_not_trained_on(
        self, play: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(call_module, "PATIENCE", 60.0)
        engine, gateway, episode = play(script=words)
        self.leave(engine, episode)
        call = self.call_of(gateway, episode)
        until(lambda: call.is_abandoned)
        engine.held.set()
        until(lambda: call.is_done)
        assert gateway.admin.status(episode.episode)["undelivered"] == 1
        trajectory = gateway.admin.trajectory(episode.episode)
        assert trajectory.turns == []
        assert trajectory.reset_info["gateway"]["left_out"] == {"undelivered": 1}
        kept = gateway.admin.trajectory(episode.episode, undelivered="true")
        assert differences([kept], engine.log) == []


def test_equal_calls_at_the_same_time_are_two_samples(play: Any) -> None:
    engine, gateway, episode = play(script=words)
    engine.held.clear()
    body = {**BODIES["chat/completions"], "stream": True}
    url = f"{episode.url}/v1/chat/completions"
    with opened(url, body) as one, opened(url, body) as other:
        engine.held.set()
        assert one.read().endswith(b"[DONE]\n\n")
        assert other.read().endswith(b"[DONE]\n\n")
    assert len(engine.log) == 2
    trajectory = gateway.admin.close(episode.episode)
    assert differences([trajectory], engine.log) == []
    assert len(training_rows(trajectory, one_sequence="split")) == 2


def test_the_first_delta_leaves_before_the_engine_has_sent_its_last_piece(play: Any) -> None:
    for mode in ("engine", "continue"):
        engine, _, episode = play(mode=mode, script=words)
        engine.held.clear()
        body = {**BODIES["chat/completions"], "stream": True}
        with opened(f"{episode.url}/v1/chat/completions", body) as response:
            assert b'"content":"' in response.read1()
            assert engine.log[0].sent < len(engine.log[0].ids)
            engine.held.set()
            assert response.read().endswith(b"data: [DONE]\n\n")


@STREAM
def test_text_with_ends_of_lines_of_all_kinds_arrives_whole(*, stream: bool, play: Any) -> None:
    said = "one\x85two\u2028three\u2029four"
    _, _, episode = play(script=lambda _: said, canonical=True)
    body = {**BODIES["chat/completions"], "stream": stream}
    answer = post(f"{episode.url}/v1/chat/completions", body)
    if stream:
        choices = [one["choices"][0]["delta"] for one in answer.events[:-1]]
        assert "".join(one.get("content", "") for one in choices) == said
    else:
        assert answer.json["choices"][0]["message"]["content"] == said


def test_a_disk_that_is_full_fails_the_call_and_not_the_gateway(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, gateway, episode = play(script=words)
    url, body = f"{episode.url}/v1/chat/completions", BODIES["chat/completions"]
    log = gateway.gateway.episodes[episode.episode]._log

    def refuse(_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(log, "write_call", refuse)
        answer = post(url, body)
    assert answer.status == 500
    assert "No space left" in answer.json["error"]["message"]
    assert post(url, {**body, "max_tokens": 50}).status == 200


def test_a_trajectory_that_could_not_be_written_is_written_once_by_the_next_close(
    start_engine: Any, start_gateway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = start_gateway(start_engine(script=words).url, tmp_path)
    episode = gateway.admin.create()
    assert post(f"{episode.url}/v1/chat/completions", BODIES["chat/completions"]).status == 200

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(TrajectoryFile, "append", refuse)
        with pytest.raises(GemError, match="No space left"):
            gateway.admin.close(episode.episode)
    gateway.admin.close(episode.episode)
    gateway.admin.close(episode.episode)
    assert len(list(read_trajectories(tmp_path / "trajectories.jsonl"))) == 1
