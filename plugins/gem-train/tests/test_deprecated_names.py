"""Deprecated names work for one version, and warn."""

import pytest
from plays import played

from gem_train import samples, transitions
from gem_train.batch import batch_of


@pytest.mark.parametrize(
    ("old", "new"),
    [("Sample", "Transition"), ("samples_of", "transitions_of"), ("played", "trainable")],
)
def test_the_module_samples_is_now_transitions(old, new):
    with pytest.warns(DeprecationWarning, match=rf"{old} is now .*{new}"):
        assert getattr(samples, old) is getattr(transitions, new)


def test_spread_is_now_to_tokens():
    batch = batch_of(transitions.transitions_of(played()))
    with pytest.warns(DeprecationWarning, match="to_tokens"):
        spread = batch.spread(batch.reward)
    assert spread.equal(batch.to_tokens(batch.reward))
