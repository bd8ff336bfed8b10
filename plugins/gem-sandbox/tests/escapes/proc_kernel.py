# Tries: to read the kernel's memory and log.
# Success: something is read.
import ctypes
import os

import host

for path in (
    "/proc/kcore",
    "/proc/kmsg",
    "/dev/kmsg",
    "/sys/firmware/acpi/tables/DSDT",
    "/proc/vmcore",
):
    try:
        if os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100):
            host.escaped(path)
    except OSError:
        pass
log = ctypes.create_string_buffer(1000)
if host.syscall(103, 3, log, 1000) > 0:
    host.escaped("the kernel's log")
