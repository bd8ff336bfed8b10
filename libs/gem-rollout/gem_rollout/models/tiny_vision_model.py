"""A vision-language model with random weights, made in a second, and its processor.

It has LLaVA's architecture: the features of a small vision transformer take the place of tokens of
the text. It serves to test the code around a model, and to train a model from scratch on images.
"""

import os
from typing import Any

from gem_core.errors import ConfigError
from gem_rollout.models.tiny_model import check_sizes, make_tiny_tokenizer

__all__ = ["VISION_CHAT_TEMPLATE", "save_tiny_vision_model"]

IMAGE_TOKEN = "<image>"  # noqa: S105 - not a password

VISION_CHAT_TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content is string %}{{ message.content }}
{%- else %}
{%- for part in message.content %}
{%- if part.type == 'image' %}{{ '<image>' }}{% else %}{{ part.text }}{% endif %}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""Renders every message unchanged, with a mark for each image."""


def save_tiny_vision_model(
    folder: str | os.PathLike[str],
    *,
    seed: int = 0,
    tokenizer: Any = None,
    context: int = 4096,
    hidden: int = 64,
    layers: int = 3,
    heads: int = 4,
    pixels: int = 28,
    patch: int = 14,
) -> str:
    """Save a vision-language model with random weights and its processor; return its folder.

    An image has ``(pixels / patch) ** 2`` tokens.

    Args:
        folder: The folder to write the model and its processor to.
        seed: Seed of the weights.
        tokenizer: Its tokenizer, which gets a token for images; None for ``make_tiny_tokenizer()``.
        context: Context length in tokens.
        hidden: Hidden size, an even multiple of ``heads``; that of the image is the same.
        layers: Number of layers of the language model; the vision transformer has two.
        heads: Attention heads of each layer; every two share keys and values.
        pixels: Width and height in pixels that images are scaled to.
        patch: Width and height of a patch in pixels, a divisor of ``pixels``.

    Raises:
        ConfigError: The sizes do not fit together.
    """
    check_sizes(hidden=hidden, layers=layers, heads=heads, context=context)
    if patch < 1 or pixels < patch or pixels % patch:
        raise ConfigError(f"patch must divide pixels; got {patch} and {pixels}.")
    import torch  # noqa: PLC0415 - optional, and takes seconds
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    tokenizer = make_tiny_tokenizer() if tokenizer is None else tokenizer
    tokenizer.add_special_tokens({"additional_special_tokens": [IMAGE_TOKEN]})
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=2,
            num_attention_heads=heads,
            image_size=pixels,
            patch_size=patch,
            projection_dim=hidden,
        ),
        text_config=transformers.Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=hidden,
            intermediate_size=3 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads // 2 if heads % 2 == 0 else heads,
            head_dim=hidden // heads,
            max_position_embeddings=context,
            initializer_range=0.8 / hidden**0.5,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE_TOKEN),
        image_seq_length=(pixels // patch) ** 2,
        vision_feature_layer=-1,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    _processor(tokenizer, pixels, patch).save_pretrained(folder)
    return str(folder)


def _processor(tokenizer: Any, pixels: int, patch: int) -> Any:
    import transformers  # noqa: PLC0415 - optional, and takes seconds

    size = {"height": pixels, "width": pixels}
    # The one with Pillow needs no torchvision; before transformers 5 it is the only one.
    kind = getattr(transformers, "CLIPImageProcessorPil", None) or transformers.CLIPImageProcessor
    return transformers.LlavaProcessor(
        image_processor=kind(size=size, crop_size=size, do_center_crop=False),
        tokenizer=tokenizer,
        patch_size=patch,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token=IMAGE_TOKEN,
        chat_template=VISION_CHAT_TEMPLATE,
    )
