#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import json
found = json.load(open("/app/settings.json", encoding="utf-8"))
expected = {
    "name": "gateway", "port": 8443, "hosts": ["a.example", "b.example"],
    "tls": {"enabled": True, "cert": "/etc/tls/cert.pem"}, "retries": 3,
    "limits": {"requests": 1000, "burst": 50}, "debug": False,
}
assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True), found
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
