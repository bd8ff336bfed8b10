"""A plugin whose import takes longer than anybody would wait without a word."""

import time

from gem_core import hookimpl

time.sleep(5)


@hookimpl
def gem_register(registry):
    """Add nothing."""
