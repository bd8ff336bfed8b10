# Tries: to take leases on files, so that others wait to open them.
# Success: a lease on a file of the host.
import fcntl
import os

import host

for path in (*host.LIBRARIES, *host.DEVICES, "/bin/sh"):
    for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK):
        try:
            fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, kind)
            if host.is_shared(path):
                host.escaped(f"a lease on {path}")
        except OSError:
            pass
