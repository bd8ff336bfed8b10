"""The conformance kit, run on everything that is installed."""

import pytest

from gem_core.plugins import load_plugins
from gem_core.testing import check_plugin


@pytest.mark.gem("*")
def test_every_environment_keeps_the_contract(gem_check):
    gem_check()


@pytest.mark.parametrize("name", [status.name for status in load_plugins().statuses])
def test_every_plugin_keeps_the_contract(name):
    check_plugin(name).raise_for_findings()
