# Tries: to keep locks and leases on files that all runs share.
# Success: the next run is affected.
import fcntl
import os
import time

held = []
for path in (os.__file__, "/dev/null", "/dev/shm", "/tmp", "/"):
    for flags in (os.O_RDONLY,):
        try:
            held.append(os.open(path, flags))
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.fcntl(held[-1], fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except OSError:
            pass
if os.fork() == 0:
    os.setsid()
    time.sleep(100)
