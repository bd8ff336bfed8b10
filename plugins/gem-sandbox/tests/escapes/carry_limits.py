# Tries: to make later runs inherit limits, a mask of file modes and a working directory.
# Success: a later run has them.
# Runs: twice
import os
import resource

import host

MARK = 77
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == MARK:
    host.escaped("limits of a former run")
if os.umask(0o077) == 0o077:
    host.escaped("the umask of a former run")
if os.path.basename(os.getcwd()) == "inner":
    host.escaped("the directory of a former run")
os.makedirs("inner", exist_ok=True)
os.chdir("inner")
for pid in (0, os.getppid(), 1):
    try:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (MARK, MARK))
        if pid:
            host.escaped(f"limits of process {pid}")
    except OSError:
        pass
