# Tries: to change what the next program inherits: builtins, modules, hooks.
# Success: the next run is affected.
# Runs: twice
import builtins
import gc
import io
import json
import os
import sys
import threading

import host

if hasattr(builtins, "poisoned"):
    host.escaped("the builtins of the run before")
builtins.poisoned = True
builtins.print = builtins.open = builtins.compile = builtins.exec = lambda *a, **k: None
json.dumps = json.loads = os.write = os.read = os.fork = os.waitpid = lambda *a, **k: b""
sys.modules["math"] = sys.modules["random"] = sys
sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *a: os.kill(0, 9)
sys.setprofile(lambda *a: None)
sys.settrace(lambda *a: None)
sys.path[:] = []
sys.meta_path[:] = []
gc.callbacks.append(lambda *a: None)
io.open = None
