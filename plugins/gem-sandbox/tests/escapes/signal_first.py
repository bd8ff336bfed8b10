# Tries: to stop, interrupt or end the process that the next run comes from, by any signal.
# Success: the next run is harmed.
import os

import host

for number in range(1, 65):
    for pid in {1, os.getppid(), host.PARENT} - {0, os.getpid()}:
        try:
            os.kill(pid, number)
        except OSError:
            pass
