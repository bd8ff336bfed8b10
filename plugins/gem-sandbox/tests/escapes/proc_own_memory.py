# Tries: to find data of the host or of former runs in its own memory.
# Success: a secret of the host is printed.
# Runs: twice
import host

with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    host.scan(maps, memory)
