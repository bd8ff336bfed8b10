"""``gem-core make-model``, and the tokens of its models."""

import pytest
from cli import gem
from hypothesis import given
from hypothesis import strategies as st
from plays import GAME, SOME
from transformers import AutoModelForCausalLM, AutoTokenizer

from gem_core.env import BaseEnv
from gem_core.errors import ConfigError
from gem_core.factory import make_factory
from gem_core.specs import EnvSpec
from gem_rollout.models.tiny_model import save_tiny_model
from gem_train.make_model import SIZES, Size, make_model

EASY = [make_factory(GAME), make_factory("game:TowerofHanoi-v0-easy")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return folder, make_model(folder, EASY, episodes=5)


@pytest.fixture(scope="module")
def tokenizer(made):
    return AutoTokenizer.from_pretrained(made[0])


def words(tokenizer, text):
    return [tokenizer.decode([one]) for one in tokenizer.encode(text, add_special_tokens=False)]


def run(*words):
    return gem("make-model", *words)


def test_the_printed_description_of_a_model_is_right(made, tokenizer):
    folder, said = made
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.num_parameters() == said.parameters
    assert model.config.hidden_size == SIZES["tiny"].hidden
    assert len(tokenizer) == said.vocabulary == model.config.vocab_size <= 512
    assert tokenizer.model_max_length == model.config.max_position_embeddings == 2048
    assert "".join(said.action_tokens) == said.action


def test_prompts_of_easy_games_are_short(tmp_path):
    said = make_model(tmp_path / "tiny", EASY[:1], episodes=5)
    assert said.prompt_tokens < 200
    assert said.prompt_tokens < said.episode_tokens < 400


def test_parts_of_an_action_are_tokens_of_their_own(tokenizer):
    assert words(tokenizer, "\\boxed{7}") == ["\\boxed{", "7", "}"]
    assert words(tokenizer, "\\boxed{10}") == ["\\boxed{", "1", "0", "}"]
    assert words(tokenizer, "\\boxed{A C}") == ["\\boxed{", "A", " ", "C", "}"]
    assert words(tokenizer, "ABBA")[:2] == ["A", "B"]
    assert "1" in words(tokenizer, "from 1 to 10, both")
    for text in ("<answer>\\boxed{12}</answer>", "so: \\boxed{12}.", "(\\boxed{12})"):
        found = words(tokenizer, text)
        place = found.index("\\boxed{")
        assert found[place : place + 4] == ["\\boxed{", "1", "2", "}"]


@pytest.mark.slow
@SOME
@given(text=st.text(st.characters(codec="utf-8")), number=st.integers(0, 10**6))
def test_any_text_can_be_written_and_numbers_are_digits(tokenizer, text, number):
    whole = f"{text}{number}"
    ids = tokenizer.encode(whole, add_special_tokens=False, split_special_tokens=True)
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == whole
    assert [tokenizer.decode([one]) for one in ids[-len(str(number)) :]] == list(str(number))


@pytest.mark.slow
def test_the_same_arguments_make_the_same_model(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        make_model(tmp_path / name, EASY[:1], episodes=3, seed=seed)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    texts = [(tmp_path / name / "tokenizer.json").read_text() for name in "ab"]
    assert weights[0] == weights[1] != weights[2]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("size", "low", "high"), [("tiny", 0.1, 0.3), ("small", 0.5, 1.0)])
def test_sizes_are_about_as_large_as_they_say(tmp_path, size, low, high):
    said = make_model(tmp_path / size, EASY[:1], size=SIZES[size], episodes=2)
    assert low < said.parameters / 1e6 < high


def test_the_command_describes_the_model_and_the_next_step(tmp_path):
    out = tmp_path / "tiny"
    done = run("game:GuessTheNumber-v0*", "episodes=2", "layers=1", f"out={out}")
    assert done.returncode == 0, done.stderr
    assert "random parameters" in done.stdout
    assert "'\\boxed{' " in done.stdout.replace("\\\\", "\\")
    assert f"Next: gem-core train sft model={out}" in done.stdout
    assert AutoModelForCausalLM.from_pretrained(out).config.num_hidden_layers == 1


def test_texts_of_tools_are_learned_too(tmp_path):
    out = tmp_path / "tools"
    run(GAME, "tools=[python]", "episodes=2", "layers=1", "vocab=1024", f"out={out}")
    assert words(AutoTokenizer.from_pretrained(out), "</python>") == ["</python>"]


def test_episodes_that_exceed_the_context_are_reported(tmp_path):
    done = run(GAME, "episodes=2", "layers=1", "context=64", f"out={tmp_path / 'x'}")
    assert "Episodes exceed the context length" in done.stdout


def test_a_model_that_is_there_is_replaced_only_on_demand(tmp_path):
    out = tmp_path / "tiny"
    words = (GAME, "episodes=1", "layers=1", f"out={out}")
    run(*words)
    done = run(*words)
    assert (done.returncode, "add overwrite=true" in done.stderr) == (1, True)
    assert run(*words, "overwrite=true", "hidden=32", "heads=2").returncode == 0
    assert AutoModelForCausalLM.from_pretrained(out).config.hidden_size == 32


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_folder_that_is_not_a_model_is_never_replaced(tmp_path, kind):
    out = tmp_path / "mine"
    if kind == "folder":
        out.mkdir()
        (out / "thesis.txt").write_text("precious")
    else:
        out.write_text("precious")
    done = run(GAME, "overwrite=true", f"out={out}")
    assert done.returncode == 1
    assert ("is not a model" if kind == "folder" else "out is a folder") in done.stderr
    assert "precious" in (out / "thesis.txt" if kind == "folder" else out).read_text()


def test_an_id_that_matches_nothing_is_an_error_with_near_names(tmp_path):
    out = f"out={tmp_path / 'x'}"
    assert "Did you mean 'game:GuessTheNumber-v0" in run("game:GuesTheNumber-v0", out).stderr
    assert "pithon" in run(GAME, "tools=[pithon]", out).stderr


class Broken(BaseEnv):
    def start(self):
        raise OSError("no such board")

    def step(self, action):
        raise NotImplementedError


def test_an_environment_that_cannot_be_played_is_named(tmp_path):
    spec = EnvSpec(id="test:Broken", entry_point=Broken)
    with pytest.raises(ConfigError, match=r"test:Broken cannot be played: no such board"):
        make_model(tmp_path / "x", [make_factory(spec)])


@pytest.mark.parametrize("size", [Size(60, 1, 4), Size(4, 1, 4), Size(64, 0, 4)])
def test_sizes_that_do_not_go_together_are_refused(tmp_path, size):
    with pytest.raises(ConfigError, match="even multiple of heads"):
        save_tiny_model(tmp_path, hidden=size.hidden, layers=size.layers, heads=size.heads)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_model_that_reads_images_can_be_made(tmp_path):
    """It plays the environment that its tokenizer was made for."""
    from vision_models import play, rows_factory

    from gem_train.policy import Policy

    said = make_model(tmp_path / "sees", [rows_factory()], episodes=3, vision=True)
    policy = Policy.load(tmp_path / "sees", device="cpu")
    assert policy.model.num_parameters() == said.parameters
    assert policy.vision is not None
    assert all(one.turns for one in play(policy, make=rows_factory(), episodes=4))


@pytest.mark.slow
def test_the_command_makes_a_model_that_reads_images(tmp_path):
    done = run(GAME, "episodes=2", "vision=true", f"out={tmp_path / 'sees'}")
    assert "random parameters" in done.stdout
    assert (tmp_path / "sees" / "processor_config.json").is_file()
