"""What ``gem-core train`` says about mistakes, before it makes a folder or loads a model."""

import sys

import pytest
from click.testing import CliRunner
from needs import needs

from gem_core.errors import EntryPointError, GemError
from gem_core.specs import Spec
from gem_train.parts import make_part
from gem_train.specs import ALGORITHMS
from gem_train.train_command import command

MODULE = """
from gem_train.shapers import RewardShaper


class Odd(RewardShaper):
    def __init__(self, *, scale: float = 1.0):
        self.scale = scale

    def shape_rewards(self, batch):
        return batch.reward * self.scale
"""
ENV = "env=game/GuessTheNumber-v0-easy"


@pytest.fixture
def train(tmp_path, monkeypatch):
    """Run the command with some words; return what it says."""
    needs("torch")
    (tmp_path / "my_shapers.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_shapers", raising=False)

    def run(*words):
        result = CliRunner().invoke(command, [*words, "model=missing", ENV, "out=run"])
        assert not (tmp_path / "run" / "run.json").exists()
        is_error = isinstance(result.exception, GemError)
        return str(result.exception) if is_error else result.output

    return run


MISTAKES = (
    (["algo=rebnn"], ["Unknown algorithm 'rebnn'", "Did you mean 'rebn'"]),
    (["algo=grpo", "algo.epsilom=1"], ["algorithm 'grpo' takes no argument", "'epsilon'"]),
    (["algo.gama=1"], ["algorithm 'rebn' takes no argument 'gama'", "'gamma'"]),
    (["loss=clap"], ["Unknown loss 'clap'", "Did you mean 'clip'"]),
    (["loss.clip_hihg=1"], ["loss 'clip' takes no argument", "clip_high"]),
    (["loss=reinforce", "loss.lenght_norm=token"], ["Did you mean 'length_norm'"]),
    (["curriculum=level"], ["Unknown curriculum 'level'", "Did you mean 'levels'"]),
    (["curriculum=levels", "curriculum.treshold=1"], ["takes no argument 'treshold'"]),
    (["filters=[dynamic_samplin]"], ["Unknown filter", "'dynamic_sampling'"]),
    (["filters=[dynamic_sampling]", "filters.dynamic_sampling.by=x"], ["It takes: metric."]),
    (["shapers=[overlong]"], ["shapers.overlong.limit"]),
    (["shapers=[kl,kl]"], ["'kl' is there twice"]),
    (["shapers=[my_shapers:Even]"], ["'my_shapers' has no 'Even'"]),
    (["shapers=[my_shaper:Odd]"], ["no module 'my_shaper'"]),
    (["shapers=[my_shapers:Odd]", "shapers.my_shapers_Odd.size=1"], ["It takes: scale."]),
    (["shapers=[my_shapers:Odd]", "shapers.my_shapers_Odd.scale=x"], ["scale", "number"]),
    (["loss.clip_low=2"], ["clip_low must be in [0, 1]"]),
)
"""Words of a command, and parts of what is said about them."""


def test_mistakes_are_explained(train, subtests):
    for words, parts in MISTAKES:
        with subtests.test(" ".join(words)):
            message = train(*words)
            for part in parts:
                assert part in message
            assert "Traceback" not in message


def test_parts_are_composed_with_their_parameters(train):
    shown = train(
        "algo=ppo",
        "algo.bootstrap=true",
        "loss.dual_clip=3",
        "filters=[dynamic_sampling]",
        "shapers=[kl,my_shapers:Odd]",
        "shapers.kl.beta=0.5",
        "--cfg",
        "job",
    )
    for line in ("bootstrap: true", "dual_clip: 3", "metric: return", "beta: 0.5", "scale: 1.0"):
        assert line in shown
    assert "id: my_shapers:Odd" in shown


def test_the_plugin_of_a_broken_algorithm_is_named():
    spec = Spec(kind=ALGORITHMS, id="x", entry_point="acme_missing:X", source="acme-broken 1.0")
    with pytest.raises(EntryPointError, match=r"'x' of acme-broken 1\.0.*no module 'acme_missing'"):
        make_part(ALGORITHMS, spec)
