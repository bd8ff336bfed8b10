# Tries: to undo that devices are read-only, by mounting them again.
# Success: a mount succeeds.
import ctypes
import os

import host

MS_REMOUNT, MS_BIND, MOUNT_SETATTR = 32, 4096, 442
libc = ctypes.CDLL(None)
for path in host.DEVICES:
    name = path.encode()
    if libc.mount(None, name, None, ctypes.c_ulong(MS_REMOUNT | MS_BIND), None) == 0:
        host.escaped(f"mounted {path} again")
    if libc.umount2(name, 2) == 0:
        host.escaped(f"unmounted {path}")
    attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    if host.syscall(MOUNT_SETATTR, -100, name, 0, attributes, 32) == 0:
        host.escaped(f"changed the mount of {path}")
