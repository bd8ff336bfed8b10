# Tries: to change priority, processors and limits of the process that forks the next run.
# Success: that run inherits them.
# Runs: inputs
import os
import resource

import host

if os.getpriority(os.PRIO_PROCESS, 0) == 19 or len(os.sched_getaffinity(0)) < min(2, host.CORES):
    host.escaped("the scheduling of the run before")
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 77:
    host.escaped("the limits of the run before")
parent = os.getppid()
for act in (
    lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
    lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(parent), 19),
    lambda: os.setpriority(os.PRIO_USER, 0, 19),
    lambda: os.sched_setaffinity(parent, {0}),
    lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (77, 77)),
    lambda: os.nice(19),
):
    try:
        act()
    except (OSError, ValueError):
        pass
