"""Measures what shared prefixes save in an update of a model with 96 M parameters, on one thread.

    python benchmarks/shared_prefixes.py

It prints the CPU seconds of a forward and backward pass over a group of 8 episodes, with whole rows
and with the prompt that they share read once, and the largest difference of the gradients.
"""

import random
import time
from typing import Any

import torch
import transformers

from gem_core.agent import Generation
from gem_rollout import Trajectory, Turn
from gem_train.batch import Batch, batch_of
from gem_train.policy import Policy
from gem_train.transitions import transitions_of

EPISODES, VOCABULARY, ROUNDS = 8, 8000, 2
CASES = [(128, 8, 1), (128, 32, 1), (128, 128, 1), (128, 16, 3)]
"""Tokens of the first prompt, tokens of a response, turns."""


def main() -> None:
    """Print one line for each case."""
    torch.set_num_threads(1)
    model = transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(
            vocab_size=VOCABULARY,
            hidden_size=768,
            num_hidden_layers=12,
            num_attention_heads=12,
            num_key_value_heads=4,
            head_dim=64,
            intermediate_size=2560,
            tie_word_embeddings=True,
        )
    ).eval()
    for prompt, response, turns in CASES:
        batch = episodes(prompt, response, turns)
        whole, shared = (Policy(model, None) for _ in range(2))
        whole._prefixes._is_usable = False  # noqa: SLF001 - there is no option for it
        cost(shared, batch)  # the first pass compares both ways
        ours, theirs = [], []
        for _ in range(ROUNDS):  # by turns, as the load of the machine varies
            theirs.append(cost(whole, batch))
            ours.append(cost(shared, batch))
        without, with_ = (min(seconds for seconds, _ in one) for one in (theirs, ours))
        difference = (theirs[0][1] - ours[0][1]).abs().max() / theirs[0][1].abs().max()
        print(
            f"prompt {prompt}, response {response}, turns {turns}: whole rows {without:.2f} s, "
            f"shared {with_:.2f} s ({with_ / without:.2f}), gradients differ by {difference:.0e}"
        )


def episodes(prompt: int, response: int, turns: int) -> Batch:
    """Return a group of episodes of random tokens."""
    rng = random.Random(0)

    def some(count: int) -> list[int]:
        return [rng.randrange(1, VOCABULARY) for _ in range(count)]

    first, made = some(prompt), []
    for index in range(EPISODES):
        of_episode = []
        for turn in range(turns):
            generation = Generation(
                prompt_ids=some(12) if turn else first, token_ids=some(response), extends=turn > 0
            )
            of_episode.append(
                Turn("policy", "", "", rng.random(), False, False, {}, generation=generation)
            )
        made.append(Trajectory("game:X-v0", "policy", index, 0, of_episode))
    return batch_of(transitions_of(made), rows="episodes")


def cost(policy: Policy, batch: Batch) -> tuple[float, Any]:
    """Return the CPU seconds of both passes, and the gradient."""
    policy.model.zero_grad(set_to_none=True)
    start = time.process_time()
    policy.logprobs(batch).sum().backward()
    seconds = time.process_time() - start
    return seconds, torch.cat([one.grad.flatten() for one in policy.model.parameters()])


if __name__ == "__main__":
    main()
