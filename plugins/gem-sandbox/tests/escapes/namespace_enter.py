# Tries: to enter the namespaces of its ancestors and of the host.
# Success: a call succeeds.
import os

import host

for pid in {1, os.getppid(), host.PARENT, host.VICTIM} - {0}:
    for name in ("mnt", "net", "pid", "user", "ipc", "uts", "cgroup"):
        try:
            same = os.stat(f"/proc/{pid}/ns/{name}") == os.stat(f"/proc/self/ns/{name}")
            descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
        except OSError:
            continue
        if host.syscall(308, descriptor, 0) == 0 and not same:
            host.escaped(f"{name} of {pid}")
    handle = host.syscall(434, pid, 0)
    if handle >= 0 and host.syscall(308, handle, 0x20000 | 0x40000000) == 0:
        host.escaped(f"namespaces of {pid}")
