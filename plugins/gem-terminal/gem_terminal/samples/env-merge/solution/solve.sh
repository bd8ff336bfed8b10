#!/bin/bash
set -e
cd /app/env
cat defaults.env staging.env local.env | python3 -c '
import sys
found = {}
for line in sys.stdin.read().splitlines():
    if line.strip() and not line.strip().startswith("#"):
        name, value = line.removeprefix("export ").split("=", 1)
        if len(value) > 1 and value[0] == value[-1] and value[0] in chr(34) + chr(39):
            value = value[1:-1]
        found[name] = value
for name in sorted(found):
    if found[name]:
        print(f"{name}={found[name]}")
' > /app/merged.env
