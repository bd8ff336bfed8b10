"""A language model with random weights and a quarter of a million parameters, made in a second.

It serves to test the code around a model (tokenizers, chat templates, sampling, serving) and to
train a model from scratch. It needs ``transformers`` and ``jinja2``; the model also needs
``torch``, the tokenizer does not.
"""

import os
from collections.abc import Iterable
from typing import Any

from gem_core.errors import ConfigError

__all__ = ["CHAT_TEMPLATE", "PLAY", "check_sizes", "make_tiny_tokenizer", "save_tiny_model"]

CHAT_TEMPLATE = """\
{%- if tools %}
{{- '<|im_start|>system\\n# Tools\\n' }}
{%- for tool in tools %}{{ tool | tojson }}{{ '\\n' }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}
{%- endif %}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>' + (call.function | tojson) + '</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""Renders every message unchanged, so that each prompt extends the one before."""

PLAY = (
    "You are playing Guess The Number. You have to guess the number between 1 and 10.",
    "As you enter your guess, the game will say 'higher' or 'lower'. Wrap it in \\boxed{}.",
    *(f"<answer>\\boxed{{{number}}}</answer>" for number in range(1, 11)),
    *(f"At turn {number}, you guessed {number}, and the target is lower." for number in range(9)),
)
"""The texts that a tokenizer is trained on by default."""

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def make_tiny_tokenizer(
    *,
    chat_template: str = CHAT_TEMPLATE,
    texts: Iterable[str] = PLAY,
    size: int = 400,
    pieces: str | None = None,
    context: int = 4096,
) -> Any:
    """Return a byte-level BPE tokenizer that is trained on texts and can encode any text.

    Args:
        chat_template: Its chat template, in Jinja.
        texts: The texts that its merges are learned from.
        size: Most tokens of its vocabulary; 259 of them exist before any merge.
        pieces: Regular expression that splits a text into pieces; no token spans two of them. None
            for the pieces of GPT-2.
        context: The context length of its model, in tokens.
    """
    import tokenizers  # noqa: PLC0415 - optional, and takes seconds
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pieces is not None:
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pieces), "isolated")
        plain = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        bpe.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, plain])
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(_SPECIAL),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        eos_token=_SPECIAL[2],
        pad_token=_SPECIAL[0],
        model_max_length=context,
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def check_sizes(*, hidden: int, layers: int, heads: int, context: int) -> None:
    """Raise ConfigError if the sizes of a model do not fit together."""
    if min(hidden, layers, heads, context) < 1 or hidden % (2 * heads):
        raise ConfigError(
            f"hidden must be an even multiple of heads, and all sizes must be at least 1; got "
            f"hidden {hidden}, layers {layers}, heads {heads} and context {context}."
        )


def save_tiny_model(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    tokenizer: Any = None,
    context: int = 4096,
    hidden: int = 64,
    layers: int = 3,
    heads: int = 4,
) -> str:
    """Save a model with Qwen 3's architecture and random weights; return its folder.

    Args:
        folder: The folder to write the model and its tokenizer to.
        seed: Seed of the weights.
        tokenizer: Its tokenizer; None for ``make_tiny_tokenizer()``.
        context: Context length in tokens.
        hidden: Hidden size, an even multiple of ``heads``.
        layers: Number of layers.
        heads: Attention heads of each layer; every two share keys and values.

    Raises:
        ConfigError: The sizes do not fit together.
    """
    check_sizes(hidden=hidden, layers=layers, heads=heads, context=context)
    import torch  # noqa: PLC0415 - optional, and takes seconds
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    tokenizer = make_tiny_tokenizer() if tokenizer is None else tokenizer
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(
                vocab_size=len(tokenizer),
                hidden_size=hidden,
                intermediate_size=3 * hidden,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                num_key_value_heads=heads // 2 if heads % 2 == 0 else heads,
                head_dim=hidden // heads,
                max_position_embeddings=context,
                tie_word_embeddings=True,
                initializer_range=0.8 / hidden**0.5,
                bos_token_id=None,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
