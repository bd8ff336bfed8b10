#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import hashlib
expected = {
    "right.txt": "f0c97faa35e6f8560f18fc5d41bd16bef2493113981ad933e5becc3eb2dece68",
    "once.txt": "6e86168e02b2c3d9628af2e56ef68e2b736e98dc3d7ad12c8ff9a4eafe461679",
    "twice.txt": "386ee6c526059a3f66e7c94144b6ccbbd64b1feffa550115a611b782961689db",
}
for name, digest in expected.items():
    assert hashlib.sha256(open("/app/texts/" + name, "rb").read()).hexdigest() == digest, name
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
