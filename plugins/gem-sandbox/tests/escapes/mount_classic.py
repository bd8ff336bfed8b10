# Tries: to mount, bind, remount and unmount.
# Success: a call succeeds.
import host

MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 32, 4096, 16384, 1 << 18, 2
calls = {
    "tmpfs": (165, b"tmpfs", b"/tmp", b"tmpfs", 0, None),
    "proc": (165, b"proc", b"/proc", b"proc", 0, None),
    "remount": (165, None, b"/", None, MS_REMOUNT | MS_BIND, None),
    "bind": (165, b"/", b"/tmp", None, MS_BIND | MS_REC, None),
    "private": (165, None, b"/", None, MS_REC | MS_PRIVATE, None),
    "disk": (165, b"/dev/vda", b"/tmp", b"ext4", 0, None),
    "umount tmp": (166, b"/tmp", MNT_DETACH),
    "umount proc": (166, b"/proc", MNT_DETACH),
    "umount shm": (166, b"/dev/shm", MNT_DETACH),
    "pivot": (155, b"/", b"/tmp"),
}
for name, call in calls.items():
    if host.syscall(*call) == 0:
        host.escaped(name)
