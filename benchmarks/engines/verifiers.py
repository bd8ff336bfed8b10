"""verifiers: its ``eval`` in process, with a harness that takes the turns in process as well.

Its own harnesses start a process for each episode. The cheapest that its contract allows asks the
endpoint that verifiers puts before the model, from here; so verifiers keeps its trace of each call.
"""
# mypy: ignore-errors
# verifiers is not installed where mypy runs.

import asyncio
import os
import sys

import aiohttp
import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig
from workload import REPLY, message

__all__ = ["TalkHarness", "TalkTaskset", "play"]

_ID = "talk_of_benchmark"
sys.modules[_ID] = sys.modules[__name__]  # verifiers finds parts by the names of top-level modules
_sessions = {}


class _Data(vf.TaskData):
    info: dict


class _Task(vf.Task[_Data, vf.State, vf.TaskConfig]):
    @vf.reward
    async def said(self, trace):
        return float(trace.branches[-1].messages[-1].content == REPLY)


class TalkConfig(vf.TasksetConfig):
    episodes: int = 1
    lengths: list[int] = [1]


class TalkTaskset(vf.Taskset[_Task, TalkConfig]):
    """One task for each episode."""

    def load(self):
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

    async def launch(  # noqa: PLR0913 - as verifiers calls it
        self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, tool_interception_url=None
    ):
        session, messages = _sessions["http"], []
        number, turns = data.info["number"], data.info["turns"]
        for turn in range(1, turns + 1):
            messages.append({"role": "user", "content": message(number, turn, turns)})
            async with session.post(
                f"{endpoint}/chat/completions",
                json={"model": ctx.model, "messages": messages},
                headers={"Authorization": f"Bearer {secret}"},
            ) as response:
                response.raise_for_status()
                answer = await response.json()
            said = answer["choices"][0]["message"]["content"]
            messages.append({"role": "assistant", "content": said})
        return vf.ProgramResult(0, "", "")


def play(workload):
    """Play the episodes; ``out`` holds what verifiers can resume."""
    os.environ["TALK_KEY"] = "any"
    lengths = [workload.turns_of(number) for number in range(12)]
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
            "push": False,
            "rich": None,
        }
    )
    asyncio.run(_play(config))


async def _play(config):
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as _sessions["http"]:
        await run_eval(config)
