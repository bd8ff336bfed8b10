# Tries: to trace its ancestors, siblings and the host.
# Success: one can be attached to.
import os

import host

pids = {1, os.getppid(), host.PARENT, host.VICTIM, *range(1, 60)}
for pid in pids - {os.getpid(), 0}:
    for request in (16, 0x4206):
        if host.syscall(101, request, pid, 0, 0) == 0:
            host.escaped(f"process {pid}")
            host.syscall(101, 17, pid, 0, 0)
