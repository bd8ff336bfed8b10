"""Starts a program of the benchmarks in a separate process: ``worker.py MODULE ARGUMENT...``.

A program is a module with ``main()``. It may run under the interpreter of another library, and its
start-up may be what is measured, so this file imports nothing but ``sys``.
"""

import sys

if __name__ == "__main__":
    _name = sys.argv.pop(1)
    __import__(_name)
    sys.modules[_name].main()
