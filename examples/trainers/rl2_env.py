"""Mastermind with a Python tool in RL2: the file of its environment.

Write the dataset with ``python examples/trainers/rl2_env.py rows.jsonl``, then train::

    torchrun --nproc_per_node=8 -m RL2.trainer.ppo \
        rollout.train.path=rows.jsonl rollout.env_path=examples/trainers/rl2_env.py \
        rollout.train.responses_per_prompt=8 rollout.train.prompts_per_rollout=64 \
        rollout.train.sampling_params.max_new_tokens=256 \
        rollout.train.partial_rollout=true ...

Without a file name, it plays a group with a server of scripted replies in place of SGLang.
"""

import sys

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[rl2]' git+https://github.com/ChenmienTan/RL2"):
    from gem_adapters.checks.rl2 import play
    from gem_adapters.rl2 import Generate
    from gem_adapters.rows import rows
    from gem_adapters.testing.adapters import ScriptedModel, make_tokenizer
    from gem_rollout import Limits

ENV = "game:Mastermind-v0-easy"

generate = Generate(config=["tools=[python]"], limits=Limits(context=4096))


def main(file: str = "") -> None:
    """Write the dataset, or play."""
    if file:
        rows(ENV, 1000, seed=7, env_kwargs={"max_turns": 4}, layout="rl2", path=file)
        return
    lines = rows(ENV, 1, seed=7, env_kwargs={"max_turns": 4}, layout="rl2")
    tokenizer = make_tokenizer()
    # SampleGroup.generate of RL2
    (group,) = play(generate, lines, tokenizer, ScriptedModel(tokenizer), samples=2)
    if isinstance(group, BaseException):
        raise group
    tensors, metrics = group.to_all_tensor_dicts_and_metrics()
    for (one,), reward in zip(tensors, metrics["rewards"], strict=True):
        sampled = int(one["action_mask"].sum())
        print(f"{sampled} of {len(one['states'])} tokens sampled, reward {reward:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
