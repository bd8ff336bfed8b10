#!/bin/bash
set -e
python3 - <<'END'
import json, re
routes = {}
for line in open("/app/access.log"):
    match = re.match(r'\S+ - - \[[^]]*\] "\S+ (.*?) HTTP/1.1" (\d+) .* (\d+)ms$', line)
    if match and int(match[2]) < 400:
        name = re.sub(r"^/item/\d+$", "/item/*", match[1].split("?")[0])
        route = routes.setdefault(name, {"requests": 0, "slow": 0, "slowest": 0})
        route["requests"] += 1
        route["slow"] += int(match[3]) >= 1000
        route["slowest"] = max(route["slowest"], int(match[3]))
json.dump(routes, open("/app/routes.json", "w"))
END
