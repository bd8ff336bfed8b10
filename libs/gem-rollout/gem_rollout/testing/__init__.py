"""The contracts of agents, of environments for several agents, and of adapters for trainers.

``gem_rollout.testing.adapters`` has what the conformance suite of adapters works with, and
``gem_rollout.testing.adapter_checks`` its checks.
"""

from gem_rollout.agent_checks import AGENT_CHECKS, check_agent
from gem_rollout.multi_agent_checks import (
    MULTI_AGENT_CHECKS,
    MultiAgentBench,
    check_multi_agent_env,
)

__all__ = [
    "AGENT_CHECKS",
    "MULTI_AGENT_CHECKS",
    "MultiAgentBench",
    "check_agent",
    "check_multi_agent_env",
]
