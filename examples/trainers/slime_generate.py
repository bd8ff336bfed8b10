"""Mastermind with a Python tool in slime: the module of its generation function.

Write the dataset with ``python slime_generate.py rows.jsonl``, then train where slime can import
this module::

    python train.py --prompt-data rows.jsonl --input-key prompt \
        --custom-generate-function-path slime_generate.generate \
        --custom-reward-post-process-path gem_adapters.slime.group_rewards \
        --rollout-max-response-len 256 --rollout-max-context-len 4096 \
        --n-samples-per-prompt 8 --rollout-batch-size 64 ...

Without a file name, it plays a group with a server of scripted replies in place of SGLang.
"""

import sys

from gem_core.extras import needed_by_script

with needed_by_script("pip install 'gem-adapters[slime]' git+https://github.com/THUDM/slime"):
    from gem_adapters.checks.slime import play
    from gem_adapters.rows import rows
    from gem_adapters.slime import Generate
    from gem_adapters.testing.adapters import ScriptedModel, make_tokenizer

ENV = "game:Mastermind-v0-easy"

generate = Generate(config=["tools=[python]"])


def main(file: str = "") -> None:
    """Write the dataset, or play."""
    if file:
        rows(ENV, 1000, seed=7, env_kwargs={"max_turns": 4}, layout="slime", path=file)
        return
    lines = rows(ENV, 1, seed=7, env_kwargs={"max_turns": 4}, layout="slime")
    tokenizer = make_tokenizer()
    # generate_and_rm_group of slime
    (group,) = play(generate, lines, tokenizer, ScriptedModel(tokenizer), samples=2)
    for sample in group:
        sampled, reward = sum(sample.loss_mask), sample.reward
        print(f"{sampled} of {len(sample.tokens)} tokens sampled, reward {reward:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
