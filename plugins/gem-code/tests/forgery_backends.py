"""The isolated sandboxes that forgeries are tried in; those that do not work here are skipped."""

from needs import missing

from gem_core.errors import SandboxError
from gem_workers.sandbox import Program, Sandbox, make_sandbox

__all__ = ["BACKENDS", "make_backend"]

BACKENDS = {
    "warm-full": ({"id": "warm", "tier": "full"}, "bwrap"),
    "warm-namespaces": ({"id": "warm", "tier": "namespaces"}, "namespaces"),
    "warm-confined": ({"id": "warm", "tier": "confined"}, "landlock"),
    "docker": ({"id": "docker"}, "docker"),
}
"""Each with its id and options, and the software that it needs."""


def make_backend(name: str) -> Sandbox:
    """Return a sandbox; skip the test, or fail it in CI, if it does not work here."""
    __tracebackhide__ = True
    options, needed = BACKENDS[name]
    try:
        sandbox = make_sandbox(options)
        sandbox.run(Program("pass"))
    except SandboxError as error:
        missing(needed, f"the sandbox {name} does not work here: {error}")
    return sandbox
