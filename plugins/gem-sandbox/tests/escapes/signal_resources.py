# Tries: to change the limits and the scheduling of its ancestors.
# Success: a call succeeds.
import os
import resource

import host

for pid in {1, os.getppid(), host.PARENT, host.VICTIM} - {os.getpid(), 0}:
    for name, act in {
        "limits": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)),
        "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        "affinity": lambda: os.sched_setaffinity(pid, {0}),
        "scheduler": lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
        "out of memory": lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"),
    }.items():
        try:
            act()
            host.escaped(f"{name} of {pid}")
        except OSError:
            pass
