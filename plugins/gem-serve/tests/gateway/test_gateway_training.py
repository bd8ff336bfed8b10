"""From an agent program to a step of training: what is recorded is what the learner computes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gem_serve.gateway.testing.checks import differences
from gem_serve.gateway.testing.engine import TestEngine, adding
from gem_serve.gateway.testing.http import post

torch = pytest.importorskip("torch")
gem_train = pytest.importorskip("gem_train")

SAMPLES = 4
TOOL = {"type": "function", "name": "add", "parameters": {"type": "object"}}


class ModelEngine(TestEngine):
    """An engine whose log-probabilities are those of a model."""

    model: Any = None

    def _sample(self, body: dict[str, Any], prompt: list[int]) -> Any:
        sample = super()._sample(body, prompt)
        with torch.no_grad():
            ids = torch.tensor([[*sample.prompt_ids, *sample.ids]])
            found = self.model(input_ids=ids).logits[0].log_softmax(-1)
        places = range(len(sample.prompt_ids) - 1, ids.shape[1] - 1)
        sample.logprobs = [
            float(found[at, one]) for at, one in zip(places, sample.ids, strict=True)
        ]
        return sample


@pytest.fixture
def policy(tmp_path: Any) -> Any:
    from gem_rollout.models.tiny_model import save_tiny_model
    from gem_train.policy import Policy

    return Policy.load(save_tiny_model(tmp_path / "model"), device="cpu")


@pytest.fixture
def engine(policy: Any) -> Iterator[ModelEngine]:
    with ModelEngine(policy.tokenizer, adding, chunk=4) as started:
        started.model = policy.model
        yield started


def play_like_codex(episode: Any) -> None:
    """Stream responses, run the calls, and send all items but the reasoning back."""
    items: list[Any] = [{"role": "user", "content": "What is 0 + 1 + 2?"}]
    while True:
        body = {"model": "m", "instructions": "Work.", "input": items, "tools": [TOOL]}
        answer = post(f"{episode.openai_url}/responses", {**body, "stream": True})
        output = answer.events[-1]["response"]["output"]
        items += [one for one in output if one["type"] != "reasoning"]
        calls = [one for one in output if one["type"] == "function_call"]
        for one in calls:
            given = json.loads(one["arguments"])
            result = {"type": "function_call_output", "call_id": one["call_id"]}
            items.append({**result, "output": str(sum(given.values()))})
        if not calls:
            return


@pytest.mark.parametrize("mode", ["engine", "continue"])
def test_a_group_of_episodes_of_a_program_is_a_grpo_step(
    mode: str, policy: Any, engine: ModelEngine, start_gateway: Callable[..., Any]
) -> None:
    from gem_train.batch import batch_of
    from gem_train.config import TrainConfig
    from gem_train.learner import Learner
    from gem_train.parts import parts_of
    from gem_train.transitions import transitions_of

    gateway = start_gateway(engine.url)
    trajectories = []
    for sample in range(SAMPLES):
        episode = gateway.admin.create(mode=mode, seed=5, index=sample, sample=sample)
        play_like_codex(episode)
        trajectories.append(gateway.admin.close(episode.episode, reward=float(sample % 2)))
    assert differences(trajectories, engine.log) == []
    transitions = transitions_of(trajectories)
    batch = batch_of(transitions, rows="episodes")
    assert len(batch.ids) == SAMPLES * (1 if mode == "continue" else 3)
    assert int(batch.mask.sum()) == sum(len(one.ids) for one in engine.log)
    assert set(batch.group.tolist()) == {0}
    config = TrainConfig(model="tiny", algo={"id": "grpo"}, optim={"lr": 1e-3})
    parts = parts_of(config)
    learner = Learner(policy, parts.algorithm, parts.loss, config, parts.shapers)
    before = {name: one.clone() for name, one in policy.trained_state().items()}
    result = learner.learn(batch, torch.Generator().manual_seed(0))
    assert result.metrics["train/sampler_gap"] < 1e-3
    after = policy.trained_state()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    signs: dict[int, set[bool]] = {0: set(), 1: set()}
    for transition, advantage in zip(transitions, result.advantages, strict=True):
        signs[transition.episode % 2].add(advantage > 0)
    assert signs == {0: {False}, 1: {True}}
