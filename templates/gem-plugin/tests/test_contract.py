"""The conformance kit, run on everything that this plugin brings."""

import pytest

from gem_core.testing import check_plugin, check_tool


@pytest.mark.gem("acme:*")
def test_environments_keep_the_contract(gem_check):
    gem_check()


def test_the_tool_keeps_the_contract():
    check_tool("reverse", calls=["<reverse>abc</reverse>"]).raise_for_findings()


def test_the_plugin_keeps_the_contract():
    check_plugin("acme").raise_for_findings()
