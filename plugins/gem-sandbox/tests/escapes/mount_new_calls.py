# Tries: to mount with the newer system calls, which older filters do not know.
# Success: a call succeeds.
import host

AT_FDCWD = -100
for name, call in {
    "open_tree": (428, AT_FDCWD, b"/", 1 | 0x8000),
    "fsopen": (430, b"tmpfs", 0),
    "fsopen proc": (430, b"proc", 0),
    "move_mount": (429, AT_FDCWD, b"/proc", AT_FDCWD, b"/tmp", 0),
    "mount_setattr": (442, AT_FDCWD, b"/", 0, (b"\0" * 32), 32),
    "fspick": (433, AT_FDCWD, b"/", 0),
}.items():
    if host.syscall(*call) >= 0:
        host.escaped(name)
