#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
assert open("/app/status.txt").read().splitlines() == [
    "ok alpha.dat", "changed beta.dat", "ok delta.dat", "unknown eps.dat", "ok gamma data.dat",
    "missing theta.dat", "changed zeta.dat",
]
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
