#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
import json, sqlite3
found = json.load(open("/app/report.json"))
assert found == json.loads('''{"loans": {"The Quiet Harbor": 5, "Maps of Salt": 1, "A Winter Ledger": 5, "Nine Lanterns": 5, "The Copper Gate": 4, "Small Rivers": 5, "On Moss": 3, "The Last Orchard": 0}, "never_lent": ["The Last Orchard"], "not_returned": {"ada": 2, "bo": 2, "ines": 1, "sam": 4}}'''), found
database = sqlite3.connect("file:/app/library.db?mode=ro", uri=True)
assert database.execute("SELECT COUNT(*), SUM(returned IS NULL) FROM loans").fetchone() == (28, 9)
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
