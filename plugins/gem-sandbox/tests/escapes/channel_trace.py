# Tries: to watch other programs: counters, page faults, traces and their memory.
# Success: a call succeeds.
import os

import host

CALLS = {
    "perf_event_open": (298, bytes(128), 0, -1, -1, 0),
    "userfaultfd": (323, 0),
    "io_uring_setup": (425, 8, bytes(120)),
    "process_vm_readv": (310, os.getppid(), bytes(16), 1, bytes(16), 1, 0),
    "process_madvise": (440, 3, bytes(16), 1, 4, 0),
    "pidfd_open": (434, os.getppid(), 0),
    "kcmp": (312, os.getpid(), os.getppid(), 0, 0, 0),
    "mincore": (27, 0, 4096, bytes(1)),
    "add_key": (248, b"user", b"mark", b"x", 1, -4),
    "mq_open": (240, b"mark", 0o102, 0o600, 0),
    "shmget": (29, 0x6765, 4096, 0o1600),
    "bpf": (321, 0, bytes(128), 128),
    "cachestat": (451, 0, bytes(16), bytes(40), 0),
}
for name, (number, *arguments) in CALLS.items():
    if host.syscall(number, *arguments) >= 0:
        host.escaped(name)
