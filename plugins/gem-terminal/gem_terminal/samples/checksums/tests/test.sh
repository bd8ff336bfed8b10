#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
assert open("/app/status.txt").read().splitlines() == [
    "ok alpha.bin", "changed beta.bin", "ok delta.bin", "unknown eps.bin", "ok gamma data.bin",
    "missing theta.bin", "changed zeta.bin",
]
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
