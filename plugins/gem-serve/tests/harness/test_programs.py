"""Programs of others play episodes; ``make test-harness`` installs them and runs this."""

import os
from pathlib import Path

import pytest

from gem_core.errors import MachineError
from gem_rollout.records.rows import training_rows
from gem_serve.gateway.testing.checks import differences
from gem_serve.harness.player import Player
from gem_serve.harness.program import folders_of
from gem_serve.harness.recipe import find_recipe
from gem_serve.harness.runner import play_episodes
from gem_workers.machine import MachineSpec

FOLDER = os.environ.get("GEM_TEST_HARNESS", "")
PROGRAMS = os.environ.get("GEM_TEST_PROGRAMS", "").split()
EPISODES = int(os.environ.get("GEM_TEST_EPISODES", "20"))
DOCS = Path(__file__).parents[4] / "docs"
GREET = "echo hello > /app/greeting.txt; ls -d /home/*"

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="GEM_TEST_HARNESS names no folder of programs; make test-harness sets it"
)


@pytest.fixture
def make_env(tasks):
    """Return a function that makes environments whose machines see a program."""
    import gem_core

    def make(program):
        folders = {one: one for one in folders_of([str(Path(FOLDER, program))])}
        machine = {"id": "local", "folders": folders}
        return gem_core.make("terminal:Harbor", data=str(tasks), machine=machine)

    local = pytest.importorskip("gem_sandbox.machines.local.provider")
    try:
        with local.LocalProvider() as provider:
            provider.start(MachineSpec()).close()
    except MachineError as error:
        pytest.fail(f"no machine can be started here: {error}")
    return make


def player_of(program, gateway, **options):
    recipe = find_recipe(program)
    where = [str(Path(FOLDER, program))]
    return Player(
        recipe=recipe, gateway=gateway.admin, name=program, programs=where, timeout=600, **options
    )


@pytest.mark.parametrize("mode", ["engine", "continue"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_plays_episodes_with_a_shell_and_each_token_is_recorded(
    program, mode, make_env, start_engine, start_gateway
):
    engine = start_engine(GREET)
    gateway = start_gateway(engine.url)
    episodes = EPISODES if mode == "engine" else 2
    player = player_of(program, gateway, options={"mode": mode})
    played = list(play_episodes(player, lambda: make_env(program), episodes=episodes, jobs=2))
    assert [one.error for one in played] == [None] * episodes
    assert [one.episode_return for one in played] == [1.0] * episodes
    for one in played:
        homes = [t.observation.count("/home/program-") for t in one.turns[-1:]]
        assert homes == [1]  # its own home directory, and no other
        assert one.turns[-1].info["program"]["status"] == "ended"
    assert differences(played, engine.log) == []
    rows = [row for one in played for row in training_rows(one, one_sequence="split")]
    assert sum(sum(row.mask) for row in rows) == sum(len(one.ids) for one in engine.log)
    print(
        f"\n{program}, {mode}: {episodes} episodes, {len(engine.log)} calls, {len(rows)} rows, "
        f"{sum(one.turns[-1].info['program']['seconds'] for one in played) / episodes:.1f} s each"
    )


@pytest.mark.skipif("codex" not in PROGRAMS, reason="codex is not installed")
def test_episodes_of_codex_are_a_step_of_grpo(make_env, start_engine, start_gateway, tmp_path):
    torch = pytest.importorskip("torch")
    import transformers

    from gem_rollout.models.tiny_model import make_tiny_tokenizer, save_tiny_model
    from gem_serve.harness.testing import shelling
    from gem_train.batch import batch_of
    from gem_train.config import TrainConfig
    from gem_train.learner import Learner
    from gem_train.parts import parts_of
    from gem_train.policy import Policy
    from gem_train.transitions import transitions_of

    # Codex's first prompt is long; with a vocabulary of English words it has 11,000 tokens.
    pages = [page.read_text("utf-8") for page in sorted(DOCS.rglob("*.md"))]
    tokenizer = make_tiny_tokenizer(texts=pages, size=8000, context=65_536)
    engine = start_engine(GREET, tokenizer=tokenizer)
    gateway = start_gateway(engine.url)
    player, env = player_of("codex", gateway, options={"mode": "continue"}), make_env("codex")
    good = player.play(env, index=0, sample=0)
    engine.script = shelling("true; ls -d /home/*")
    bad = player.play(env, index=1, sample=1)
    env.close()
    assert [one.episode_return for one in (good, bad)] == [1.0, 0.0]
    (row,) = training_rows(good)
    assert row.reward == 1.0

    config = TrainConfig(
        model="tiny",
        algo={"id": "grpo"},
        optim={"lr": 1e-3},
        sampling={"max_gap": None},  # the script's log-probabilities are not the model's
    )
    folder = save_tiny_model(tmp_path, tokenizer=engine.tokenizer, context=65_536, layers=1)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    policy = Policy(model, engine.tokenizer)
    parts = parts_of(config)
    learner = Learner(policy, parts.algorithm, parts.loss, config, parts.shapers)
    before = [one.detach().clone() for one in policy.parameters()]
    batch = batch_of(transitions_of([good, bad]), rows="episodes")
    result = learner.learn(batch, torch.Generator().manual_seed(0))
    changed = any(not torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))
    assert changed
    assert result.metrics["train/grad_norm"] > 0
    print(f"\nGRPO: rows of {len(row.prompt_ids) + len(row.response_ids)} tokens, {result.metrics}")
