"""The conformance kit: checks of environments, tools, agents and whole plugins.

From the command line::

    gem-core check acme:Echo-v0

From pytest, where each check of each environment is a test of its own::

    @pytest.mark.gem("acme:*")
    def test_environments_keep_the_contract(gem_check):
        gem_check()

From Python::

    check_env("acme:Echo-v0").raise_for_findings()

``gem_workers.testing`` checks sandboxes and machines, ``gem_rollout.testing`` environments for
several agents.
"""

from gem_core.testing.agent_checks import AGENT_CHECKS, check_agent
from gem_core.testing.env_checks import ENV_CHECKS, check_env
from gem_core.testing.plugin_checks import check_plugin
from gem_core.testing.report import CheckFailedError, Finding, Report
from gem_core.testing.tool_checks import TOOL_CHECKS, check_tool

__all__ = [
    "AGENT_CHECKS",
    "ENV_CHECKS",
    "TOOL_CHECKS",
    "CheckFailedError",
    "Finding",
    "Report",
    "check_agent",
    "check_env",
    "check_plugin",
    "check_tool",
]
