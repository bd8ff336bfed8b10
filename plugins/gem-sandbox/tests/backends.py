"""The sandboxes that the tests use; tests of one that does not work here are skipped."""

import contextlib
import functools
import warnings
from collections.abc import Callable

from gem_core.errors import SandboxError
from gem_sandbox.docker import DockerSandbox, connect
from gem_sandbox.image import DEFAULT_IMAGE
from gem_sandbox.process import ProcessSandbox
from gem_sandbox.warm import WarmSandbox
from gem_sandbox.warm.tiers import TIERS, why_not
from gem_workers.sandbox import Sandbox

__all__ = ["BACKENDS", "ISOLATED", "make_backend", "require"]


def _process(**options: object) -> Sandbox:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return ProcessSandbox(**options)


BACKENDS: dict[str, Callable[..., Sandbox]] = {
    **{f"warm-{tier}": functools.partial(WarmSandbox, tier=tier) for tier in TIERS},
    "docker": DockerSandbox,
    "process": _process,
}
_STANDS_ON = {
    "warm-full": "bwrap",
    "warm-namespaces": "namespaces",
    "warm-confined": "landlock",
    "docker": "docker",
}
ISOLATED = [name for name in BACKENDS if name != "process"]


@functools.cache
def _reason(name: str) -> str:
    """Return why a sandbox does not work here, or nothing if it does."""
    if name.startswith("warm-"):
        return why_not(name.removeprefix("warm-"))
    if name != "docker":
        return ""
    try:
        with contextlib.closing(connect()) as client:
            tags = [tag for image in client.images.list() for tag in image.tags]
    except SandboxError as error:
        return str(error)
    made = f"{DEFAULT_IMAGE}:latest" in tags
    return "" if made else "the image is missing: gem-core doctor --make-image"


def require(name: str) -> None:
    """Skip the test, or fail it if that is required, if a sandbox does not work here."""
    __tracebackhide__ = True
    reason = _reason(name)
    if reason:
        from needs import missing  # only for pytest

        missing(_STANDS_ON[name], f"the sandbox {name} does not work here: {reason}")


def make_backend(name: str, **options: object) -> Sandbox:
    """Return a sandbox; skip the test, or fail it in CI, if it does not work here."""
    require(name)
    return BACKENDS[name](**options)
