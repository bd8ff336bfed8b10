#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
assert open("/app/hosts.clean").read().splitlines() == [
    "9.255.255.255 edge", "10.0.0.9 scanner", "10.0.0.10 print printer printer-2", "172.16.4.2 archive db db1",
    "192.168.1.1 gateway router",
]
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
