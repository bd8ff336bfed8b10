# Tries: to run on, as a chain of forks, while the run for the next input writes its output.
# Success: it writes there too.
# Runs: inputs
import os
import time

import host

is_last = input() == "3"
end = time.monotonic() + 0.3
if not is_last and os.fork() == 0:
    while time.monotonic() < end:
        try:
            os.setsid()
        except OSError:
            pass
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            pass
        time.sleep(0.002)
    host.escaped("a process of the run before")
    os._exit(0)
time.sleep(0.5 if is_last else 0.02)
