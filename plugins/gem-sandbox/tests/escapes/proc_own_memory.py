# Tries: to find in its own memory what the host or former runs have left there.
# Success: a secret of the host is printed.
import host

with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    host.scan(maps, memory)
