# Tries: to make system calls that are only for the host's root.
# Success: one succeeds.
import ctypes

import host

buffer = ctypes.create_string_buffer(256)
for name, call in {
    "bpf": (321, 0, buffer, 72),
    "perf_event_open": (298, buffer, 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "kexec_load": (246, 0, 0, None, 0),
    "init_module": (175, buffer, 0, b""),
    "delete_module": (176, b"x", 0),
    "swapon": (167, b"/tmp/x", 0),
    "reboot": (169, 0xFEE1DEAD, 672274793, 0, 0),
    "settimeofday": (164, buffer, None),
    "clock_settime": (227, 0, buffer),
    "sethostname": (170, b"escaped", 7),
    "acct": (163, None),
    "quotactl": (179, 0, None, 0, None),
    "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1),
    "lookup_dcookie": (212, 0, buffer, 256),
    "vhangup": (153,),
    "fanotify_init": (300, 0, 0),
    "move_pages of 1": (279, 1, 0, None, None, None, 0),
}.items():
    if host.syscall(*call) >= 0:
        host.escaped(name)
