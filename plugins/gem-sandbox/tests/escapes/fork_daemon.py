# Tries: to outlive the run as a daemon.
# Success: it writes to the host, or is there in the next run.
# Runs: twice
import os
import time

import host

for pid in os.listdir("/proc"):
    try:
        if "gem-daemon" in open(f"/proc/{pid}/comm").read():
            host.escaped("the daemon of the run before lives")
    except OSError:
        pass
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 3)
    open("/proc/self/comm", "w").write("gem-daemon")
    while True:
        time.sleep(0.01)
os.wait()
