# Tries: to raise its own limits and priority.
# Success: one is raised.
import os
import resource

import host

for name, act in {
    "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)),
    "nice": lambda: os.nice(-20),
}.items():
    try:
        act()
        host.escaped(name)
    except OSError:
        pass
for name in ("CPU", "AS", "FSIZE", "NPROC", "NOFILE", "CORE"):
    kind = getattr(resource, "RLIMIT_" + name)
    _, most = resource.getrlimit(kind)
    if most == resource.RLIM_INFINITY:
        continue
    try:
        resource.setrlimit(kind, (most + 1, most + 1))
        host.escaped(name)
    except (OSError, ValueError):
        pass
