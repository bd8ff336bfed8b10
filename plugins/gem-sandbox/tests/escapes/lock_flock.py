# Tries: to lock files that the host and other programs have, with flock.
# Success: a lock on a file of the host.
import fcntl
import os

import host

for path in (*host.LIBRARIES, *host.DEVICES):
    for kind in (fcntl.LOCK_SH, fcntl.LOCK_EX):
        try:
            fcntl.flock(os.open(path, os.O_RDONLY), kind | fcntl.LOCK_NB)
            if host.is_shared(path):
                host.escaped(f"a lock on {path}")
        except OSError:
            pass
