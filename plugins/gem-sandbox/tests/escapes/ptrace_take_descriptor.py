# Tries: to take descriptors from its ancestors with pidfd_getfd.
# Success: it gets one.
import os

import host

for pid in {1, os.getppid(), host.PARENT, host.VICTIM} - {os.getpid(), 0}:
    handle = host.syscall(434, pid, 0)
    for number in range(32):
        if handle >= 0 and host.syscall(438, handle, number, 0) >= 0:
            host.escaped(f"descriptor {number} of {pid}")
