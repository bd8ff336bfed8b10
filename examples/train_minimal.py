"""Reinforcement learning of a language model in one file: from an environment to an update.

    python examples/train_minimal.py --model runs/warm/model --algorithm rebn --steps 20

It does what ``gem-core train`` does with one update for each step, without its speed: a response is
sampled token by token, and each turn is read as a row of its own. A turn t of an episode has a
prompt, a response and a reward r_t. All tokens of a response have the advantage of its turn.

    ReBN    G_t = r_t + gamma G_{t+1}     A_t = (G_t - mean(G)) / std(G), over all turns
    GRPO    R = sum of r_t                A = (R - mean(R)) / std(R), over the episodes of a group

    loss = - sum over tokens of  w A log pi(token | prompt and earlier tokens)

The weight w of a token is 1 / (turns * C) with ReBN, where C is the most tokens of a response, and
1 / (episodes * n) with GRPO, where n is the number of tokens of the episode's responses.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-train[torch]' gem-games"):
    import torch
    import transformers

    import gem_core
    from gem_core.env import Env

EPSILON = 1e-9


@dataclass
class Turn:
    """A turn: its token ids, its reward, and where it belongs.

    Args:
        prompt: Token ids of the whole prompt.
        response: Token ids that were sampled.
        reward: The reward of the step.
        episode: Index of the episode.
        group: Index of the group; the episodes of a group share a start state.
    """

    prompt: list[int]
    response: list[int]
    reward: float
    episode: int
    group: int


def play(
    env: Env, model: Any, tokenizer: Any, *, seed: int, episode: int, group: int, max_tokens: int
) -> list[Turn]:
    """Play an episode; each prompt holds the whole conversation."""
    observation, _ = env.reset(seed=seed)
    messages, turns = [{"role": "user", "content": str(observation)}], []
    done = False
    while not done:
        prompt = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_dict=True
        )["input_ids"]
        response = sample(model, prompt, tokenizer.eos_token_id, max_tokens)
        action = tokenizer.decode(response, skip_special_tokens=True)
        observation, reward, terminated, truncated, _ = env.step(action)
        turns.append(Turn(list(prompt), response, float(reward), episode, group))
        messages += [
            {"role": "assistant", "content": action},
            {"role": "user", "content": str(observation)},
        ]
        done = terminated or truncated
    return turns


def sample(model: Any, prompt: Sequence[int], end: int, max_tokens: int) -> list[int]:
    """Sample a response, up to its end token."""
    response: list[int] = []
    while len(response) < max_tokens and response[-1:] != [end]:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*prompt, *response]])).logits[0, -1]
        response.append(int(torch.multinomial(logits.softmax(-1), 1)))
    return response


def rebn(turns: Sequence[Turn], gamma: float = 1.0) -> list[float]:
    """Return the advantage of each turn: its return, standardised over the batch."""
    returns, following, episode = [0.0] * len(turns), 0.0, -1
    for number in reversed(range(len(turns))):
        if turns[number].episode != episode:
            following, episode = 0.0, turns[number].episode
        following = turns[number].reward + gamma * following
        returns[number] = following
    return standardised(returns)


def grpo(turns: Sequence[Turn]) -> list[float]:
    """Return the advantage of each turn: its episode's return, standardised in the group."""
    group_of = {turn.episode: turn.group for turn in turns}
    returns = dict.fromkeys(group_of, 0.0)
    for turn in turns:
        returns[turn.episode] += turn.reward
    advantages: dict[int, float] = {}
    for group in set(group_of.values()):
        members = [episode for episode in group_of if group_of[episode] == group]
        found = standardised([returns[episode] for episode in members])
        advantages |= dict(zip(members, found, strict=True))
    return [advantages[turn.episode] for turn in turns]


def standardised(values: Sequence[float]) -> list[float]:
    """Return ``(x - mean) / std`` with the population standard deviation; 0 for equal values."""
    if len(set(values)) == 1:
        return [0.0] * len(values)
    mean = sum(values) / len(values)
    std = (sum((one - mean) ** 2 for one in values) / len(values)) ** 0.5
    return [(one - mean) / (std + EPSILON) for one in values]


def weights(turns: Sequence[Turn], algorithm: str, max_tokens: int) -> list[float]:
    """Return the weight of a token of each turn."""
    if algorithm == "rebn":
        return [1 / (len(turns) * max_tokens)] * len(turns)
    tokens: dict[int, int] = {}
    for turn in turns:
        tokens[turn.episode] = tokens.get(turn.episode, 0) + len(turn.response)
    return [1 / (len(tokens) * tokens[turn.episode]) for turn in turns]


def add_gradients(
    model: Any, turns: Sequence[Turn], advantages: Sequence[float], weight: Sequence[float]
) -> float:
    """Add the gradients of the loss to the model's parameters, turn by turn; return the loss."""
    total = 0.0
    for turn, advantage, w in zip(turns, advantages, weight, strict=True):
        if advantage == 0:
            continue
        ids = torch.tensor([turn.prompt + turn.response])
        logprobs = model(input_ids=ids).logits[0, :-1].log_softmax(-1)
        sampled = logprobs[len(turn.prompt) - 1 :].gather(-1, ids[0, len(turn.prompt) :, None])
        loss = -w * advantage * sampled.sum()
        loss.backward()
        total += loss.item()
    return total


ALGORITHMS: dict[str, Callable[[Sequence[Turn]], list[float]]] = {"rebn": rebn, "grpo": grpo}


def train(
    model: Any,
    tokenizer: Any,
    env: Env,
    *,
    algorithm: str,
    steps: int,
    groups: int = 8,
    group_size: int = 8,
    max_tokens: int = 8,
    lr: float = 1e-3,
    seed: int = 0,
) -> list[float]:
    """Train a model; return the mean return of the episodes of each step.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer, with a chat template.
        env: The environment.
        algorithm: ``rebn`` or ``grpo``.
        steps: Number of updates.
        groups: Start states for each update.
        group_size: Episodes of each start state.
        max_tokens: Most tokens of a response.
        lr: Learning rate of AdamW.
        seed: Seed of start states and of sampling.
    """
    torch.manual_seed(seed)
    starts = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0)
    history = []
    for step in range(steps):
        turns: list[Turn] = []
        for group in range(groups):
            start = starts.randrange(2**31)
            for member in range(group_size):
                episode = group * group_size + member
                turns += play(
                    env,
                    model,
                    tokenizer,
                    seed=start,
                    episode=episode,
                    group=group,
                    max_tokens=max_tokens,
                )
        optimizer.zero_grad()
        weight = weights(turns, algorithm, max_tokens)
        add_gradients(model, turns, ALGORITHMS[algorithm](turns), weight)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        history.append(sum(turn.reward for turn in turns) / (groups * group_size))
        print(f"step {step + 1}: return {history[-1]:.3f}, {len(turns)} turns")
    return history


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True, help="folder or name of the model")
    parser.add_argument("--env", default="game:GuessTheNumber-v0-easy", help="id of an environment")
    parser.add_argument("--algorithm", choices=list(ALGORITHMS), default="rebn")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", help="folder for the trained model")
    arguments = parser.parse_args()
    model = transformers.AutoModelForCausalLM.from_pretrained(arguments.model).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(arguments.model)
    env = gem_core.make(arguments.env)
    train(model, tokenizer, env, algorithm=arguments.algorithm, steps=arguments.steps)
    if arguments.out:
        model.save_pretrained(arguments.out)
        tokenizer.save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
