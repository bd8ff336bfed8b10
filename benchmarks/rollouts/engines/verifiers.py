"""verifiers: its ``eval`` in process, with a harness that takes the turns in process as well.

Its own harnesses start a process for each episode. The cheapest that its contract allows asks the
endpoint that verifiers puts before the model, from here; so verifiers keeps its trace of each call.
"""
# mypy: ignore-errors
# verifiers is not installed where mypy runs.

import asyncio
import os
import sys
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import aiohttp
import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from rollouts.workload import LENGTHS, REPLY, Message, Workload, message

__all__ = ["TalkHarness", "TalkTaskset", "play"]

_ID = "talk_of_benchmark"
_ATTEMPTS = 3
sys.modules[_ID] = sys.modules[__name__]  # verifiers finds parts by the names of top-level modules
_sessions: dict[str, aiohttp.ClientSession] = {}


class _Data(vf.TaskData):
    info: dict


class _Task(vf.Task[_Data, vf.State, vf.TaskConfig]):
    @vf.reward
    async def said(self, trace: Any) -> float:
        return float(trace.branches[-1].messages[-1].content == REPLY)


class TalkConfig(vf.TasksetConfig):
    episodes: int = 1
    lengths: tuple[int, ...] = (1,)


class TalkTaskset(vf.Taskset[_Task, TalkConfig]):
    """One task for each episode."""

    def load(self) -> Iterator[_Task]:
        lengths = self.config.lengths
        for number in range(self.config.episodes):
            turns = lengths[number % len(lengths)]
            data = _Data(
                name=str(number),
                prompt=message(number, 1, turns),
                info={"number": number, "turns": turns},
            )
            yield _Task(data, self.config.task)


class TalkHarness(vf.Harness[vf.HarnessConfig]):
    """Takes the turns of an episode."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: Any,
        data: _Data,
        tool_interception_url: str | None = None,
    ) -> Any:
        session = _sessions["http"]
        messages: list[Message] = []
        number, turns = data.info["number"], data.info["turns"]
        for turn in range(1, turns + 1):
            messages.append({"role": "user", "content": message(number, turn, turns)})
            body = {"model": ctx.model, "messages": messages}
            answer = await _ask(session, f"{endpoint}/chat/completions", secret, body)
            said = answer["choices"][0]["message"]["content"]
            messages.append({"role": "assistant", "content": said})
        return vf.ProgramResult(0, "", "")


async def _ask(session: aiohttp.ClientSession, url: str, secret: str, body: Any) -> Any:
    """Return an answer; asks again as often, and after such pauses, as the openai SDK would."""
    headers = {"Authorization": f"Bearer {secret}"}
    for attempt in range(_ATTEMPTS):
        async with session.post(url, json=body, headers=headers) as response:
            if response.status == HTTPStatus.OK or attempt == _ATTEMPTS - 1:
                response.raise_for_status()
                return await response.json()
        await asyncio.sleep(0.5 * 2**attempt)
    return None


def play(workload: Workload) -> None:
    """Play the episodes; ``out`` holds what verifiers can resume."""
    os.environ["TALK_KEY"] = "any"
    lengths = LENGTHS if workload.multi_turn else (1,)
    config = EvalConfig.model_validate(
        {
            "env": {
                "taskset": {"id": _ID, "episodes": workload.episodes, "lengths": lengths},
                "agent": {"harness": {"id": _ID}, "runtime": {"type": "subprocess"}},
            },
            "model": "scripted",
            "client": {"base_url": workload.url, "api_key_var": "TALK_KEY"},
            "max_concurrent": workload.concurrency,
            "output_dir": workload.out,
            "run": {"dir": "run"},
            "resume": (workload.out / "run" / "traces.jsonl").exists(),
            "push": False,
            "rich": None,
        }
    )
    asyncio.run(_play(config))


async def _play(config: EvalConfig) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as _sessions["http"]:
        await run_eval(config)
