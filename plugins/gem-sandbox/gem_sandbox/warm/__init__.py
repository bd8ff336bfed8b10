"""The warm sandbox: interpreters that have started already, forked for each program."""

from gem_sandbox.warm.sandbox import WarmSandbox

__all__ = ["WarmSandbox"]
