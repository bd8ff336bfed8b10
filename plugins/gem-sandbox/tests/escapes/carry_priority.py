# Tries: to make later runs inherit a priority, processors and a scheduler.
# Success: a later run has them, or the scheduling of another process changes.
# Runs: twice
import os

import host

if os.getpriority(os.PRIO_PROCESS, 0) == 19 or len(os.sched_getaffinity(0)) < min(2, host.CORES):
    host.escaped("the scheduling of a former run")
if os.sched_getscheduler(0) != os.SCHED_OTHER:
    host.escaped("the scheduler of a former run")
IOPRIO_SET, SCHED_SETATTR = 251, 314
for act in (
    lambda: os.nice(19),
    lambda: os.setpriority(os.PRIO_USER, 0, 19),
    lambda: os.setpriority(os.PRIO_PGRP, 0, 19),
    lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    lambda: os.sched_setaffinity(0, {0}),
    lambda: os.sched_setaffinity(os.getppid(), {0}),
    lambda: os.sched_setscheduler(os.getppid(), os.SCHED_BATCH, os.sched_param(0)),
    lambda: host.syscall(IOPRIO_SET, 3, os.getuid(), 3 << 13),
    lambda: host.syscall(SCHED_SETATTR, os.getppid(), bytes(56), 0),
):
    try:
        act()
    except OSError:
        pass
