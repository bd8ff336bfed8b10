"""The contracts of environments for several agents, and of adapters for trainers.

``gem_adapters.testing.adapters`` has what the conformance suite of adapters works with, and
``gem_adapters.testing.adapter_checks`` its checks.
"""

from gem_rollout.multi_agent.checks import (
    MULTI_AGENT_CHECKS,
    MultiAgentBench,
    check_multi_agent_env,
)

__all__ = ["MULTI_AGENT_CHECKS", "MultiAgentBench", "check_multi_agent_env"]
