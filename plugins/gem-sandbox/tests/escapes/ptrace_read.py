# Tries: to read the memory of other processes with process_vm_readv.
# Success: a byte is read.
import ctypes
import os

import host

here = ctypes.create_string_buffer(64)
address = id(host.__dict__)
local = (ctypes.c_uint64 * 2)(ctypes.addressof(here), 64)
remote = (ctypes.c_uint64 * 2)(address, 64)
for pid in {1, os.getppid(), host.PARENT, host.VICTIM} - {os.getpid(), 0}:
    for call in (310, 311):
        if host.syscall(call, pid, local, 1, remote, 1, 0) > 0:
            host.escaped(f"process {pid}")
