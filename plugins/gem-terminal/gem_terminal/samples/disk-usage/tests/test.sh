#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
assert open("/app/largest.txt").read().splitlines() == [
    "east/sparse.img", "north station/2024/raw.bin", ".trash/old.bin", "north station/.cache/index",
    "north/deep/er/still/deeper.bin",
]
assert open("/app/folders.txt").read().splitlines() == [
    "160001\tnorth station", "149500\twest", "120010\teast", "80000\t.trash", "66200\tnorth",
]
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
