#!/bin/bash
set -e
python3 - <<'END'
import ipaddress
hosts = {}
for line in open("/app/hosts.txt"):
    words = line.partition("#")[0].lower().split()
    if words:
        try:
            address = ipaddress.IPv4Address(words[0])
        except ValueError:
            continue
        hosts.setdefault(address, set()).update(words[1:])
with open("/app/hosts.clean", "w") as file:
    for address in sorted(hosts):
        print(address, *sorted(hosts[address]), file=file)
END
