# Tries: to crash the interpreter.
# Success: the next run is affected.
import ctypes
import sys
import threading

sys.setrecursionlimit(10**9)


def down(n):
    return [down(n + 1)] + sorted([n], key=lambda m: down(m))


try:
    down(0)
finally:
    ctypes.string_at(1)
