# Tries: to create and open devices of the host.
# Success: a disk or memory can be opened.
import os
import stat

import host

for name, kind, major, minor in (
    ("disk", stat.S_IFBLK, 254, 0),
    ("disk8", stat.S_IFBLK, 8, 0),
    ("mem", stat.S_IFCHR, 1, 1),
    ("kmsg", stat.S_IFCHR, 1, 11),
):
    try:
        os.mknod(name, kind | 0o666, os.makedev(major, minor))
        os.open(name, os.O_RDONLY)
        host.escaped(name)
    except OSError:
        pass
for path in (
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/dev/vda",
    "/dev/sda",
    "/dev/nvme0n1",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/loop-control",
    "/dev/kmsg",
    "/dev/snapshot",
):
    try:
        os.open(path, os.O_RDWR)
        host.escaped(path)
    except OSError:
        pass
