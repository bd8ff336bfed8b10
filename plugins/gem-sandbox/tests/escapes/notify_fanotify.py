# Tries: to be notified of, and to permit, what others do on a whole mount (fanotify).
# Success: a group can be made.
import host

INIT, MARK = 300, 301
for flags in (0, 4, 8, 0x200, 0x600, 0xE00):
    if host.syscall(INIT, flags, 0) >= 0:
        host.escaped(f"a group with the flags {flags}")
for descriptor in range(3, 256):
    if host.syscall(MARK, descriptor, 1, 0x3F, -100, b"/") == 0:
        host.escaped("it watches the root")
