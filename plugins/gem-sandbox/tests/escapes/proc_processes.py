# Tries: to see the processes of the host.
# Success: the command line of one is read.
import os

import host

for pid in os.listdir("/proc"):
    try:
        if host.VICTIM_MARK in open(f"/proc/{pid}/cmdline").read():
            host.escaped(f"process {pid}")
    except OSError:
        pass
for pid in (host.VICTIM, host.PARENT):
    try:
        if host.VICTIM_MARK in open(f"/proc/{pid}/cmdline").read():
            host.escaped(f"process {pid}")
    except OSError:
        pass
