#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
assert open("/app/merged.env").read().splitlines() == [
    "GREETING=hello = hi", "HOST=staging.example", "MODE=faster", "PATH_EXTRA=/opt/my tools/bin", "PORT=9000",
    "QUOTE=it's", "URL=http://x.example/?a=b&c=d",
]
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
