# Tries: to overwrite the interpreter, or its starter, through /proc/*/exe.
# Success: it can be opened for writing.
import os

import host

for pid in {"self", "1", str(os.getppid()), str(host.PARENT)}:
    try:
        os.open(f"/proc/{pid}/exe", os.O_WRONLY)
        host.escaped(pid)
    except OSError:
        pass
