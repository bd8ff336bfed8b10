# Tries: to leave POSIX message queues.
# Success: they are there in the next run.
# Runs: twice
import os

import host

O_CREAT = 0o100
if host.syscall(240, b"gem-escape", os.O_RDWR, 0o666, None) >= 0:
    host.escaped("the queue of a former run")
host.syscall(240, b"gem-escape", os.O_RDWR | O_CREAT, 0o666, None)
