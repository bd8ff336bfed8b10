"""The conformance kit, run on everything that this plugin brings."""

import pytest

import gem_core
from gem_core.testing import check_plugin


@pytest.mark.gem("acme-gym:*")
def test_environments_keep_the_contract(gem_check):
    gem_check()


def test_the_plugin_keeps_the_contract():
    check_plugin("acme-gym").raise_for_findings()


def test_the_text_backwards_is_right():
    env = gem_core.make("acme-gym:Echo-v0", length=3)
    observation, _ = env.reset(seed=0)
    text = observation.split()[-1]
    assert env.step(text[::-1]).reward == 1.0
