"""The example in one file has the gradient of the trainer, and trains."""

import sys
from pathlib import Path

import pytest
import torch
import transformers
from models import generator, learner_of
from plays import episode_of, turn_of

import gem_core
from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.batch import batch_of
from gem_train.policy import Policy
from gem_train.transitions import transitions_of

EXAMPLES = Path(__file__).parents[3] / "examples"
sys.path.insert(0, str(EXAMPLES))

import train_minimal  # noqa: E402 - of the examples

pytestmark = pytest.mark.slow

GAME = "game:GuessTheNumber-v0-easy"
MOST = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def as_trajectories(turns):
    """The same turns as trajectories, for the trainer."""
    episodes = {}
    for turn in turns:
        made = turn_of(turn.prompt, turn.response, None, turn.reward, extends=False)
        episodes.setdefault((turn.episode, turn.group), []).append(made)
    return [episode_of(made, index, group=group) for (index, group), made in episodes.items()]


@pytest.mark.parametrize("algorithm", ["rebn", "grpo"])
def test_the_example_has_the_gradient_of_the_trainer(folder, algorithm):
    """In double precision, on episodes that the example itself has played."""
    policy = Policy.load(folder, device="cpu")
    policy.model.double()
    torch.manual_seed(1)
    turns = []
    with gem_core.make(GAME) as env:
        for episode in range(8):
            options = {"seed": episode // 4, "episode": episode, "group": episode // 4}
            turns += train_minimal.play(
                env, policy.model, policy.tokenizer, max_tokens=MOST, **options
            )
    for number, turn in enumerate(turns):  # a model that has learned nothing has equal returns
        turn.reward += number % 3
    advantages = train_minimal.ALGORITHMS[algorithm](turns)
    weights = train_minimal.weights(turns, algorithm, MOST)
    loss = train_minimal.add_gradients(policy.model, turns, advantages, weights)
    mine = {name: one.grad.clone() for name, one in policy.model.named_parameters()}

    optim = {"max_grad_norm": 1e9, "lr": 1e-12}
    learner = learner_of(
        policy, algorithm, loss={"id": "reinforce"}, optim=optim, sampling={"max_new_tokens": MOST}
    )
    batch = batch_of(transitions_of(as_trajectories(turns)), rows="turns", dtype=torch.float64)
    result = learner.learn(batch, generator())
    assert result.advantages == pytest.approx(advantages, rel=1e-6)
    assert result.metrics["train/loss"] == pytest.approx(loss, rel=1e-6)
    largest = max(one.abs().max() for one in mine.values())
    assert largest > 1e-4
    for name, one in policy.model.named_parameters():
        torch.testing.assert_close(one.grad, mine[name], rtol=1e-6, atol=1e-6 * float(largest))


class Odd(gem_core.BaseEnv):
    """Two turns; the reward of each is 1.0 for an action of odd length."""

    def start(self):
        self.turn = 0
        return "Write something.", {}

    def step(self, action):
        self.turn += 1
        return gem_core.Step("Go on.", float(len(action) % 2), self.turn == 2, False, {})


def test_the_example_changes_the_weights(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    before = [one.clone() for one in model.parameters()]
    options = {"groups": 2, "group_size": 4, "max_tokens": 4}
    history = train_minimal.train(model, tokenizer, Odd(), algorithm="rebn", steps=1, **options)
    assert 0 < history[0] < 2
    after = list(model.parameters())
    assert any(not torch.equal(one, other) for one, other in zip(before, after, strict=True))
