"""Training vision-language models: images go from the observation to the gradient."""

from dataclasses import replace

import pytest
import torch
import transformers
from models import GUESS, generator, learner_of, trainer_of
from needs import needs
from rich.console import Console
from vision_models import (
    ARCHITECTURES,
    Colour,
    gemma_policy,
    play,
    rows_factory,
    square,
    vision_policy,
)

from gem_agents.local import LocalAgent
from gem_core.env import BaseEnv, Step
from gem_core.errors import ConfigError
from gem_rollout import Component, Trajectory, collect
from gem_rollout.models.tiny_model import save_tiny_model
from gem_rollout.models.tiny_vision_model import save_tiny_vision_model
from gem_rollout.models.vision import load_with_processor
from gem_train.batch import batch_of, token_batches
from gem_train.config import TrainConfig
from gem_train.critic import Critic
from gem_train.demonstrations import demonstrations
from gem_train.metrics import read_metrics
from gem_train.policy import Policy
from gem_train.sft import sft
from gem_train.sft_config import SFTConfig
from gem_train.trainer import Trainer
from gem_train.transitions import transitions_of

pytestmark = pytest.mark.slow

pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_vision_model(tmp_path_factory.mktemp("vision"), layers=2)


@pytest.fixture(params=ARCHITECTURES, scope="module")
def policy(request, tmp_path_factory):
    return vision_policy(request.param, tmp_path_factory.mktemp("model"))


@pytest.fixture
def llava(folder):
    return Policy.load(folder, device="cpu")


@torch.no_grad()
def logprobs_of(policy, batch):
    return policy.logprobs(batch)


@pytest.mark.parametrize("rows", ["turns", "episodes"])
def test_sampler_and_learner_agree_on_episodes_with_images_in_several_turns(policy, rows):
    episodes = play(policy)
    assert [turn.generation.extends for turn in episodes[0].turns] == [False, True, True]
    shown = {one.turns[0].observation["images"][0] for one in episodes}
    assert len(shown) > 2  # colours and sizes
    batch = batch_of(transitions_of(episodes), rows=rows)
    expected = {"turns": [1, 1, 2], "episodes": [2]}[rows]
    assert [len(one) for one in batch.images[: len(expected)]] == expected
    assert (logprobs_of(policy, batch) - batch.sampler_logprobs).abs().max() < 1e-4


def test_log_probabilities_and_gradients_are_those_of_the_model_itself(policy):
    """The reference gives each whole chat to the processor, and its tensors to the model."""
    batch = batch_of(transitions_of(play(policy, turns=1)), rows="episodes")
    weights = torch.randn(batch.ids.shape, generator=generator())

    def gradients(loss):
        policy.model.zero_grad()
        loss.backward()
        named = policy.model.named_parameters()
        return {name: one.grad.clone() for name, one in named if one.grad is not None}

    found = policy.logprobs(batch)
    expected = torch.stack([_reference(policy, batch, row) for row in range(len(batch.ids))])
    assert found.detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5)
    ours, plain = gradients((weights * found).sum()), gradients((weights * expected).sum())
    assert any("vis" in name and one.abs().max() > 1e-3 for name, one in plain.items())
    assert ours.keys() == plain.keys()
    for name, one in plain.items():
        assert (ours[name] - one).abs().max() <= 1e-5 * max(1.0, float(one.abs().max())), name


def _reference(policy, batch, row):
    """The log-probabilities of a row by a plain call of the model, (L,)."""
    message = {"role": "user", "content": [{"type": "text", "text": "Which? "}, {"type": "image"}]}
    text = policy.processor.apply_chat_template([message], add_generation_prompt=True)
    images = [image.open() for image in batch.images[row]]
    inputs = policy.processor(text=[text], images=[images], return_tensors="pt")
    prompt, length = inputs["input_ids"].shape[1], int(batch.lengths[row])
    assert batch.ids[row, :prompt].tolist() == inputs["input_ids"][0].tolist()
    inputs["input_ids"] = batch.ids[row : row + 1, :length]
    for name in ("attention_mask", "mm_token_type_ids"):
        if name in inputs:
            more = torch.full((1, length - prompt), int(name == "attention_mask"))
            inputs[name] = torch.cat([inputs[name], more], dim=1)
    if "mm_token_type_ids" not in policy.vision._arguments:
        inputs.pop("mm_token_type_ids", None)
    logits = policy.model(**inputs, use_cache=False).logits[0]
    logits[:, policy.vision.never_sampled] = -torch.inf
    scores = logits[:-1].log_softmax(-1).gather(1, batch.ids[row, 1:length, None])[:, 0]
    found = scores.new_zeros(batch.ids.shape[1])
    return found.index_put((torch.arange(prompt, length),), scores[prompt - 1 :])


def test_rows_with_and_without_images_can_be_read_together(policy):
    class Text(BaseEnv):
        def start(self):
            return "Say a word.", {}

        def step(self, action):
            return Step("", 0.0, True, False, {})

    episodes = [*play(policy, turns=1, episodes=4), *play(policy, make=Text, episodes=4)]
    for number, one in enumerate(episodes):
        one.index = number
    batch = batch_of(transitions_of(episodes), rows="episodes")
    assert sorted({len(one) for one in batch.images}) == [0, 1]
    together = logprobs_of(policy, batch)
    assert (together - batch.sampler_logprobs).abs().max() < 1e-4
    for rows in token_batches(batch, 100):
        part = batch.select(rows)
        alone = logprobs_of(policy, part)
        assert (together[rows, : alone.shape[1]] - alone).abs().max() < 1e-4
    without = batch.select(torch.tensor([n for n, one in enumerate(batch.images) if not one]))
    assert without.images is None


def test_another_image_gives_other_log_probabilities(policy):
    batch = batch_of(transitions_of(play(policy, turns=1)), rows="episodes")
    before = logprobs_of(policy, batch)
    width = batch.images[0][0].open().width
    swapped = replace(batch, images=([square("green", width)], *batch.images[1:]))
    after = logprobs_of(policy, swapped)
    assert (before[0] - after[0]).abs().max() > 1e-3
    assert (before[1:] - after[1:]).abs().max() < 1e-4


def test_tokens_of_images_are_never_sampled(llava):
    """The model prefers them to all others, and neither sampler nor learner lets it."""
    head = llava.model.get_output_embeddings()
    with torch.no_grad():
        head.weight.mul_(0)
        head.bias = torch.nn.Parameter(torch.zeros(len(head.weight)))
        head.bias[llava.vision.image_id] = 50.0
    policy = Policy(llava.model, llava.processor)
    episodes = play(policy, turns=2)
    sampled = {
        one for episode in episodes for turn in episode.turns for one in turn.generation.token_ids
    }
    assert llava.vision.image_id not in sampled
    batch = batch_of(transitions_of(episodes))
    assert (logprobs_of(policy, batch) - batch.sampler_logprobs).abs().max() < 1e-4


def test_words_of_others_are_not_images(llava):
    class Quoting(BaseEnv):
        def start(self):
            return {"text": "<image> What is <image>?", "images": [square("red")]}, {}

        def step(self, action):
            return Step("", 0.0, True, False, {})

    (episode,) = play(llava, make=Quoting, episodes=1)
    ids = episode.turns[0].generation.prompt_ids
    assert ids.count(llava.vision.image_id) == llava.vision.tokens_of(square("red"))
    assert "What is [image]?" in llava.tokenizer.decode(ids)


def test_images_survive_a_trajectory_file(llava):
    import json

    episode = play(llava, turns=3)[0]
    text = json.dumps(episode.to_dict(), default=lambda one: one.to_json())
    read = batch_of(transitions_of([Trajectory.from_dict(json.loads(text))]), rows="episodes")
    assert read.images == batch_of(transitions_of([episode]), rows="episodes").images


def test_a_critic_sees_the_image(llava):
    critic = Critic(llava)
    torch.nn.init.normal_(critic.head.weight)
    batch = batch_of(transitions_of(play(llava, turns=1)), rows="episodes")
    swapped = replace(batch, images=([square("green")], *batch.images[1:]))
    with torch.no_grad():
        before, after = critic(batch), critic(swapped)
    state = int((batch.turn_of[0] >= 0).int().argmax()) - 1
    assert before[0, state] != pytest.approx(float(after[0, state]), abs=1e-4)


@pytest.mark.parametrize("algo", ["rebn", "grpo", "ppo"])
def test_a_step_raises_what_was_rewarded_and_lowers_the_rest(llava, algo):
    batch = batch_of(transitions_of(play(llava, turns=1)), rows="episodes")
    batch = replace(batch, reward=torch.tensor([1.0, 0.0] * (len(batch.reward) // 2)))
    before = logprobs_of(llava, batch).sum(-1)
    learner = learner_of(llava, algo, optim={"lr": 3e-4})
    found = learner.learn(batch, generator())
    assert found.metrics["train/sampler_gap"] < 1e-4
    advantages = torch.tensor(found.advantages)
    change = logprobs_of(llava, batch).sum(-1) - before
    assert (change * advantages).sum() > 0


def test_adapters_learn_from_images(folder):
    needs("peft")
    policy = Policy.load(folder, device="cpu", lora={"r": 2})
    batch = batch_of(transitions_of(play(policy, turns=1)), rows="episodes")
    assert (logprobs_of(policy, batch) - batch.sampler_logprobs).abs().max() < 1e-4
    policy.logprobs(batch).sum().backward()
    assert all(one.grad is not None for one in policy.parameters())


def test_a_saved_policy_has_its_processor(llava, folder, tmp_path):
    llava.save(tmp_path)
    again = Policy.load(tmp_path, device="cpu")
    batch = batch_of(transitions_of(play(llava, turns=1)), rows="episodes")
    assert torch.equal(logprobs_of(llava, batch), logprobs_of(again, batch))
    assert isinstance(transformers.AutoProcessor.from_pretrained(tmp_path), type(llava.processor))


def test_a_run_on_rows_with_images_can_be_resumed_from_its_checkpoint(folder, tmp_path):
    def trainer(steps, out, *, resume=False):
        config = {
            "model": folder,
            "device": "cpu",
            "threads": 1,
            "steps": steps,
            "algo": {"id": "grpo"},
            "loss": {"entropy": 0.01},  # an update although all returns are 0
            "rollout": {"episodes": 8, "group_size": 4},
            "sampling": {"max_new_tokens": 4, "cut_is_invalid": False},
            "log": {"plot": False},
            "progress": "off",
            "checkpoint": {"every": 1},
        }
        sources = {"visual": Component(rows_factory())}
        made = Trainer(
            TrainConfig(**config), sources, out, resume=resume, console=Console(quiet=True)
        )
        made.train()
        return made

    whole = trainer(3, _folder(tmp_path / "whole"))
    trainer(2, _folder(tmp_path / "parts"))
    again = trainer(3, tmp_path / "parts", resume=True)
    steps, gaps = read_metrics(tmp_path / "whole" / "metrics.csv")["train/sampler_gap"]
    assert steps == [1, 2, 3]
    assert max(gaps) < 1e-4
    for name, one in whole.policy.trained_state().items():
        assert torch.equal(one, again.policy.trained_state()[name]), name
    for saved in ("checkpoints/000003", "model"):
        _, processor = load_with_processor(tmp_path / "parts" / saved, {})
        assert processor.image_processor is not None


def _folder(path):
    path.mkdir()
    return path


def test_a_model_learns_to_tell_what_only_the_image_shows(folder, tmp_path):
    """Success began at a half and reached 0.95 or more after 20 steps with each of 3 seeds."""
    config = TrainConfig(
        model=folder,
        device="cpu",
        threads=1,
        steps=25,
        algo={"id": "rebn"},
        rollout={"episodes": 64, "concurrency": 64},
        sampling={"max_new_tokens": 1, "cut_is_invalid": False},
        optim={"lr": 1e-2},
        log={"plot": False},
        progress="off",
        checkpoint={"every": 0},
    )
    trainer = Trainer(config, {"colour": Component(Colour)}, tmp_path, console=Console(quiet=True))
    trainer.train()
    _, success = read_metrics(tmp_path / "metrics.csv")["rollout/success"]
    assert sum(success[:2]) / 2 < 0.7
    assert sum(success[-5:]) / 5 > 0.8


def test_a_model_of_text_is_not_given_images(tmp_path, folder):
    text = save_tiny_model(tmp_path / "text")
    agent = LocalAgent(model=text, device="cpu", max_new_tokens=2)
    (episode,) = collect(Colour, lambda: agent, episodes=1)
    assert "'" + text + "' is given text only" in episode.error["message"]
    assert "vision-language model" in episode.error["message"]
    batch = batch_of(transitions_of(play(Policy.load(folder, device="cpu"), turns=1)))
    with pytest.raises(ConfigError, match="the policy reads text only"):
        Policy.load(text, device="cpu").logprobs(batch)


def test_a_model_whose_image_tokens_look_ahead_is_refused():
    vision = gemma_policy().vision
    assert vision.encode("A word.", [])
    with pytest.raises(ConfigError, match=r"Gemma3ForConditionalGeneration.*causal attention"):
        vision.encode("<start_of_image> A word.", [square("red")])


def test_a_vision_language_model_plays_and_learns_games_of_text(folder, tmp_path):
    algo = {"id": "reinforce"}  # learns from equal returns too
    trainer = trainer_of(folder, tmp_path, envs=(GUESS,), steps=1, algo=algo)
    trainer.train()
    assert trainer.metrics["train/sampler_gap"] < 1e-4


def test_demonstrations_show_the_images_that_they_are_imitated_with(llava):
    shown = demonstrations(
        rows_factory(), llava.tokenizer, episodes=6, vision=llava.vision, context=512
    )
    episodes = list(shown)
    batch = batch_of(transitions_of(episodes), rows="episodes")
    assert [len(one) for one in batch.images] == [1] * 6
    losses = []
    config = SFTConfig(steps=12, batch_size=6, lr=1e-2, warmup_steps=0, held_out=0)
    sft(llava, episodes, config, lambda _, figures: losses.append(figures["train/loss"]))
    assert losses[-1] < losses[0] / 2
