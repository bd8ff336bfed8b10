#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import glob
assert open("/app/ledger.txt").read() == "rent 700\nbread 4\nlamp 32\n"
assert open("/app/date.txt").read().strip() == "2025-03-02"
assert len(glob.glob("/app/backups/backup-*.tar.gz")) == 6
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
