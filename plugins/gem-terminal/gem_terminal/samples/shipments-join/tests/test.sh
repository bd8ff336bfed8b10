#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
assert open("/app/by_city.csv").read().split() == ["city,shipments,kilograms", "Bergen,1,5.936", "Cork,5,24.735", "Graz,2,9.561"]
assert open("/app/orphans.txt").read().split() == ["S001", "S004", "S010", "S011", "S014", "S021", "S029"]
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
