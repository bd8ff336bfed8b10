"""The conformance kit: checks of environments, tools and whole plugins.

From the command line::

    gem-core check acme:Echo-v0

From pytest, where each check of each environment is a test of its own::

    @pytest.mark.gem("acme:*")
    def test_environments_keep_the_contract(gem_check):
        gem_check()

From Python::

    check_env("acme:Echo-v0").raise_for_findings()

``gem_workers.testing`` checks sandboxes, ``gem_rollout.testing`` agents and environments for
several agents.
"""

from typing import Any

from gem_core.moved import moved_name
from gem_core.testing.env_checks import ENV_CHECKS, check_env
from gem_core.testing.plugin_checks import check_plugin
from gem_core.testing.report import CheckFailedError, Finding, Report
from gem_core.testing.tool_checks import TOOL_CHECKS, check_tool

__all__ = [
    "ENV_CHECKS",
    "TOOL_CHECKS",
    "CheckFailedError",
    "Finding",
    "Report",
    "check_env",
    "check_plugin",
    "check_tool",
]

_MOVED = {
    "AGENT_CHECKS": "gem_rollout.testing",
    "MULTI_AGENT_CHECKS": "gem_rollout.testing",
    "SANDBOX_CHECKS": "gem_workers.testing",
    "check_agent": "gem_rollout.testing",
    "check_multi_agent_env": "gem_rollout.testing",
    "check_sandbox": "gem_workers.testing",
}
"""Deprecated names, with the module that has them now."""


def __getattr__(name: str) -> Any:
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return moved_name(f"{__name__}.{name}", _MOVED[name], name)
