# Tries: to read the memory of other processes through /proc.
# Success: a secret of the host is printed.
import os

import host

for pid in [*os.listdir("/proc"), str(os.getppid()), str(host.PARENT), str(host.VICTIM)]:
    if not pid.isdigit() or int(pid) == os.getpid():
        continue
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            host.escaped(f"the memory of {pid} can be opened")
            host.scan(maps, memory)
    except OSError:
        pass
