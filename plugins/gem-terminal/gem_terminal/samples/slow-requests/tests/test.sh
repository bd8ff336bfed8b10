#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import json
found = json.load(open("/app/routes.json"))
assert found == json.loads("""{"/login": {"requests": 22, "slow": 5, "slowest": 3736}, "/search": {"requests": 43, "slow": 10, "slowest": 3994}, "/item/*": {"requests": 23, "slow": 7, "slowest": 2838}, "/cart": {"requests": 25, "slow": 5, "slowest": 2433}, "/": {"requests": 16, "slow": 8, "slowest": 3736}}"""), found
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
