"""A plugin whose import takes until somebody is told of it."""

import sys
import time

from gem_core import hookimpl

while "still loading" not in sys.stderr.getvalue():
    time.sleep(0.01)


@hookimpl
def gem_register(registry):
    """Add nothing."""
