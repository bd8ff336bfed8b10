# Tries: to change settings of the kernel.
# Success: one can be written to.
import host

for path in (
    "kernel/core_pattern",
    "kernel/modprobe",
    "vm/overcommit_memory",
    "kernel/hostname",
    "vm/drop_caches",
    "fs/binfmt_misc/register",
    "kernel/ns_last_pid",
):
    try:
        with open("/proc/sys/" + path, "r+") as file:
            host.escaped(path)
    except OSError:
        pass
for path in (
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/cgroup.procs",
):
    try:
        with open(path, "w"):
            host.escaped(path)
    except OSError:
        pass
