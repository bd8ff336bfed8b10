# Tries: to kill every process that it can.
# Success: a process of the host dies, or the next run is affected.
import os
import signal

import host

for pid in (host.VICTIM, host.PARENT, os.getppid(), 1, -1):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
