"""The policy: its probabilities, loading and saving."""

import pytest
import torch
from models import batch_for, generator, logprobs_of
from needs import needs

from gem_core import make_agent
from gem_core.errors import ConfigError
from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.policy import Policy
from gem_train.pretrained import pick_device
from gem_train.reference import Reference


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def policy(folder):
    return Policy.load(folder, device="cpu")


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("rows", ["turns", "episodes"])
def test_log_probabilities_are_those_of_each_sequence_alone(policy, rows, temperature):
    batch = batch_for(policy, rows=rows)
    with torch.no_grad():
        found, entropy = policy.logprobs_and_entropy(batch, temperature=temperature)
    for row, length in enumerate(batch.lengths.tolist()):
        ids = batch.ids[row, :length].tolist()
        literal = logprobs_of(policy.model, ids[:1], ids[1:], temperature)
        for place, value in enumerate(literal, start=1):
            expected = value if batch.turn_of[row, place] >= 0 else 0.0
            assert found[row, place].item() == pytest.approx(expected, abs=1e-5)
        logits = policy.model(input_ids=batch.ids[row : row + 1, :length]).logits[0] / temperature
        literal_entropy = torch.distributions.Categorical(logits=logits).entropy()
        for place in range(1, length):
            expected = literal_entropy[place - 1].item() if batch.turn_of[row, place] >= 0 else 0
            assert entropy[row, place].item() == pytest.approx(expected, abs=1e-4)


def test_each_of_several_equal_rows_is_learned_from(policy):
    """Each row occurs twice, in random order: the values are the same, and all gradients count."""
    batch = batch_for(policy)
    order = torch.randperm(2 * len(batch.ids), generator=generator())
    twice = batch.select(torch.cat([torch.arange(len(batch.ids))] * 2)[order])
    weights = torch.randn(twice.ids.shape, generator=generator())

    def learned(rows, weights):
        policy.model.zero_grad()
        logprobs, entropies = policy.logprobs_and_entropy(rows)
        (weights * (logprobs + entropies)).sum().backward()
        return logprobs, [one.grad.clone() for one in policy.parameters()]

    plain, _ = learned(batch, torch.zeros(batch.ids.shape))
    found, gradients = learned(twice, weights)
    torch.testing.assert_close(found, torch.cat([plain, plain])[order], atol=1e-5, rtol=1e-5)
    parts = [
        learned(twice.select(one[None]), weights[one][None, : int(twice.lengths[one])])[1]
        for one in torch.arange(len(order))
    ]
    for whole, *each in zip(gradients, *parts, strict=True):
        torch.testing.assert_close(whole, sum(each), atol=1e-4, rtol=1e-4)


def test_dropout_of_adapters_acts_in_training_mode_only(folder):
    needs("peft")
    policy = Policy.load(folder, device="cpu", lora={"r": 4, "lora_dropout": 0.5})
    for name, one in policy.trained_state().items():
        if "lora_B" in name:
            torch.nn.init.normal_(one)
    batch = batch_for(policy, 1)
    twice = batch.select(torch.tensor([0, 0]))
    first, second = policy.logprobs(twice)
    assert torch.equal(first, second)
    with policy.training():
        first, second = policy.logprobs(twice)
    assert not torch.allclose(first, second)


@pytest.mark.parametrize("options", [{}, {"gradient_checkpointing": True}])
def test_the_model_is_in_training_mode_only_if_that_has_an_effect(folder, options):
    policy = Policy.load(folder, device="cpu", **options)
    batch, kept = batch_for(policy), []
    with policy.training(), torch.autograd.graph.saved_tensors_hooks(kept.append, lambda one: one):
        assert policy.model.training == bool(options)
        policy.logprobs(batch)
    assert not policy.model.training
    assert (len(kept) < 100) == bool(options)  # activations are computed again instead


def test_a_saved_policy_is_the_same_policy(policy, tmp_path):
    batch = batch_for(policy)
    policy.save(tmp_path)
    again = Policy.load(tmp_path, device="cpu")
    with torch.no_grad():
        assert torch.equal(again.logprobs(batch), policy.logprobs(batch))


def test_a_reference_stays_when_the_policy_goes_on(policy):
    batch = batch_for(policy)
    reference = Reference(policy)
    before = reference.logprobs(batch)
    with torch.no_grad():
        for one in policy.parameters():
            one.add_(0.1)
    assert torch.equal(reference.logprobs(batch), before)
    assert not torch.equal(policy.logprobs(batch), before)


def test_a_reference_in_bf16_is_a_copy_too(folder):
    policy = Policy.load(folder, device="cpu", precision="bf16")
    batch = batch_for(policy)
    reference = Reference(policy)
    before = reference.logprobs(batch)
    with torch.no_grad():
        for one in policy.parameters():
            one.add_(0.1)
    policy.sync()
    assert torch.equal(reference.logprobs(batch), before)
    assert not torch.equal(policy.logprobs(batch), before)


def test_in_bf16_the_model_is_short_and_what_is_trained_is_not(folder):
    policy = Policy.load(folder, device="cpu", precision="bf16")
    assert {one.dtype for one in policy.model.parameters()} == {torch.bfloat16}
    assert {one.dtype for one in policy.parameters()} == {torch.float32}
    plain = Policy.load(folder, device="cpu")
    for name, one in policy.trained_state().items():
        assert torch.equal(one, plain.trained_state()[name])
    positions = [one for one in policy.model.buffers() if one.is_floating_point()]
    assert all(one.dtype == torch.float32 for one in positions)


def test_steps_too_small_for_bf16_add_up(folder):
    """Each changes a weight by less than its last bit; 300 of them change it by much more."""
    policy = Policy.load(folder, device="cpu", precision="bf16")
    [name] = [one for one in policy.trained_state() if one.endswith("embed_tokens.weight")]
    before = policy.trained_state()[name].clone()
    for _ in range(300):
        for one in policy.trained_state().values():
            one.mul_(1.0005)
        policy.sync()
    weight = dict(policy.model.named_parameters())[name]
    torch.testing.assert_close(weight.float(), before * 1.0005**300, rtol=0.01, atol=1e-6)


def test_gradients_of_parts_are_added_up_in_float32(folder):
    policy = Policy.load(folder, device="cpu", precision="bf16")
    batch = batch_for(policy)
    for _ in range(3):
        policy.logprobs(batch).sum().backward()
    assert all(one.grad is None for one in policy.model.parameters())
    once = Policy.load(folder, device="cpu", precision="bf16")
    once.logprobs(batch).sum().backward()
    for three, one in zip(policy.parameters(), once.parameters(), strict=True):
        assert three.grad.dtype == torch.float32
        torch.testing.assert_close(three.grad, 3 * one.grad, rtol=1e-6, atol=1e-7)


def test_attention_and_compilation_can_be_chosen(folder, policy):
    batch = batch_for(policy)
    chosen = Policy.load(
        folder, device="cpu", attn_implementation="eager", compile_options={"backend": "eager"}
    )
    assert chosen.model.config._attn_implementation == "eager"
    torch.testing.assert_close(chosen.logprobs(batch), policy.logprobs(batch), atol=1e-5, rtol=1e-5)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        Policy.load(folder, device="cpu", attn_implementation="telepathy")


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_weights_are_loaded_as_they_were_saved(folder, tmp_path, precision):
    policy = Policy.load(folder, device="cpu", precision=precision)
    with torch.no_grad():
        for one in policy.parameters():
            one.mul_(1.0001)
    policy.sync()
    policy.save_weights(tmp_path, policy.weights_copy())
    again = Policy.load(folder, device="cpu", precision=precision)
    again.load_weights(tmp_path)
    for name, one in policy.trained_state().items():
        assert torch.equal(again.trained_state()[name], one)


def test_adapters_are_loaded_as_they_were_saved(folder, tmp_path):
    needs("peft")
    policy = Policy.load(folder, device="cpu", lora={"r": 2}, precision="bf16")
    with torch.no_grad():
        for one in policy.parameters():
            one.normal_()
    policy.sync()
    policy.save_weights(tmp_path, policy.weights_copy())
    assert not (tmp_path / "model.safetensors").exists()
    again = Policy.load(folder, device="cpu", lora={"r": 2}, precision="bf16")
    again.load_weights(tmp_path)
    for name, one in policy.trained_state().items():
        assert torch.equal(again.trained_state()[name], one)


def test_a_checkpoint_of_adapters_loads_as_a_model_in_any_folder(tmp_path, monkeypatch):
    needs("peft")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    save_tiny_model("base")
    policy = Policy.load("base", device="cpu", lora={"r": 2})
    with torch.no_grad():
        for one in policy.parameters():
            one.normal_()
    policy.sync()
    policy.save_weights("checkpoint", policy.weights_copy())
    monkeypatch.chdir("elsewhere")
    agent = make_agent("transformers", model="../checkpoint", device="cpu")
    assert agent.sampler.tokenizer.chat_template == policy.tokenizer.chat_template
    batch, again = batch_for(policy), Policy.load("../checkpoint", device="cpu")
    with torch.no_grad():
        for loaded in (again, Policy(agent.sampler.model, agent.sampler.tokenizer)):
            found = loaded.logprobs(batch)
            torch.testing.assert_close(found, policy.logprobs(batch), atol=1e-3, rtol=1e-4)
    (tmp_path / "base").rename(tmp_path / "moved")
    with pytest.raises(ConfigError) as caught:
        Policy.load("../checkpoint", device="cpu")
    assert str(caught.value) == (
        "The model '../checkpoint' cannot be loaded: The base model of its adapters cannot be "
        f"found. There is no folder {str(tmp_path / 'base')!r}, and it is not a name on the hub."
    )
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="Its adapters need peft"):
        make_agent("transformers", model=str(tmp_path / "checkpoint"), device="cpu")


def test_adapters_come_with_the_chat_template_that_was_saved_with_them(folder, tmp_path):
    needs("peft")
    policy = Policy.load(folder, device="cpu", lora={"r": 2})
    policy.tokenizer.chat_template = "{{ messages[0].content }} then"
    policy.save(tmp_path)
    assert Policy.load(tmp_path, device="cpu").tokenizer.chat_template.endswith("then")
    file = tmp_path / "adapter_config.json"
    file.write_text(file.read_text().replace(str(folder), ""))
    with pytest.raises(ConfigError, match="names no base_model_name_or_path"):
        Policy.load(tmp_path, device="cpu")


def test_dropout_rests_in_sampling_and_learning(policy):
    batch = batch_for(policy)
    with torch.no_grad():
        before = policy.logprobs(batch)
        with policy.training():
            assert torch.equal(policy.logprobs(batch), before)
    assert not policy.model.training


def test_a_model_that_cannot_be_loaded_is_reported(tmp_path):
    with pytest.raises(ConfigError, match="There is no folder"):
        Policy.load(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="device 'abacus' cannot be used"):
        pick_device("abacus")


def test_weights_of_another_model_are_refused(policy):
    with pytest.raises(ConfigError, match="another model"):
        policy.load_trained_state({"something.else": torch.zeros(1)})


def test_parameters_of_adapters_are_checked(folder):
    needs("peft")
    with pytest.raises(ConfigError, match="lora:"):
        Policy.load(folder, device="cpu", lora={"rank": 3})
