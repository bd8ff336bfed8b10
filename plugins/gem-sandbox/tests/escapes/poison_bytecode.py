# Tries: to replace the compiled files of the library.
# Success: the next run imports one, or one can be written.
import importlib.util
import os
import py_compile

import host

open("bad.py", "w").write("print('poisoned')")
for module in ("json", "random", "statistics", "decimal"):
    target = importlib.util.cache_from_source(importlib.util.find_spec(module).origin)
    try:
        py_compile.compile("bad.py", cfile=target, doraise=True)
        host.escaped(target)
    except OSError:
        pass
