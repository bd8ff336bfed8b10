# Tries: to be notified when others open files in folders that all can read.
# Success: a notification can be asked for.
import ctypes
import os

import host

libc = ctypes.CDLL(None)
INIT, INIT1, ADD = 253, 294, 254
made = [host.syscall(INIT), host.syscall(INIT1, 0), libc.inotify_init1(0), *range(3, 256)]
for path in (*host.LIBRARIES, "/", "/dev", "/dev/null", "/tmp", os.getcwd()):
    for descriptor in made:
        if host.syscall(ADD, descriptor, path.encode(), 0xFFF) >= 0:
            host.escaped(f"it watches {path}")
