# Tries: to set the times of devices, which everybody may write to.
# Success: the host's device or a later run shows them.
# Runs: twice
import os
import time

import host

for path in host.DEVICES:
    if not host.is_shared(path) and abs(time.time() - os.stat(path).st_mtime) < 60:
        host.escaped(f"the mark of a former run on {path}")
    for act in (
        lambda: os.utime(path),
        lambda: os.utime(path, (1, 1)),
        lambda: os.utime(os.open(path, os.O_RDONLY)),
        lambda: os.utime(os.open(path, os.O_WRONLY)),
    ):
        try:
            act()
            if host.is_shared(path):
                host.escaped(f"the times of {path}")
        except OSError:
            pass
