# Tries: to leave the time on folders that everybody may write to, and nobody owns.
# Success: a later run sees when a former one was there.
# Runs: twice
import os
import time

import host

for path in ("/dev/shm", "/dev/mqueue", "/dev", "/dev/pts", "/dev/tty", "/dev/ptmx"):
    try:
        found = os.stat(path)
        if found.st_uid != os.getuid() and 0 < time.time() - found.st_mtime < 60:
            if not host.is_shared("/dev/null"):
                host.escaped(f"the time of a former run on {path}")
        os.utime(path)
    except OSError:
        pass
