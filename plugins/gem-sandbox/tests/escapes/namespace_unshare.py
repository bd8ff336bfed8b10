# Tries: to become root of new namespaces, where there is more to attack.
# Success: one can be created.
import os

import host

NEWUSER, NEWNS, NEWNET, NEWPID, NEWCGROUP, NEWTIME = (
    0x10000000,
    0x20000,
    0x40000000,
    0x20000000,
    0x2000000,
    0x80,
)
for flags in (NEWUSER, NEWUSER | NEWNS | NEWNET, NEWNS, NEWNET, NEWPID, NEWCGROUP, NEWTIME):
    if os.fork() == 0:
        if host.syscall(272, flags) == 0:
            host.escaped(f"unshare({flags:#x})")
        os._exit(0)
    os.wait()
