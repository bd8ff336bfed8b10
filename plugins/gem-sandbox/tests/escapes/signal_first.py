# Tries: to stop, interrupt or end the init process of its scope, by any signal.
# Success: the next run is affected.
import os

import host

for number in range(1, 65):
    for pid in {1, os.getppid(), host.PARENT} - {0, os.getpid()}:
        try:
            os.kill(pid, number)
        except OSError:
            pass
