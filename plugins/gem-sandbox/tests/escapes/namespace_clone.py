# Tries: to enter new namespaces with clone and clone3.
# Success: a process in new namespaces starts.
import ctypes
import os
import struct

import host

NEWUSER, SIGCHLD = 0x10000000, 17
pid = host.syscall(56, NEWUSER | SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
if pid > 0:
    host.escaped("clone")
arguments = ctypes.create_string_buffer(struct.pack("8Q", NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0), 64)
pid = host.syscall(435, arguments, 64)
if pid == 0:
    os._exit(0)
if pid > 0:
    host.escaped("clone3")
