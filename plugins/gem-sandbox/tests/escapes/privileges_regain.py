# Tries: to become root, or to regain capabilities.
# Success: it has some.
import ctypes
import os
import struct

import host

for act in (
    lambda: os.setuid(0),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: open("/proc/self/uid_map", "w").write("0 0 1"),
    lambda: open("/proc/self/setgroups", "w").write("allow"),
):
    try:
        act()
    except OSError:
        pass
header = ctypes.create_string_buffer(struct.pack("II", 0x20080522, 0), 8)
host.syscall(126, header, ctypes.create_string_buffer(b"\xff" * 24, 24))
for capability in range(41):
    host.syscall(157, 47, 2, capability, 0, 0)
for line in open("/proc/self/status"):
    if line.startswith(("CapEff", "CapPrm", "CapAmb", "CapInh")) and int(line.split()[1], 16):
        host.escaped(line)
