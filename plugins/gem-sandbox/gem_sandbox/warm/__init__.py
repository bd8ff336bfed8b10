"""The sandbox ``warm``: interpreters that have already started, forked for each program.

The sandbox is imported when it is first used, as the server of machines has modules in common with
it, and each machine has a copy of much that the server has imported.
"""

from typing import TYPE_CHECKING

from gem_core.lazy import lazy_names

if TYPE_CHECKING:
    from gem_sandbox.warm.sandbox import WarmSandbox

__all__ = ["WarmSandbox"]

__getattr__, __dir__ = lazy_names(__name__, {"sandbox": ["WarmSandbox"]})
