"""Writes the model in a GGUF file as an ordinary folder of transformers.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only what the registered
models need is understood: the Llama family, and byte-level BPE tokenizers.
"""

import json
import re
from pathlib import Path
from typing import Any

from gem_core.errors import ConfigError
from gem_core.extras import require
from gem_rollout.models.registered import ReportProgress

__all__ = ["check_installed", "write_gguf"]

_IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
_ENDS = {"bos": "bos", "eos": "eos", "pad": "padding"}
"""Names of special tokens in transformers and in GGUF."""
_CONTROL = 3
"""The type of tokens such as ``<|im_end|>``."""
_SPLITS_DIGITS = {"smollm"}
"""Names of pre-tokenizers that make each digit a token of its own."""


def check_installed() -> None:
    """Check that what ``write_gguf`` imports is installed.

    Raises:
        NotInstalledError: It is not.
    """
    require("gem-agents[local]", "This model")


def write_gguf(source: Path, folder: Path, report: ReportProgress) -> None:
    """Write weights in float32, configuration, tokenizer and chat template.

    Args:
        source: The GGUF file.
        folder: Where they are written.
        report: Is called as the weights are written.

    Raises:
        ConfigError: The file holds a model of another family.
        OSError: They cannot be written.
    """
    import gguf  # noqa: PLC0415 - optional
    import safetensors.numpy  # noqa: PLC0415 - optional

    report("Read the weights", 0, 1)
    reader = gguf.GGUFReader(source)
    read = _Fields(reader)
    if read("general.architecture") != "llama":
        raise ConfigError(f"{source.name} holds a model of {read('general.architecture')!r}.")
    heads = {
        "attn_q": read("llama.attention.head_count"),
        "attn_k": read("llama.attention.head_count_kv"),
    }
    weights = {}
    for done, tensor in enumerate(reader.tensors):
        report("Write the weights", done, len(reader.tensors))
        name, kind = _name_of(tensor.name)
        weight = gguf.dequantize(tensor.data, tensor.tensor_type)
        weights[name] = _halves(weight, heads[kind]) if kind in heads else weight
    _write_tokenizer(read, folder)
    is_tied = "lm_head.weight" not in weights
    _write_json(folder / "config.json", _config(read, is_tied=is_tied))
    _write_json(
        folder / "generation_config.json",
        {f"{one}_token_id": read(f"tokenizer.ggml.{name}_token_id") for one, name in _ENDS.items()},
    )
    safetensors.numpy.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


class _Fields:
    """The fields of a GGUF file, read when they are asked for."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def __call__(self, name: str) -> Any:
        field = self._reader.get_field(name)
        if field is None:
            raise ConfigError(f"The GGUF file does not have the field {name!r}.")
        return field.contents()


def _name_of(name: str) -> tuple[str, str]:
    """Return a tensor's name in transformers, and its kind."""
    match = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if match is not None and match[2] in _IN_LAYER:
        return f"model.layers.{match[1]}.{_IN_LAYER[match[2]]}.weight", match[2]
    kind = name.removesuffix(".weight")
    if kind not in _OUTSIDE:
        raise ConfigError(f"The GGUF file has the unknown tensor {name!r}.")
    return f"{_OUTSIDE[kind]}.weight", kind


def _halves(weight: Any, heads: int) -> Any:
    """Return the rows of rotary heads in halves; llama.cpp has the two halves interleaved."""
    pairs = weight.reshape(heads, weight.shape[0] // heads // 2, 2, -1)
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def _config(read: _Fields, *, is_tied: bool) -> dict[str, Any]:
    heads, width = read("llama.attention.head_count"), read("llama.embedding_length")
    theta = read("llama.rope.freq_base")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_act": "silu",
        "hidden_size": width,
        "head_dim": width // heads,
        "intermediate_size": read("llama.feed_forward_length"),
        "max_position_embeddings": read("llama.context_length"),
        "num_attention_heads": heads,
        "num_hidden_layers": read("llama.block_count"),
        "num_key_value_heads": read("llama.attention.head_count_kv"),
        "rms_norm_eps": read("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": theta,  # transformers 4
        "rope_parameters": {"rope_theta": theta, "rope_type": "default"},  # transformers 5
        "tie_word_embeddings": is_tied,
        "vocab_size": read("llama.vocab_size"),
    } | {f"{one}_token_id": read(f"tokenizer.ggml.{name}_token_id") for one, name in _ENDS.items()}


def _write_tokenizer(read: _Fields, folder: Path) -> None:
    import tokenizers  # noqa: PLC0415 - comes with transformers
    from tokenizers import decoders, models, pre_tokenizers  # noqa: PLC0415 - see above

    if read("tokenizer.ggml.model") != "gpt2":
        raise ConfigError(f"The tokenizer is of the kind {read('tokenizer.ggml.model')!r}.")
    tokens = read("tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in read("tokenizer.ggml.merges")]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = [pre_tokenizers.Digits(individual_digits=True)]
    splits_digits = read("tokenizer.ggml.pre") in _SPLITS_DIGITS
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*digits[: int(splits_digits)], by_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    kinds = read("tokenizer.ggml.token_type")
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {
        f"{one}_token": tokens[read(f"tokenizer.ggml.{name}_token_id")]
        for one, name in (_ENDS | {"unk": "unknown"}).items()
    }
    _write_json(
        folder / "tokenizer_config.json",
        {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
        | names,
    )
    template = read("tokenizer.chat_template")
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
