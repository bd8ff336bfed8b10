# Tries: to change objects that forked interpreters share: small integers, interned strings.
# Success: the next run is affected.
import ctypes
import os

ctypes.memset(id(7) + 24, 9, 1)
ctypes.memset(id("a") + 48, 0x62, 1)
none = ctypes.c_ssize_t.from_address(id(None))
none.value = 1
os._exit(0)
