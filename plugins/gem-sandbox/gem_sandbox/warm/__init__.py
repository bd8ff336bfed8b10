"""The sandbox ``warm``: interpreters that have already started, forked for each program."""

from gem_sandbox.warm.sandbox import WarmSandbox

__all__ = ["WarmSandbox"]
